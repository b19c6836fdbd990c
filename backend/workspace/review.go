package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"worksite/backend/domain"
	"worksite/backend/workspace/diff"
	"worksite/backend/workspace/rooted"
	"worksite/backend/workspace/scan"
)

// Hunk is one reviewable piece of a file.
type Hunk = diff.Hunk

// DiffLine is one line of a hunk.
type DiffLine = diff.Line

// Changes is what differs between a session's review base and its workspace now.
type Changes struct {
	Session            domain.SessionID
	Based              bool // false: the session did nothing in the workspace yet
	Files              []FileChange
	Hunks              int      // open
	Accepted, Rejected int      // hunks answered so far
	Unseen             []string // ignored files that changed: known to differ, not kept
}

// FileChange is one changed file.
type FileChange struct {
	Path             string
	Status           string // "added", "modified", "deleted"
	Binary, TooBig   bool
	Added, Removed   int
	Pre, Post        domain.Hash // review base, and in the workspace now
	OldMode, NewMode uint32      // as Unix writes them; 0: absent
	ByYou            bool        // its last change is not this session's
	Hunks            []Hunk
}

// review is all that is known of a session's changes.
type review struct {
	s       *Store
	h       *Handle
	session domain.SessionID
	tree    Tree
	moved   map[string]Image              // review bases that moved
	writes  map[string][]domain.FileImage // by the session, reviews and restores
	first   map[string]Image              // what the session found when it first wrote
}

// review loads a session; ok is false when it has no base yet.
func (s *Store) review(ctx context.Context, session domain.SessionID, h *Handle) (r *review, ok bool, err error) {
	b, ok, err := s.baseOf(ctx, session)
	if err != nil || !ok {
		return nil, false, err
	}
	if b.workspace != h.id {
		return nil, false, domain.Errorf(domain.CodeInvalid, "session %s works in another workspace", session)
	}
	r = &review{s: s, h: h, session: session, moved: map[string]Image{}, first: map[string]Image{}}
	if r.tree, err = s.tree(b.blob); err != nil {
		return nil, false, err
	}
	err = s.db.each(ctx, "SELECT path, hash, mode FROM review_base WHERE session = ?", []any{session}, func(scan func(...any) error) error {
		var p string
		var h domain.Hash
		var mode uint32
		if err := scan(&p, scanHash{&h}, &mode); err != nil {
			return err
		}
		r.moved[p] = imageFrom(h, mode)
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("read review: %w", err)
	}
	err = s.db.each(ctx, "SELECT path, pre, pre_mode FROM image WHERE n IN (SELECT min(n) FROM image WHERE session = ? AND origin = 'session' GROUP BY path)", []any{session},
		func(scan func(...any) error) error {
			var p string
			var h domain.Hash
			var mode uint32
			if err := scan(&p, scanHash{&h}, &mode); err != nil {
				return err
			}
			r.first[p] = imageFrom(h, mode)
			return nil
		})
	if err != nil {
		return nil, false, fmt.Errorf("read review: %w", err)
	}
	r.writes, err = s.images(ctx, session)
	return r, true, err
}

// imageFrom is a version as rows and events name it. An unknown mode stays 0.
func imageFrom(h domain.Hash, mode uint32) Image {
	img := Image{Hash: h}
	if mode != 0 && !h.IsZero() {
		img.Mode = rooted.FromUnix(mode)
	}
	return img
}

// same reports whether two versions are one; a mode that is not known is no difference.
func same(a, b Image) bool {
	return a.Hash == b.Hash && (a.Hash.IsZero() || a.Mode == 0 || b.Mode == 0 || a.Mode == b.Mode)
}

// base returns the review base of a file: where accepted hunks moved it to, else
// what the session found when it first wrote the file, else the snapshot's version.
// What the person changed between the snapshot and that first write is theirs.
func (r *review) base(path string) Image {
	if img, ok := r.moved[path]; ok {
		return img
	}
	e, inTree := r.tree.Lookup(path)
	if img, ok := r.first[path]; ok {
		if inTree && img.Hash == e.Hash {
			return e.Image
		}
		return img
	}
	if inTree {
		return e.Image
	}
	return Image{}
}

// now looks at a file in the workspace; a folder in its place counts as absent.
func (r *review) now(ctx context.Context, path string) (Image, error) {
	if fi, err := r.h.root.FS().Lstat(filepath.FromSlash(path)); err == nil {
		if img, large := r.s.scanner(r.h.id).Large(fi); large {
			return img, nil
		}
		if !fi.Mode().IsRegular() && fi.Mode()&fs.ModeSymlink == 0 {
			return Image{}, nil
		}
	}
	img, err := r.h.root.Image(ctx, path)
	if domain.CodeOf(err) == domain.CodeInvalid {
		return Image{}, nil
	}
	return img, err
}

// byYou reports whether a file's present version is of the person's making.
func (r *review) byYou(path string, now Image) bool {
	w := r.writes[path]
	return len(w) == 0 || w[len(w)-1].Post != now.Hash
}

// content returns the bytes of a version: kept ones, else those in the workspace
// when they are that version. ok is false when they are not to be had or too many.
func (r *review) content(path string, img Image) (b []byte, ok bool, err error) {
	if img.Hash.IsZero() {
		return nil, true, nil
	}
	b, err = r.s.blobs.Read(img.Hash, diff.MaxBytes)
	switch domain.CodeOf(err) {
	case "":
		return b, true, nil
	case domain.CodeTooLarge:
		return nil, false, nil
	case domain.CodeNotFound:
	default:
		return nil, false, err
	}
	b, now, err := r.h.root.Read(path, diff.MaxBytes)
	if err != nil || now.Hash != img.Hash {
		return nil, false, nil //nolint:nilerr // changed or too large: not to be shown
	}
	return b, true, nil
}

// compare cuts the difference between two versions into hunks.
func (r *review) compare(path string, pre, post Image) (*diff.File, error) {
	key := diffKey{path, pre.Hash, post.Hash}
	if f := r.s.diffs.get(key); f != nil {
		return f, nil
	}
	a, ok1, err := r.content(path, pre)
	if err != nil {
		return nil, err
	}
	b, ok2, err := r.content(path, post)
	if err != nil {
		return nil, err
	}
	f := &diff.File{TooBig: true}
	if ok1 && ok2 {
		f = diff.Compare(path, a, b)
	}
	r.s.diffs.put(key, f, len(a)+len(b))
	return f, nil
}

// change describes one changed file.
func (r *review) change(path string, pre, post Image) (FileChange, error) {
	f, err := r.compare(path, pre, post)
	if err != nil {
		return FileChange{}, fmt.Errorf("compare %s: %w", path, err)
	}
	c := FileChange{
		Path: path, Status: "modified", Binary: f.Binary, TooBig: f.TooBig, Added: f.Added, Removed: f.Removed,
		Pre: pre.Hash, Post: post.Hash, OldMode: pre.UnixMode(), NewMode: post.UnixMode(), ByYou: r.byYou(path, post), Hunks: f.Hunks,
	}
	if pre.Mode == 0 {
		c.OldMode = 0
	}
	switch {
	case pre.Hash.IsZero():
		c.Status = "added"
	case post.Hash.IsZero():
		c.Status = "deleted"
	}
	return c, nil
}

// maxHidden bounds how many files that have become ignored are still looked at.
const maxHidden = 2000

// Changes compares the session's review base with the workspace as it is now.
func (s *Store) Changes(ctx context.Context, session domain.SessionID, h *Handle) (Changes, error) {
	out := Changes{Session: session}
	r, ok, err := s.review(ctx, session, h)
	if err != nil || !ok {
		return out, err
	}
	out.Based = true
	now, err := s.Scan(ctx, h)
	if err != nil {
		return out, err
	}
	direct := map[string]bool{} // files that the snapshots do not settle
	for _, e := range scan.Hidden(r.tree, now) {
		if len(direct) < maxHidden {
			direct[e.Path] = true
		}
	}
	paths := maps.Clone(direct)
	for _, c := range scan.Compare(r.tree, now) {
		paths[c.Path] = true
	}
	for p := range r.moved {
		paths[p] = true
	}
	for p := range r.writes {
		paths[p] = true
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		pre, post := r.base(p), Image{}
		if e, ok := now.Lookup(p); ok {
			post = e.Image
		} else if post, err = r.now(ctx, p); err != nil {
			return out, err
		}
		if same(pre, post) {
			continue
		}
		c, err := r.change(p, pre, post)
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, c)
		out.Hunks += len(c.Hunks)
	}
	out.Unseen = scan.CompareIgnored(r.tree, now)
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FILTER (WHERE answer = 'accepted'), count(*) FILTER (WHERE answer = 'rejected') FROM review_answer WHERE session = ?", session).
		Scan(&out.Accepted, &out.Rejected)
	if err != nil {
		return out, fmt.Errorf("read review: %w", err)
	}
	return out, nil
}

// diffCache keeps comparisons, which are pure in their key.
type diffCache struct {
	mu    sync.Mutex
	files map[diffKey]*diff.File
	bytes int
}

type diffKey struct {
	path      string
	pre, post domain.Hash
}

// maxDiffs bounds the cached comparisons, in bytes of the files compared.
const maxDiffs = 96 << 20

func newDiffCache() *diffCache { return &diffCache{files: map[diffKey]*diff.File{}} }

func (c *diffCache) get(k diffKey) *diff.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[k]
}

func (c *diffCache) put(k diffKey, f *diff.File, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += size + 1024; c.bytes > maxDiffs {
		clear(c.files)
		c.bytes = size + 1024
	}
	c.files[k] = f
}
