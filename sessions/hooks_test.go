package sessions

import (
	"context"
	"fmt"
)

// Rebuild derives everything again, as [Open] does when it cannot be read.
func (s *Store) Rebuild(ctx context.Context) error {
	return s.submit(ctx, "rebuild", func(w *writer) error { return w.rebuild(ctx) })
}

// Checkpoint moves the log's pages into the main file, as the writer does when
// nobody waits.
func (s *Store) Checkpoint(ctx context.Context) error {
	return s.between(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
}

// Weaken takes durability away, to show what the power-cut test finds then. The
// product always writes with FULL.
func (s *Store) Weaken(ctx context.Context, synchronous string) error {
	if err := s.between(ctx, "PRAGMA synchronous = "+synchronous); err != nil {
		return err
	}
	return s.submit(ctx, "look", func(w *writer) error {
		var now int
		_, err := w.get("PRAGMA synchronous", nil, &now)
		if want := map[string]int{"OFF": 0, "NORMAL": 1, "FULL": 2}[synchronous]; err == nil && now != want {
			err = fmt.Errorf("synchronous is %d, not %d", now, want)
		}
		return err
	})
}

// between runs a statement of the writer outside of any transaction.
func (s *Store) between(ctx context.Context, statement string) error {
	return s.submit(ctx, "test", func(w *writer) error {
		w.afterCommit = append(w.afterCommit, statement)
		return nil
	})
}

// OK reports whether everything holds.
func (r Report) OK() bool { return r.Bad == nil }
