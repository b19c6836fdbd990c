package workspace

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"time"

	"worksite/backend/domain"
)

// Settle finishes changes that were recorded in the ledger at an instant, when a
// crash may have come between the record and its effect, or between the effect and
// what the workspace knows of it. What was carried out stays as it is; a file that
// the person has changed, removed or put back since is theirs, and is left alone.
func (s *Store) Settle(ctx context.Context, h *Handle, recorded time.Time, changes ...Change) error {
	var open []Change
	for _, c := range changes {
		yes := c.Kind == ChangeAccept
		if !yes {
			var err error
			if yes, err = s.unfinished(ctx, h, c, recorded); err != nil {
				return err
			}
		}
		if yes {
			open = append(open, c)
		}
	}
	err := s.Apply(ctx, h, open...)
	if domain.CodeOf(err) == domain.CodeConflict {
		return nil // the file is the person's by now
	}
	return err
}

// unfinished reports whether a change of a working file still has to be carried
// out, or remembered.
func (s *Store) unfinished(ctx context.Context, h *Handle, c Change, recorded time.Time) (bool, error) {
	var pre, post domain.Hash
	err := s.db.QueryRowContext(ctx, "SELECT pre, post FROM image WHERE session = ? AND path = ? ORDER BY n DESC LIMIT 1", c.Session, c.Path).
		Scan(scanHash{&pre}, scanHash{&post})
	told := err == nil && post == c.File.Post
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	now, err := h.root.Image(ctx, c.Path)
	if err != nil {
		return false, nil //nolint:nilerr // a folder or worse stands there: the person's
	}
	switch now.Hash {
	case c.File.Post:
		return !told, nil
	case c.File.Pre:
	default:
		return false, nil
	}
	if now.Hash.IsZero() {
		return !told || pre != c.File.Pre, nil // else it was there, and is removed since
	}
	info, err := os.Lstat(filepath.Join(h.Root(), filepath.FromSlash(c.Path)))
	return err == nil && info.ModTime().Before(recorded), nil //nolint:nilerr // gone at this very moment: the person's
}
