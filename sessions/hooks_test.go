package sessions

import "context"

// Rebuild derives everything again, as [Open] does when it cannot be read.
func (s *Store) Rebuild(ctx context.Context) error {
	return s.submit(ctx, "rebuild", func(w *writer) error { return w.rebuild(ctx) })
}

// OK reports whether everything holds.
func (r Report) OK() bool { return r.Bad == nil }
