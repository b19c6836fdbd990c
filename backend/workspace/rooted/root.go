package rooted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"worksite/backend/domain"
)

// Root is an open folder. It follows the folder when that is renamed.
type Root struct {
	r    *os.Root
	path string
}

// Open opens the folder at path, which must be absolute and free of links.
func Open(dir string) (*Root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, Explain("open folder", dir, err)
	}
	return &Root{r: r, path: filepath.Clean(dir)}, nil
}

// Close releases the folder.
func (r *Root) Close() error { return r.r.Close() }

// Path is where the folder was when it was opened.
func (r *Root) Path() string { return r.path }

// FS is the underlying root, for reading only.
func (r *Root) FS() *os.Root { return r.r }

// maxPath bounds the length of a path, bytes.
const maxPath = 4096

// maxLinks bounds how many links one path may pass through.
const maxLinks = 40

// Local cleans a path as a person or model writes it (relative to the root, or
// absolute inside it) to slash-separated form, without looking at links: "." is
// the root. It refuses what would leave the root.
func (r *Root) Local(p string) (string, error) {
	switch {
	case p == "":
		return "", domain.Errorf(domain.CodeInvalid, "the path is empty")
	case len(p) > maxPath:
		return "", domain.Errorf(domain.CodeInvalid, "the path has %d bytes, more than %d", len(p), maxPath)
	case strings.IndexByte(p, 0) >= 0:
		return "", domain.Errorf(domain.CodeInvalid, "the path contains a NUL byte")
	case p == "~" || strings.HasPrefix(p, "~/"):
		return "", outside(p)
	}
	if filepath.IsAbs(p) {
		rel, ok := r.inside(filepath.Clean(p))
		if !ok {
			return "", outside(p)
		}
		p = rel
	}
	p = path.Clean(filepath.ToSlash(p))
	if !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", outside(p)
	}
	return p, nil
}

// inside returns an absolute path relative to the root. Another spelling of the
// root itself (a link to it, another case) is recognised by asking the disk.
func (r *Root) inside(abs string) (string, bool) {
	if rel, ok := under(r.path, abs); ok {
		return rel, true
	}
	home, err := r.r.Stat(".")
	if err != nil {
		return "", false
	}
	rest := "."
	for dir := abs; ; {
		if fi, err := os.Stat(dir); err == nil && os.SameFile(fi, home) {
			return rest, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = up
	}
}

func under(root, abs string) (string, bool) {
	if abs == root {
		return ".", true
	}
	prefix := root
	if !strings.HasSuffix(prefix, string(filepath.Separator)) {
		prefix += string(filepath.Separator)
	}
	return strings.CutPrefix(abs, prefix)
}

func outside(p string) error {
	return domain.Errorf(domain.CodeForbidden, "%s is outside the workspace", p).
		WithHint("Only files inside the workspace can be used; give a path relative to it.")
}

// Real resolves the links of a local path as far as it exists, the last element
// included. The result has no link in it now; whatever does not exist is kept as
// it is written.
func (r *Root) Real(rel string) (string, error) {
	todo := strings.Split(rel, "/")
	var done []string
	missing := false
	for links := 0; len(todo) > 0; {
		el := todo[0]
		todo = todo[1:]
		switch el {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", outside(rel)
			}
			done = done[:len(done)-1]
			continue
		}
		done = append(done, el)
		if missing {
			continue
		}
		cur := strings.Join(done, "/")
		fi, err := r.r.Lstat(filepath.FromSlash(cur))
		if errors.Is(err, fs.ErrNotExist) {
			missing = true
			continue
		}
		if err != nil {
			return "", Explain("resolve", rel, err)
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if links++; links > maxLinks {
			return "", Explain("resolve", rel, syscall.ELOOP)
		}
		target, err := r.r.Readlink(filepath.FromSlash(cur))
		if err != nil {
			return "", Explain("resolve", rel, err)
		}
		done = done[:len(done)-1]
		if filepath.IsAbs(target) {
			in, ok := r.inside(filepath.Clean(target))
			if !ok {
				return "", domain.Errorf(domain.CodeForbidden, "%s is a link to %s, outside the workspace", cur, target).
					WithHint("Only files inside the workspace can be used.")
			}
			target, done = in, nil
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return strings.Join(done, "/"), nil
}

// parent opens the folder that holds rel, passing through real folders only, and
// returns it with rel's last element. The caller closes it.
func (r *Root) parent(rel string) (*os.Root, string, error) {
	dir, name := path.Split(rel)
	if name == "" || name == "." || name == ".." {
		return nil, "", domain.Errorf(domain.CodeInvalid, "%s names no file", rel)
	}
	cur, err := r.r.OpenRoot(".")
	if err != nil {
		return nil, "", err
	}
	for el := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if el == "" {
			continue
		}
		next, err := enter(cur, el)
		cur.Close()
		if err != nil {
			return nil, "", err
		}
		cur = next
	}
	return cur, name, nil
}

// enter opens the sub-folder el of dir if it is a folder and not a link to one.
func enter(dir *os.Root, el string) (*os.Root, error) {
	sub, err := dir.OpenRoot(el)
	if err != nil {
		if fi, lerr := dir.Lstat(el); lerr == nil && !fi.IsDir() && fi.Mode()&fs.ModeSymlink == 0 {
			err = &fs.PathError{Op: "open", Path: el, Err: syscall.ENOTDIR} // os.Root has no error of its own for it
		}
		return nil, err
	}
	opened, err := sub.Stat(".")
	if err == nil {
		var named fs.FileInfo
		if named, err = dir.Lstat(el); err == nil && (!named.IsDir() || !os.SameFile(opened, named)) {
			err = domain.Errorf(domain.CodeConflict, "%s was replaced by a link while it was used", el).
				WithHint("Nothing was written. Look at the folder and try again.")
		}
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// makeParents creates the missing folders above rel and makes their names durable.
func (r *Root) makeParents(rel string) error {
	dir := path.Dir(rel)
	if dir == "." {
		return nil
	}
	cur, err := r.r.OpenRoot(".")
	if err != nil {
		return err
	}
	defer func() { cur.Close() }()
	for el := range strings.SplitSeq(dir, "/") {
		made := false
		if err := cur.Mkdir(el, 0o777); err == nil {
			made = true
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
		next, err := enter(cur, el)
		if err != nil {
			return err
		}
		if made {
			if err := syncRoot(cur); err != nil {
				next.Close()
				return err
			}
		}
		cur.Close()
		cur = next
	}
	return nil
}

// syncRoot makes the names in dir durable.
func syncRoot(dir *os.Root) error {
	if !dirsCanSync {
		return nil
	}
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some network file systems cannot
		return fmt.Errorf("flush folder: %w", err)
	}
	return nil
}
