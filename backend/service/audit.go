package service

import (
	"context"
	"io"

	"worksite/backend/domain"
	"worksite/sessions/audit"
)

// AuditExport says what [Service.ExportAudit] writes.
type AuditExport struct {
	Session domain.SessionID
	Redact  []domain.Kind // whose content is left out
	Since   io.Reader     // an earlier audit export, or its head; nil: none
}

// ExportAudit writes a session as one self-contained file that can be proven
// without this program: its events, what they produced, keys, proofs and a head.
func (s *Service) ExportAudit(ctx context.Context, o AuditExport, w io.Writer) error {
	if _, err := s.ledger.View(ctx, o.Session); err != nil {
		return err
	}
	c := audit.Config{Session: o.Session, Product: "Worksite " + s.cfg.Version, Redact: o.Redact, Blobs: s.blobs.Open}
	if o.Since != nil {
		head, err := audit.HeadOf(o.Since)
		if err != nil {
			return err
		}
		c.Since = head
	}
	return audit.Write(ctx, s.ledger, c, w)
}
