package git

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"worksite/backend/domain"
)

// Repo is a repository found for a folder.
type Repo struct {
	folder string // the folder asked for
	top    string // the work tree's top: folder or a folder above it
	dir    string // the git directory of this work tree
	common string // where branches and objects are: dir, unless it is a linked worktree
}

// ErrNone says that a folder is in no repository.
var ErrNone = errors.New("no git repository")

// Find looks for the repository of a folder by itself, so that no configuration is
// consulted: .git in the folder or above it, up to a change of owner or the home.
func (g *Git) Find(folder string) (*Repo, error) {
	for top := folder; ; {
		r, err := open(folder, top)
		if !errors.Is(err, ErrNone) {
			return r, err
		}
		up := filepath.Dir(top)
		if up == top || top == g.home || !sameOwner(up, top) {
			return nil, ErrNone
		}
		top = up
	}
}

func open(folder, top string) (*Repo, error) {
	name := filepath.Join(top, ".git")
	fi, err := os.Lstat(name)
	if err != nil {
		return nil, ErrNone
	}
	if !ownedByUs(fi) {
		return nil, domain.Errorf(domain.CodeForbidden, "%s belongs to somebody else", name).WithHint("Git is not used there.")
	}
	r := &Repo{folder: folder, top: top, dir: name}
	switch {
	case fi.IsDir():
	case fi.Mode().IsRegular(): // a linked worktree or a submodule
		target, ok := strings.CutPrefix(readLine(name), "gitdir: ")
		if !ok {
			return nil, ErrNone
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(top, target)
		}
		if r.dir, err = filepath.EvalSymlinks(target); err != nil {
			return nil, ErrNone
		}
		if fi, err := os.Lstat(r.dir); err != nil || !fi.IsDir() || !ownedByUs(fi) {
			return nil, ErrNone
		}
	default:
		return nil, domain.Errorf(domain.CodeForbidden, "%s is a link", name).WithHint("Git is not used there.")
	}
	r.common = r.dir
	if c := readLine(filepath.Join(r.dir, "commondir")); c != "" {
		if !filepath.IsAbs(c) {
			c = filepath.Join(r.dir, c)
		}
		if r.common, err = filepath.EvalSymlinks(c); err != nil {
			return nil, ErrNone
		}
	}
	if fi, err := os.Stat(filepath.Join(r.dir, "HEAD")); err != nil || !fi.Mode().IsRegular() {
		return nil, ErrNone
	}
	return r, nil
}

// Dir is Git's folder for this work tree: HEAD and the index are in it.
func (r *Repo) Dir() string { return r.dir }

// pointsBack reports whether the git directory says that top is its work tree, so
// that a planted .git file cannot lead a commit into another repository.
func (r *Repo) pointsBack() bool {
	if r.dir == filepath.Join(r.top, ".git") {
		return true
	}
	if back := readLine(filepath.Join(r.dir, "gitdir")); back != "" {
		if !filepath.IsAbs(back) {
			back = filepath.Join(r.dir, back)
		}
		return same(filepath.Dir(back), r.top)
	}
	// A submodule's git directory lies below a .git/modules above the work tree, and
	// names the work tree in its configuration.
	b, err := os.ReadFile(filepath.Join(r.dir, "config"))
	if err != nil {
		return false
	}
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		k, v, ok := strings.Cut(string(line), "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(k), "worktree") {
			continue
		}
		v = strings.Trim(strings.TrimSpace(v), `"`)
		if !filepath.IsAbs(v) {
			v = filepath.Join(r.dir, v)
		}
		return same(v, r.top)
	}
	return false
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// readLine returns the first line of a small ordinary file, "" when there is none.
func readLine(name string) string {
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 4096 {
		return ""
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimRight(line, "\r ")
}

// Head returns the branch and commit by looking at files only: quick enough for
// every snapshot. branch is "" when detached, commit "" when there is none yet or it
// is not stored as a plain reference.
func (r *Repo) Head() (branch, commit string) {
	line := readLine(filepath.Join(r.dir, "HEAD"))
	ref, ok := strings.CutPrefix(line, "ref: ")
	if !ok {
		return "", line
	}
	branch = strings.TrimPrefix(ref, "refs/heads/")
	if !filepath.IsLocal(filepath.FromSlash(ref)) {
		return branch, ""
	}
	if c := readLine(filepath.Join(r.common, filepath.FromSlash(ref))); c != "" {
		return branch, c
	}
	f, err := os.ReadFile(filepath.Join(r.common, "packed-refs"))
	if err != nil {
		return branch, ""
	}
	for line := range bytes.SplitSeq(f, []byte("\n")) {
		if c, name, ok := strings.Cut(string(line), " "); ok && name == ref {
			return branch, c
		}
	}
	return branch, ""
}

// underWay names what a person has begun and not ended, "" for nothing.
func (r *Repo) underWay() string {
	for name, what := range map[string]string{
		"MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert", "rebase-merge": "a rebase", "rebase-apply": "a rebase",
	} {
		if _, err := os.Lstat(filepath.Join(r.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return what
		}
	}
	return ""
}
