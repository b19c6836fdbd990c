//go:build !linux

package app

import "worksite/backend/domain"

const onLinux = false

func notify(_, _ string) error {
	return domain.Errorf(domain.CodeUnavailable, "notifications are shown on Linux only, so far")
}

func reveal(path string) error {
	return domain.Errorf(domain.CodeUnavailable, "showing files in the file manager works on Linux only, so far").
		WithHint("it is at %s", path)
}
