package service

import (
	"context"
	"fmt"

	"worksite/backend/domain"
)

// LastPos returns the ledger's last position.
func (s *Service) LastPos(ctx context.Context) (int64, error) { return s.ledger.LastPos(ctx) }

// WaitBeyond returns when the ledger's last position is beyond pos; it never computes.
func (s *Service) WaitBeyond(ctx context.Context, pos int64) error { return s.ledger.Wait(ctx, pos) }

// Verify recomputes the chain, the signatures and the head of a session, or of
// the whole ledger with "", and says what was found.
func (s *Service) Verify(ctx context.Context, id domain.SessionID) (string, error) {
	r, err := s.ledger.Verify(ctx, id)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%d events in %d sessions were checked, signed by %d cell(s).", r.Events, r.Sessions, r.Cells)
	if r.Tombstones > 0 {
		text += fmt.Sprintf(" %d of them were deleted for good; their place in the chain holds.", r.Tombstones)
	}
	if id == "" {
		text += fmt.Sprintf(" Merkle root %s at %d; the head kept outside the file vouches for %d.", r.Root, r.Size, r.Outside)
	}
	if r.Bad != nil {
		return text, domain.Errorf(domain.CodeConflict, "the ledger does not hold: %s", r.Bad).
			WithHint("Keep a copy of the data folder before anything else.")
	}
	return text + " Everything holds.", nil
}
