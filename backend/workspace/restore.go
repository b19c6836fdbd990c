package workspace

import (
	"context"
	"maps"
	"slices"

	"worksite/backend/domain"
	"worksite/backend/workspace/diff"
	"worksite/backend/workspace/rooted"
)

// PlanRestore decides to put files back to what they were before the session's
// writes: all that it wrote, or the given ones. What the person changed in between
// or later stays, merged line by line; where both changed the same lines the file
// is left alone and listed. Nothing that the session did not write is touched.
func (s *Store) PlanRestore(ctx context.Context, session domain.SessionID, h *Handle, paths []string) (RestorePlan, error) {
	var c Plan
	r, err := s.begun(ctx, session, h)
	if err != nil {
		return c, err
	}
	if len(paths) == 0 {
		paths = slices.Collect(maps.Keys(r.writes))
	}
	paths = slices.Clone(paths)
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		if len(r.writes[p]) == 0 {
			c.Conflicts = append(c.Conflicts, Conflict{p, "this session did not write it"})
			continue
		}
		if err := r.takeBack(ctx, &c, p, spans(r.writes[p])); err != nil {
			return c, err
		}
	}
	return c, nil
}

// PlanUndo decides to take a restore back: files are the images of its event. Later
// edits of the person stay, as in PlanRestore.
func (s *Store) PlanUndo(ctx context.Context, session domain.SessionID, h *Handle, files []domain.FileImage) (RestorePlan, error) {
	var c Plan
	r, err := s.begun(ctx, session, h)
	if err != nil {
		return c, err
	}
	for _, f := range files {
		if err := h.reviewable(f.Path); err != nil {
			return c, err
		}
		if err := r.takeBack(ctx, &c, f.Path, []domain.FileImage{f}); err != nil {
			return c, err
		}
	}
	return c, nil
}

// spans joins writes that follow directly on each other; between two spans
// somebody else changed the file.
func spans(writes []domain.FileImage) []domain.FileImage {
	var out []domain.FileImage
	for _, w := range writes {
		if n := len(out); n > 0 && out[n-1].Post == w.Pre {
			out[n-1].Post, out[n-1].PostMode = w.Post, w.PostMode
			continue
		}
		out = append(out, w)
	}
	return slices.DeleteFunc(out, func(w domain.FileImage) bool {
		return w.Pre == w.Post && (w.PreMode == w.PostMode || w.PreMode == 0 || w.PostMode == 0)
	})
}

// takeBack plans the inverse of writes, the last one first, on a file as it is now.
func (r *review) takeBack(ctx context.Context, c *Plan, path string, writes []domain.FileImage) error {
	now, err := r.now(ctx, path)
	if err != nil {
		return err
	}
	cur := now
	for i := len(writes) - 1; i >= 0; i-- {
		pre, post := imageFrom(writes[i].Pre, writes[i].PreMode), imageFrom(writes[i].Post, writes[i].PostMode)
		next, why, err := r.inverse(ctx, path, cur, pre, post)
		if err != nil {
			return err
		}
		if why != "" {
			c.Conflicts = append(c.Conflicts, Conflict{path, why})
			return nil
		}
		cur = next
	}
	if same(cur, now) {
		return nil
	}
	if !cur.Hash.IsZero() && !r.s.blobs.Has(cur.Hash) {
		c.Conflicts = append(c.Conflicts, Conflict{path, "its earlier content was too large to keep"})
		return nil
	}
	c.Changes = append(c.Changes, Change{Session: r.session, Kind: ChangeRestore, Path: path, File: imageOf(path, now, cur)})
	return nil
}

// inverse takes one write pre→post out of the version cur. why is not empty when
// that cannot be done without losing something.
func (r *review) inverse(ctx context.Context, path string, cur, pre, post Image) (next Image, why string, err error) {
	switch {
	case cur.Hash == post.Hash:
		if pre.Mode == 0 { // not recorded: as it is
			pre.Mode = cur.Mode
		} else if post.Mode != 0 && cur.Mode != post.Mode && !pre.Hash.IsZero() && !cur.Hash.IsZero() {
			pre.Mode = cur.Mode // the person changed the mode since
		}
		return pre, "", nil
	case cur.Hash == pre.Hash:
		return cur, "", nil
	case cur.Hash.IsZero():
		return cur, "you deleted it since", nil
	case post.Hash.IsZero():
		return cur, "it was deleted by the session and made anew since", nil
	case pre.Hash.IsZero():
		return cur, "it was made by the session, and you changed it since", nil
	}
	was, ok1, err := r.content(path, post)
	if err != nil {
		return cur, "", err
	}
	ours, ok2, err := r.content(path, cur)
	if err != nil {
		return cur, "", err
	}
	theirs, ok3, err := r.content(path, pre)
	if err != nil {
		return cur, "", err
	}
	if !ok1 || !ok2 || !ok3 {
		return cur, "you changed it since, and not all of its versions were kept", nil
	}
	if cur.Symlink != "" || pre.Mode&post.Mode&rooted.LinkImage("").Mode.Type() != 0 {
		return cur, "you changed the link since", nil
	}
	merged, ok := diff.Merge(was, ours, theirs)
	if !ok {
		return cur, "you changed the same lines since", nil
	}
	next = Image{Mode: cur.Mode, Size: int64(len(merged))}
	next.Hash, err = r.s.blobs.PutBytes(ctx, merged)
	return next, "", err
}
