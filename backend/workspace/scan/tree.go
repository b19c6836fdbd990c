package scan

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/workspace/rooted"
)

// flags of a file in a tree.
type flags uint8

const (
	kept       flags = 1 << iota // its content is in the blob store
	ignored                      // listed by stat only
	byStat                       // too large to read: the hash is of size and time
	unreadable                   // no permission: the hash is of size and time
	special                      // pipe, socket, device: listed by name only
)

// file is one entry of a folder.
type file struct {
	name    string
	link    string
	hash    domain.Hash
	size    int64
	mode    fs.FileMode
	flags   flags
	st      stat
	checked int64 // when it was hashed, ns since 1970
}

// folder is one folder of a tree, its files sorted by name.
type folder struct {
	path  string // "." for the root
	files []file
}

// Tree is a snapshot of a workspace. It is immutable; the zero Tree is empty.
type Tree struct {
	folders []folder // sorted by path
	hash    domain.Hash
	sum     Summary
}

// Summary counts what a tree holds.
type Summary struct {
	Files   int   // tracked by the snapshot
	Bytes   int64 // of those
	Skipped int   // of those, without kept content: changes are seen, not shown
	Ignored int   // files and folders listed by stat only
}

// Entry is one file of a tree.
type Entry struct {
	Path string
	rooted.Image
	Kept   bool // its content is in the blob store
	ByStat bool // the hash is of size and time, not of the content
}

// Hash names the tree: paths, modes and contents of all files that are not
// ignored. Equal trees have equal hashes.
func (t Tree) Hash() domain.Hash {
	if t.hash.IsZero() {
		return emptyTree
	}
	return t.hash
}

var emptyTree = domain.HashBytes(nil)

// Summary counts what the tree holds.
func (t Tree) Summary() Summary { return t.sum }

func (t Tree) folder(dir string) *folder {
	i, ok := slices.BinarySearchFunc(t.folders, dir, func(f folder, d string) int { return strings.Compare(f.path, d) })
	if !ok {
		return nil
	}
	return &t.folders[i]
}

func (f *folder) file(name string) *file {
	i, ok := slices.BinarySearchFunc(f.files, name, func(e file, n string) int { return strings.Compare(e.name, n) })
	if !ok {
		return nil
	}
	return &f.files[i]
}

// Lookup returns the file at rel, unless it is ignored or special.
func (t Tree) Lookup(rel string) (Entry, bool) {
	d := t.folder(path.Dir(rel))
	if d == nil {
		return Entry{}, false
	}
	f := d.file(path.Base(rel))
	if f == nil || !f.counts() {
		return Entry{}, false
	}
	return f.entry(d.path), true
}

// HasFolder reports whether the tree has a folder at rel.
func (t Tree) HasFolder(rel string) bool { return t.folder(rel) != nil }

// All yields every file that is not ignored or special, folder by folder.
func (t Tree) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range t.folders {
			d := &t.folders[i]
			for k := range d.files {
				if f := &d.files[k]; f.counts() && !yield(f.entry(d.path)) {
					return
				}
			}
		}
	}
}

// KeptHashes yields the names of all blobs that the tree refers to.
func (t Tree) KeptHashes() iter.Seq[domain.Hash] {
	return func(yield func(domain.Hash) bool) {
		for i := range t.folders {
			for k := range t.folders[i].files {
				if f := &t.folders[i].files[k]; f.flags&kept != 0 && !yield(f.hash) {
					return
				}
			}
		}
	}
}

func (f *file) counts() bool { return f.flags&(ignored|special) == 0 }

func (f *file) entry(dir string) Entry {
	return Entry{
		Path:   join(dir, f.name),
		Image:  rooted.Image{Hash: f.hash, Size: f.size, Mode: f.mode, Symlink: f.link},
		Kept:   f.flags&kept != 0,
		ByStat: f.flags&(byStat|unreadable) != 0,
	}
}

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// seal sorts the tree and computes its hash and counts.
func (t *Tree) seal() {
	slices.SortFunc(t.folders, func(a, b folder) int { return strings.Compare(a.path, b.path) })
	sum := sha256.New()
	var buf []byte
	t.sum = Summary{}
	for i := range t.folders {
		d := &t.folders[i]
		slices.SortFunc(d.files, func(a, b file) int { return strings.Compare(a.name, b.name) })
		for k := range d.files {
			f := &d.files[k]
			if !f.counts() {
				t.sum.Ignored++
				continue
			}
			t.sum.Files++
			t.sum.Bytes += f.size
			if f.flags&kept == 0 {
				t.sum.Skipped++
			}
			buf = append(append(append(buf, d.path...), '/'), f.name...)
			buf = binary.BigEndian.AppendUint32(append(buf, 0), rooted.UnixMode(f.hash, f.mode))
			buf = append(buf, f.hash[:]...)
			if len(buf) > 1<<15 {
				sum.Write(buf)
				buf = buf[:0]
			}
		}
	}
	sum.Write(buf)
	sum.Sum(t.hash[:0])
}

// Change is one file that differs between two trees; the zero Entry is "absent".
type Change struct {
	Path      string
	Pre, Post Entry
}

// hides reports whether folder dir, which the tree does not have, is or lies in an
// ignored one.
func (t Tree) hides(dir string) bool {
	for dir != "." {
		up := path.Dir(dir)
		if d := t.folder(up); d != nil {
			f := d.file(path.Base(dir))
			return f != nil && f.flags&ignored != 0
		}
		dir = up
	}
	return false
}

// Hidden lists the files of before that after no longer looks at because they have
// become ignored since: whether they changed is not known from the trees.
func Hidden(before, after Tree) []Entry {
	var out []Entry
	for i := range before.folders {
		d := &before.folders[i]
		now := after.folder(d.path)
		gone := now == nil && after.hides(d.path)
		if now == nil && !gone {
			continue
		}
		for k := range d.files {
			f := &d.files[k]
			if !f.counts() {
				continue
			}
			if !gone {
				if e := now.file(f.name); e == nil || e.flags&ignored == 0 {
					continue
				}
			}
			out = append(out, f.entry(d.path))
		}
	}
	return out
}

// Compare lists what differs between two trees, sorted by path: contents, modes,
// additions and deletions. What one of them ignores is left out, see [Hidden].
func Compare(before, after Tree) []Change {
	if before.Hash() == after.Hash() {
		return nil
	}
	var out []Change
	a, b := before.folders, after.folders
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].path < b[0].path:
			if !after.hides(a[0].path) {
				out = compareFolder(out, a[0].path, a[0].files, nil)
			}
			a = a[1:]
		case len(a) == 0 || b[0].path < a[0].path:
			if !before.hides(b[0].path) {
				out = compareFolder(out, b[0].path, nil, b[0].files)
			}
			b = b[1:]
		default:
			out = compareFolder(out, a[0].path, a[0].files, b[0].files)
			a, b = a[1:], b[1:]
		}
	}
	slices.SortFunc(out, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return out
}

func compareFolder(out []Change, dir string, a, b []file) []Change {
	for len(a)+len(b) > 0 {
		var pre, post *file
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].name < b[0].name:
			pre, a = &a[0], a[1:]
		case len(a) == 0 || b[0].name < a[0].name:
			post, b = &b[0], b[1:]
		default:
			pre, a, post, b = &a[0], a[1:], &b[0], b[1:]
		}
		var c Change
		if pre != nil && pre.counts() {
			c.Pre = pre.entry(dir)
		}
		if post != nil && post.counts() {
			c.Post = post.entry(dir)
		}
		if c.Pre.Image == c.Post.Image {
			continue
		}
		// A file that is only ignored now, or was before, has not come or gone.
		if pre != nil && post != nil && pre.counts() != post.counts() && (pre.flags|post.flags)&special == 0 {
			continue
		}
		c.Path = max(c.Pre.Path, c.Post.Path)
		out = append(out, c)
	}
	return out
}

// CompareIgnored lists the ignored files and folders that appeared, went or have
// another size or time: what a command changed there is known to have changed, but
// not kept.
func CompareIgnored(before, after Tree) []string {
	index := func(t Tree) map[string]stat {
		m := map[string]stat{}
		for i := range t.folders {
			for k := range t.folders[i].files {
				if f := &t.folders[i].files[k]; f.flags&ignored != 0 {
					m[join(t.folders[i].path, f.name)] = f.st
				}
			}
		}
		return m
	}
	a, b := index(before), index(after)
	var out []string
	for p, st := range a {
		if now, ok := b[p]; !ok || now != st {
			out = append(out, p)
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}
