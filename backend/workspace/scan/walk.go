package scan

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/workspace/ignore"
	"worksite/backend/workspace/rooted"
)

// Walk calls fn for everything below folder rel in lexical order, folders before
// what is in them. .git, temporary files and, unless withIgnored, what .gitignore
// excludes are left out. fn may return fs.SkipDir or fs.SkipAll. Folders that
// cannot be read are passed over.
func Walk(ctx context.Context, root *rooted.Root, rel string, withIgnored bool, fn func(rel string, d fs.DirEntry) error) error {
	m := (*ignore.Matcher)(nil)
	if !withIgnored {
		m = matcherAbove(root.FS(), rel)
	}
	type level struct {
		dir     string
		m       *ignore.Matcher
		entries []fs.DirEntry
	}
	first, m1, err := list(root.FS(), rel, m, withIgnored, nil)
	if err != nil {
		return rooted.Explain("list", rel, err)
	}
	for stack := []level{{rel, m1, first}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		if len(top.entries) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		d := top.entries[0]
		top.entries = top.entries[1:]
		p := join(top.dir, d.Name())
		if !withIgnored && top.m.Match(p, d.IsDir()) {
			continue
		}
		switch err := fn(p, d); {
		case errors.Is(err, fs.SkipAll):
			return nil
		case errors.Is(err, fs.SkipDir):
			if !d.IsDir() {
				top.entries = nil
			}
			continue
		case err != nil:
			return err
		}
		if !d.IsDir() {
			continue
		}
		if entries, sub, err := list(root.FS(), p, top.m, withIgnored, nil); err == nil {
			stack = append(stack, level{p, sub, entries})
		}
	}
	return nil
}

// matcherAbove reads the ignore files of the folders above rel.
func matcherAbove(root *os.Root, rel string) *ignore.Matcher {
	m := (*ignore.Matcher)(nil).Enter("", readSmall(root, ".git/info/exclude"))
	if rel == "." {
		return m
	}
	dir := "."
	for el := range strings.SplitSeq(rel, "/") {
		m = m.Enter(dir, readSmall(root, join(dir, ".gitignore")))
		dir = join(dir, el)
	}
	return m
}

// list reads a folder: its entries sorted by name, without what is never looked
// at, and the matcher in force in it. temp, if not nil, is called for temporary files.
func list(root *os.Root, dir string, m *ignore.Matcher, withIgnored bool, temp func(dir string, d fs.DirEntry)) ([]fs.DirEntry, *ignore.Matcher, error) {
	f, err := root.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil, nil, err
	}
	entries, err := f.ReadDir(-1)
	_ = f.Close() // only read
	if err != nil && len(entries) == 0 {
		return nil, nil, err
	}
	entries = slices.DeleteFunc(entries, func(d fs.DirEntry) bool {
		if rooted.IsTemp(d.Name()) {
			if temp != nil {
				temp(dir, d)
			}
			return true
		}
		if IsGit(d.Name()) || isPlaceholder(d) {
			return true
		}
		if d.Name() == ".gitignore" && d.Type().IsRegular() && !withIgnored {
			m = m.Enter(dir, readSmall(root, join(dir, ".gitignore")))
		}
		return false
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, m, nil
}

// isPlaceholder reports what a sandbox put into a missing path's place while a
// command runs there; it is no file of the workspace. Only names that are ever
// protected are looked at.
func isPlaceholder(d fs.DirEntry) bool {
	if name := d.Name(); !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".md") {
		return false
	}
	info, err := d.Info()
	if err != nil || !info.ModTime().Equal(domain.PlaceholderTime) {
		return false
	}
	return info.Mode() == 0o444 && info.Size() == 0 || info.Mode() == fs.ModeDir|0o555
}

// maxSmall bounds what is read of an ignore file, bytes.
const maxSmall = 1 << 20

// readSmall reads an ordinary file; nil when there is none.
func readSmall(root *os.Root, rel string) []byte {
	fi, err := root.Lstat(filepath.FromSlash(rel))
	if err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	f, err := root.Open(filepath.FromSlash(rel))
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSmall))
	if err != nil {
		return nil
	}
	return b
}

// IsGit reports whether a name is that of Git's own folder or file, on any file
// system: folding case, dropping characters that HFS+ ignores and the trailing
// dots and spaces that Windows does, or by its short name.
func IsGit(name string) bool {
	if len(name) < 4 || len(name) > 64 {
		return false
	}
	n := strings.TrimRight(strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name), ". ")
	return strings.EqualFold(n, ".git") || strings.EqualFold(n, "git~1")
}

// InGit reports whether a path runs through a Git folder.
func InGit(rel string) bool {
	for el := range strings.SplitSeq(path.Clean(rel), "/") {
		if IsGit(el) {
			return true
		}
	}
	return false
}

// Ignored reports whether patterns exclude rel, or a folder above it.
func Ignored(root *rooted.Root, rel string, isDir bool) bool {
	m := (*ignore.Matcher)(nil).Enter("", readSmall(root.FS(), ".git/info/exclude"))
	dir := "."
	els := strings.Split(rel, "/")
	for i, el := range els {
		m = m.Enter(dir, readSmall(root.FS(), join(dir, ".gitignore")))
		dir = join(dir, el)
		if m.Match(dir, isDir || i < len(els)-1) {
			return true
		}
	}
	return false
}
