package sessions_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
)

// recordHead is the length of a record before its path and data, see recorder.c.
const recordHead = 25

// record is one thing that was done to a file, or a mark.
type record struct {
	kind byte // w write, t truncate, s flush, d flush of a folder, u unlink, r rename, m mark
	ino  uint64
	off  int64
	path string
	data []byte
	mark *mark
}

func parseRecords(raw []byte) ([]record, error) {
	var out []record
	for len(raw) > 0 {
		if len(raw) < recordHead {
			return nil, fmt.Errorf("%d bytes are left over", len(raw))
		}
		r := record{kind: raw[0], ino: binary.LittleEndian.Uint64(raw[1:]), off: int64(binary.LittleEndian.Uint64(raw[9:]))}
		path, data := int(binary.LittleEndian.Uint32(raw[17:])), int(binary.LittleEndian.Uint32(raw[21:]))
		raw = raw[recordHead:]
		if len(raw) < path+data {
			return nil, fmt.Errorf("a record of %d bytes has %d", path+data, len(raw))
		}
		r.path, r.data = string(raw[:path]), raw[path:path+data]
		raw = raw[path+data:]
		if r.kind == 'm' {
			r.mark = &mark{}
			if err := json.Unmarshal(r.data, r.mark); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// fate is what becomes of writes that were not flushed when the power goes.
type fate int

const (
	dropped   fate = iota // none reached the disk
	kept                  // all did
	torn                  // each sector of 512 bytes did or did not
	reordered             // any of them did, in any order, some torn
	fates
)

const sector = 512

// file is a file as the disk has it, and what was done to it since its last flush.
type file struct {
	durable []byte
	pending []record
}

// nameOp is a change of names that is durable once the folder is flushed.
type nameOp struct {
	name string // relative to the folder
	file *file  // nil: the name is gone
}

// disk is what the recorded process did, seen by a disk that may forget what was
// not flushed.
type disk struct {
	dir     string
	byInode map[uint64]*file
	current map[string]*file
	durable map[string]*file
	names   []nameOp
}

func newDisk(dir string) *disk {
	return &disk{dir: dir, byInode: map[uint64]*file{}, current: map[string]*file{}, durable: map[string]*file{}}
}

func (d *disk) do(r record) error {
	rel, err := filepath.Rel(d.dir, r.path)
	if err != nil {
		return err
	}
	switch r.kind {
	case 'w', 't':
		f := d.byInode[r.ino]
		if f == nil || d.current[rel] != f {
			f = &file{}
			d.byInode[r.ino] = f
			d.rename(rel, f)
		}
		f.pending = append(f.pending, r)
	case 's':
		if f := d.byInode[r.ino]; f != nil {
			for _, p := range f.pending {
				f.durable = p.apply(f.durable)
			}
			f.pending = nil
		}
	case 'd':
		for _, op := range d.names {
			op.apply(d.durable)
		}
		d.names = nil
	case 'u':
		d.forget(rel)
		d.rename(rel, nil)
	case 'r':
		to, err := filepath.Rel(d.dir, string(r.data))
		if err != nil {
			return err
		}
		d.rename(to, d.current[rel])
		d.rename(rel, nil)
	default:
		return fmt.Errorf("record of kind %q", r.kind)
	}
	return nil
}

func (d *disk) rename(name string, f *file) {
	op := nameOp{name, f}
	op.apply(d.current)
	d.names = append(d.names, op)
}

// forget makes an inode number free for another file.
func (d *disk) forget(name string) {
	for ino, f := range d.byInode {
		if f == d.current[name] {
			delete(d.byInode, ino)
		}
	}
}

func (op nameOp) apply(names map[string]*file) {
	if op.file == nil {
		delete(names, op.name)
	} else {
		names[op.name] = op.file
	}
}

// apply does a write or truncation to a content and returns the new one.
func (r record) apply(b []byte) []byte {
	if r.kind == 't' {
		return resize(b, r.off)
	}
	return writeAt(b, r.off, r.data)
}

func writeAt(b []byte, off int64, data []byte) []byte {
	if end := off + int64(len(data)); end > int64(len(b)) {
		b = resize(b, end)
	}
	copy(b[off:], data)
	return b
}

func resize(b []byte, n int64) []byte {
	if n <= int64(len(b)) {
		return b[:n:n]
	}
	return append(b[:len(b):len(b)], make([]byte, n-int64(len(b)))...)
}

// cut returns the files that are there when the power goes now and comes back.
func (d *disk) cut(how fate, r *rand.Rand) map[string][]byte {
	names := map[string]*file{}
	for n, f := range d.durable {
		names[n] = f
	}
	through := 0 // a file system keeps the order of names
	switch how {
	case kept:
		through = len(d.names)
	case torn, reordered:
		through = r.IntN(len(d.names) + 1)
	default: // dropped
	}
	for _, op := range d.names[:through] {
		op.apply(names)
	}
	out := map[string][]byte{}
	for n, f := range names {
		out[n] = f.after(how, r)
	}
	return out
}

func (f *file) after(how fate, r *rand.Rand) []byte {
	b := slices.Clone(f.durable)
	pending := f.pending
	if how == reordered {
		pending = slices.Clone(pending)
		r.Shuffle(len(pending), func(i, j int) { pending[i], pending[j] = pending[j], pending[i] })
	}
	for _, p := range pending {
		switch {
		case how == kept:
			b = p.apply(b)
		case how == dropped, how == reordered && r.IntN(2) == 0, how == torn && p.kind == 't' && r.IntN(2) == 0:
		case p.kind == 't', how == reordered && r.IntN(2) == 0:
			b = p.apply(b)
		default:
			for from := int64(0); from < int64(len(p.data)); {
				to := min((p.off+from)/sector*sector+sector-p.off, int64(len(p.data)))
				if r.IntN(2) == 0 {
					b = writeAt(b, p.off+from, p.data[from:to])
				}
				from = to
			}
		}
	}
	return b
}
