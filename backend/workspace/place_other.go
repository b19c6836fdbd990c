//go:build !linux && !darwin && !windows

package workspace

import "worksite/backend/domain"

// placeOf cannot tell folders apart here.
func placeOf(string) (place, error) {
	return place{}, domain.Errorf(domain.CodeUnavailable, "folders cannot be told apart on this system, so none can be a workspace")
}
