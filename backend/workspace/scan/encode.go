package scan

import (
	"encoding/binary"
	"errors"
	"io/fs"

	"worksite/backend/domain"
)

// A tree is written as treeMagic, a byte that says whether stats are included, and
// its folders and files with lengths and numbers as varints. Without stats equal
// trees are equal bytes, so that snapshots of an unchanged workspace share a blob.
const treeMagic = "worksite tree 1\n"

var errTree = errors.New("not a whole snapshot")

// Encode writes the tree without what only this machine's file system knows.
func (t Tree) Encode() []byte { return t.encode(false) }

func (t Tree) encode(stats bool) []byte {
	out := append(make([]byte, 0, 64+t.sum.Files*80), treeMagic...)
	str := func(s string) { out = append(binary.AppendUvarint(out, uint64(len(s))), s...) }
	if stats {
		out = append(out, 1)
	} else {
		out = append(out, 0)
	}
	out = binary.AppendUvarint(out, uint64(len(t.folders)))
	for i := range t.folders {
		d := &t.folders[i]
		str(d.path)
		out = binary.AppendUvarint(out, uint64(len(d.files)))
		for k := range d.files {
			f := &d.files[k]
			str(f.name)
			out = append(out, byte(f.flags))
			out = binary.AppendUvarint(out, uint64(f.mode))
			if f.counts() {
				out = binary.AppendUvarint(out, uint64(f.size))
				out = append(out, f.hash[:]...)
				if f.mode&fs.ModeSymlink != 0 {
					str(f.link)
				}
			}
			if stats {
				for _, v := range [...]int64{int64(f.st.dev), int64(f.st.ino), f.st.size, f.st.mtime, f.st.ctime, f.checked} {
					out = binary.AppendVarint(out, v)
				}
			}
		}
	}
	return out
}

// Decode reads what Encode wrote.
func Decode(b []byte) (Tree, error) { return decode(b) }

func decode(b []byte) (t Tree, err error) {
	r := reader{b: b}
	if string(r.take(len(treeMagic))) != treeMagic {
		return Tree{}, errTree
	}
	flag := r.take(1)
	stats := len(flag) == 1 && flag[0] == 1
	t.folders = make([]folder, 0, r.count())
	for range cap(t.folders) {
		d := folder{path: r.str()}
		d.files = make([]file, 0, r.count())
		for range cap(d.files) {
			f := file{name: r.str()}
			if fl := r.take(1); fl != nil {
				f.flags = flags(fl[0])
			}
			f.mode = fs.FileMode(r.uint())
			if f.counts() {
				f.size = int64(r.uint())
				copy(f.hash[:], r.take(len(domain.Hash{})))
				if f.mode&fs.ModeSymlink != 0 {
					f.link = r.str()
				}
			}
			if stats {
				f.st = stat{dev: uint64(r.int()), ino: uint64(r.int()), size: r.int(), mtime: r.int(), ctime: r.int()}
				f.checked = r.int()
			}
			if r.bad {
				return Tree{}, errTree
			}
			d.files = append(d.files, f)
		}
		if r.bad {
			return Tree{}, errTree
		}
		t.folders = append(t.folders, d)
	}
	if r.bad || len(r.b) != 0 {
		return Tree{}, errTree
	}
	t.seal()
	return t, nil
}

// reader takes pieces off a byte string; past its end it is bad and answers zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads how many items follow, never more than the bytes could hold.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) str() string { return string(r.take(int(min(r.uint(), 1<<30)))) }
