package workspace

import (
	"context"
	"errors"
	"slices"

	"worksite/backend/domain"
	"worksite/backend/workspace/diff"
	"worksite/backend/workspace/rooted"
	"worksite/backend/workspace/scan"
)

// ChangeKind says what a [Change] does.
type ChangeKind string

// The values of ChangeKind.
const (
	ChangeAccept  ChangeKind = "accept"  // moves review bases; working files are not touched
	ChangeReject  ChangeKind = "reject"  // takes hunks out of working files
	ChangeRestore ChangeKind = "restore" // puts working files back
)

// Change is a decided answer to one file under review, or its restore: exactly which
// version is replaced by which. All its bytes are kept durably when a Plan… returns
// it. Record its Payload in the ledger, then Apply it.
type Change struct {
	Session domain.SessionID
	Kind    ChangeKind
	Path    string
	// Hunks are the answered ones; none is the whole file.
	Hunks []string
	// Before and After are the review base's versions, of an accept.
	Before, After domain.Hash
	// File names the working file's versions, of a reject or restore.
	File domain.FileImage

	afterMode uint32   // of an accept; 0: not known
	all       []string // with no Hunks: those that were open
}

// Plan is a set of changes, and what is left out of it.
type Plan struct {
	Changes   []Change
	Conflicts []Conflict
}

// RestorePlan is the plan of a restore.
type RestorePlan = Plan

// Conflict is a file that is left as it is, and why.
type Conflict struct{ Path, Reason string }

// Payload is the event that records an accept or reject; by is the person. Restores
// are recorded together, see [Plan.Restored].
func (c Change) Payload(by string) domain.Payload {
	switch c.Kind {
	case ChangeRestore:
	case ChangeAccept:
		return domain.HunkAccepted{V: 1, Path: c.Path, Hunks: c.Hunks, Before: c.Before, After: c.After, By: by}
	case ChangeReject:
		return domain.HunkRejected{V: 1, Hunks: c.Hunks, File: c.File, By: by}
	}
	return domain.WorkspaceRestored{V: 1, Files: []domain.FileImage{c.File}, By: by}
}

// Restored is the event that records a restore; undo names the one it takes back.
func (p Plan) Restored(undo domain.EventID, by string) domain.WorkspaceRestored {
	e := domain.WorkspaceRestored{V: 1, Undo: undo, By: by}
	for _, c := range p.Changes {
		e.Files = append(e.Files, c.File)
	}
	return e
}

// ChangesOf rebuilds the changes that a recorded event decided, to apply them after a
// crash. There are none for other kinds of events.
func ChangesOf(session domain.SessionID, p domain.Payload) []Change {
	switch p := p.(type) {
	case domain.HunkAccepted:
		return []Change{{Session: session, Kind: ChangeAccept, Path: p.Path, Hunks: p.Hunks, Before: p.Before, After: p.After}}
	case domain.HunkRejected:
		return []Change{{Session: session, Kind: ChangeReject, Path: p.File.Path, Hunks: p.Hunks, File: p.File}}
	case domain.WorkspaceRestored:
		var out []Change
		for _, f := range p.Files {
			out = append(out, Change{Session: session, Kind: ChangeRestore, Path: f.Path, File: f})
		}
		return out
	}
	return nil
}

// PlanAccept decides to accept hunks of a file, or all of it when none are named:
// the review base moves forward, the file stays as it is. expect is the version of
// the file that was shown; another one is CodeConflict (zero: not checked).
func (s *Store) PlanAccept(ctx context.Context, session domain.SessionID, h *Handle, path string, hunks []string, expect domain.Hash) (Change, error) {
	return s.planOne(ctx, ChangeAccept, session, h, path, hunks, expect)
}

// PlanReject decides to take hunks out of a file again, or to put all of it back
// when none are named. An added file that loses everything is deleted, a deleted
// one comes back. expect is as for PlanAccept.
func (s *Store) PlanReject(ctx context.Context, session domain.SessionID, h *Handle, path string, hunks []string, expect domain.Hash) (Change, error) {
	return s.planOne(ctx, ChangeReject, session, h, path, hunks, expect)
}

func (s *Store) planOne(ctx context.Context, kind ChangeKind, session domain.SessionID, h *Handle, path string, hunks []string, expect domain.Hash) (Change, error) {
	r, err := s.begun(ctx, session, h)
	if err != nil {
		return Change{}, err
	}
	if err := h.reviewable(path); err != nil {
		return Change{}, err
	}
	pre := r.base(path)
	post, err := r.now(ctx, path)
	if err != nil {
		return Change{}, err
	}
	if !expect.IsZero() && expect != post.Hash {
		return Change{}, domain.Errorf(domain.CodeConflict, "%w", &rooted.Changed{Path: path, Have: post.Hash}).
			WithHint("Look at the change as it is now; nothing was answered.")
	}
	if same(pre, post) {
		return Change{}, domain.Errorf(domain.CodeConflict, "%s has no open changes", path).WithHint("They were answered or undone meanwhile.")
	}
	return r.answer(ctx, kind, path, pre, post, hunks)
}

// reviewable refuses names that no file under review can have.
func (h *Handle) reviewable(path string) error {
	if local, err := h.root.Local(path); err != nil || local != path || scan.InGit(path) {
		return domain.Errorf(domain.CodeInvalid, "%q is no file under review", path)
	}
	return nil
}

// begun loads the review of a session that has a base.
func (s *Store) begun(ctx context.Context, session domain.SessionID, h *Handle) (*review, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	r, ok, err := s.review(ctx, session, h)
	if err == nil && !ok {
		err = domain.Errorf(domain.CodeConflict, "the session has changed nothing yet")
	}
	return r, err
}

// answer decides what becomes of one file.
func (r *review) answer(ctx context.Context, kind ChangeKind, path string, pre, post Image, hunks []string) (Change, error) {
	c := Change{Session: r.session, Kind: kind, Path: path}
	f, err := r.compare(path, pre, post)
	if err != nil {
		return c, err
	}
	if len(hunks) == 0 {
		c.all = hunksOf(f)
		return r.whole(ctx, c, pre, post)
	}
	chosen := map[int]bool{}
	for _, id := range hunks {
		i, err := r.find(ctx, f, path, id)
		if err != nil {
			return c, err
		}
		chosen[i] = true
		c.Hunks = append(c.Hunks, f.Hunks[i].ID)
	}
	every := len(chosen) == len(f.Hunks)
	// One side is rewritten with the other's lines: the base when accepting, the file
	// when rejecting. With every hunk, a file that is absent on the other side goes.
	bytes, from, other := f.Take(chosen), pre, post
	if kind == ChangeReject {
		bytes, from, other = f.Drop(chosen), post, pre
	}
	to := from
	switch {
	case every && other.Hash.IsZero():
		to = Image{}
	case from.Hash.IsZero():
		to = other // its mode comes with its first hunk
	}
	if !to.Hash.IsZero() {
		if to.Hash, err = r.s.blobs.PutBytes(ctx, bytes); err != nil {
			return c, rooted.Explain("keep", path, err)
		}
	}
	c.set(from, to)
	return c, nil
}

// hunksOf names all hunks of a file that is answered as a whole.
func hunksOf(f *diff.File) []string {
	var all []string
	for _, h := range f.Hunks {
		all = append(all, h.ID)
	}
	if len(all) == 0 {
		all = []string{"file"} // no hunks to count by: one answer
	}
	return all
}

// set fills in the versions that the change replaces and leaves.
func (c *Change) set(from, to Image) {
	img := imageOf(c.Path, from, to)
	if c.Kind == ChangeAccept {
		c.Before, c.After, c.afterMode = img.Pre, img.Post, img.PostMode
	} else {
		c.File = img
	}
}

// whole answers for all of a file.
func (r *review) whole(ctx context.Context, c Change, pre, post Image) (Change, error) {
	if c.Kind == ChangeAccept {
		c.set(pre, post)
		return c, r.keepNow(ctx, c.Path, post)
	}
	c.set(post, pre)
	if !pre.Hash.IsZero() && !r.s.blobs.Has(pre.Hash) {
		return c, domain.Errorf(domain.CodeUnavailable, "%s cannot be put back: its earlier content was too large to keep", c.Path)
	}
	return c, nil
}

// keepNow makes sure that an accepted version can be compared with later, as far as
// its size allows.
func (r *review) keepNow(ctx context.Context, path string, img Image) error {
	if img.Hash.IsZero() || r.s.blobs.Has(img.Hash) {
		return nil
	}
	b, now, err := r.h.root.Read(path, diff.MaxBytes)
	if err != nil || now.Hash != img.Hash {
		return nil //nolint:nilerr // too large to keep, or a link that a scan keeps
	}
	_, err = r.s.blobs.PutBytes(ctx, b)
	return err
}

// find returns the hunk that an id means now. One that only moved is found; one that
// was answered already, or has changed, is a conflict.
func (r *review) find(ctx context.Context, f *diff.File, path, id string) (int, error) {
	if i := slices.IndexFunc(f.Hunks, func(h Hunk) bool { return h.ID == id }); i >= 0 {
		return i, nil
	}
	var n int
	err := r.s.db.QueryRowContext(ctx, "SELECT count(*) FROM review_answer WHERE session = ? AND path = ? AND hunk = ?", r.session, path, id).Scan(&n)
	if err != nil {
		return 0, err
	}
	if n > 0 {
		return 0, domain.Errorf(domain.CodeConflict, "this hunk of %s was answered already", path)
	}
	i, err := f.Find(id)
	if errors.Is(err, diff.ErrNoHunk) {
		return 0, domain.Errorf(domain.CodeConflict, "%s has no such hunk any more", path).WithHint("Look at the change as it is now; nothing was answered.")
	}
	return i, err
}

// PlanAcceptAll decides to accept everything that is open.
func (s *Store) PlanAcceptAll(ctx context.Context, session domain.SessionID, h *Handle) (Plan, error) {
	return s.planAll(ctx, ChangeAccept, session, h)
}

// PlanRejectAll decides to put every file back. Files that the person changed
// since are left as they are and listed.
func (s *Store) PlanRejectAll(ctx context.Context, session domain.SessionID, h *Handle) (Plan, error) {
	return s.planAll(ctx, ChangeReject, session, h)
}

func (s *Store) planAll(ctx context.Context, kind ChangeKind, session domain.SessionID, h *Handle) (Plan, error) {
	var p Plan
	r, err := s.begun(ctx, session, h)
	if err != nil {
		return p, err
	}
	open, err := s.Changes(ctx, session, h)
	if err != nil {
		return p, err
	}
	skip := func(path, why string) { p.Conflicts = append(p.Conflicts, Conflict{path, why}) }
	for _, f := range open.Files {
		if kind == ChangeReject && f.ByYou {
			skip(f.Path, "you changed it since; reject it by itself if it should go")
			continue
		}
		post, err := r.now(ctx, f.Path)
		if err != nil {
			return p, err
		}
		if post.Hash != f.Post {
			skip(f.Path, "it changed at this very moment")
			continue
		}
		c, err := r.answer(ctx, kind, f.Path, r.base(f.Path), post, nil)
		if domain.CodeOf(err) == domain.CodeUnavailable {
			skip(f.Path, err.Error())
			continue
		}
		if err != nil {
			return p, err
		}
		p.Changes = append(p.Changes, c)
	}
	return p, nil
}

// Preview shows what changes would do to the files or, of an accept, to the review
// bases.
func (s *Store) Preview(ctx context.Context, session domain.SessionID, h *Handle, changes ...Change) ([]FileChange, error) {
	r, err := s.begun(ctx, session, h)
	if err != nil {
		return nil, err
	}
	out := make([]FileChange, 0, len(changes))
	for _, c := range changes {
		pre, post := imageFrom(c.File.Pre, c.File.PreMode), imageFrom(c.File.Post, c.File.PostMode)
		if c.Kind == ChangeAccept {
			pre, post = imageFrom(c.Before, 0), imageFrom(c.After, c.afterMode)
		}
		f, err := r.change(c.Path, pre, post)
		if err != nil {
			return nil, err
		}
		f.ByYou = false
		out = append(out, f)
	}
	return out, nil
}
