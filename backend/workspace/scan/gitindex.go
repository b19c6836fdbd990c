package scan

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"worksite/backend/workspace/rooted"
)

// tracked is the sorted list of paths in Git's index: files that are tracked are
// looked at although a pattern excludes them.
type tracked struct {
	paths []string
	st    stat
}

// has reports whether the file rel is tracked.
func (t *tracked) has(rel string) bool {
	_, ok := slices.BinarySearch(t.paths, rel)
	return ok
}

// below reports whether anything under folder rel is tracked.
func (t *tracked) below(rel string) bool {
	i, _ := slices.BinarySearch(t.paths, rel+"/")
	return i < len(t.paths) && strings.HasPrefix(t.paths[i], rel+"/")
}

// maxIndex bounds the index that is read, bytes.
const maxIndex = 256 << 20

// load reads the index of the repository whose top is root, when there is one and
// it has changed. A damaged index counts as none.
func (t *tracked) load(root *rooted.Root) {
	name := filepath.Join(root.Path(), ".git")
	if fi, err := os.Lstat(name); err == nil && fi.Mode().IsRegular() && fi.Size() < 4096 { // a worktree or submodule
		b, err := os.ReadFile(name)
		dir, ok := bytes.CutPrefix(bytes.TrimSpace(b), []byte("gitdir: "))
		if err != nil || !ok {
			*t = tracked{}
			return
		}
		if name = filepath.FromSlash(string(dir)); !filepath.IsAbs(name) {
			name = filepath.Join(root.Path(), name)
		}
	}
	name = filepath.Join(name, "index")
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxIndex {
		*t = tracked{}
		return
	}
	st := statOf(fi)
	if st == t.st {
		return
	}
	b, err := os.ReadFile(name)
	if err != nil {
		*t = tracked{}
		return
	}
	*t = tracked{paths: indexPaths(b), st: st}
}

// indexPaths reads the paths of a Git index of version 2, 3 or 4 (gitformat-index).
func indexPaths(b []byte) []string {
	if len(b) < 12 || string(b[:4]) != "DIRC" {
		return nil
	}
	version, n := binary.BigEndian.Uint32(b[4:]), int(binary.BigEndian.Uint32(b[8:]))
	if version < 2 || version > 4 {
		return nil
	}
	// Hashes have 20 or 32 bytes, which the index does not say: the one that fits is right.
	for _, size := range []int{20, 32} {
		if paths, ok := readIndexPaths(b[12:], version, n, size); ok {
			return paths
		}
	}
	return nil
}

func readIndexPaths(b []byte, version uint32, n, hashSize int) ([]string, bool) {
	var out []string
	prev := ""
	for range n {
		fixed := 40 + hashSize + 2
		if len(b) < fixed+2 {
			return nil, false
		}
		fl := binary.BigEndian.Uint16(b[40+hashSize:])
		if fl&0x4000 != 0 && version >= 3 {
			fixed += 2
		}
		rest := b[fixed:]
		name := ""
		if version == 4 {
			strip, used := offset(rest)
			end := bytes.IndexByte(rest[used:], 0)
			if used == 0 || strip > len(prev) || end < 0 {
				return nil, false
			}
			name = prev[:len(prev)-strip] + string(rest[used:used+end])
			b = rest[used+end+1:]
		} else {
			end := bytes.IndexByte(rest, 0)
			if end <= 0 {
				return nil, false
			}
			name = string(rest[:end])
			size := (fixed+end)/8*8 + 8
			if size > len(b) {
				return nil, false
			}
			b = b[size:]
		}
		if name < prev {
			return nil, false // entries are sorted: read with the wrong hash size
		}
		if name != prev {
			out = append(out, name)
		}
		prev = name
	}
	return out, true
}

// offset reads Git's variable-length number.
func offset(b []byte) (v, used int) {
	for i, c := range b {
		if i > 4 {
			return 0, 0
		}
		v |= int(c & 0x7f)
		if c&0x80 == 0 {
			return v, i + 1
		}
		v = (v + 1) << 7
	}
	return 0, 0
}
