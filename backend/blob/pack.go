package blob

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"worksite/backend/domain"
)

// A pack is the concatenation of its blobs behind packMagic. Its index, written
// and flushed after it, makes it valid: idxMagic, then per blob (sorted by hash)
// 32 bytes of hash, 8 of offset, 8 of size, then the SHA-256 of all before.
const (
	packMagic = "worksite pack 1\n"
	idxMagic  = "worksite pidx 1\n"
	idxEntry  = 48
)

// packLoc is where a blob stands.
type packLoc struct {
	id           string
	offset, size int64
}

// packWriter fills one pack in the temporary folder.
type packWriter struct {
	f       *os.File
	w       *bufio.Writer
	offset  int64
	entries []byte
}

func newPackWriter(dir string) (*packWriter, error) {
	f, err := os.CreateTemp(dir, "pack-*")
	if err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	p := &packWriter{f: f, w: bufio.NewWriterSize(f, 1<<20), offset: int64(len(packMagic))}
	if _, err := p.w.WriteString(packMagic); err != nil {
		p.abort()
		return nil, fmt.Errorf("write pack: %w", err)
	}
	return p, nil
}

func (p *packWriter) add(h domain.Hash, data []byte) error {
	if _, err := p.w.Write(data); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	p.entries = append(p.entries, h[:]...)
	p.entries = binary.BigEndian.AppendUint64(p.entries, uint64(p.offset))
	p.entries = binary.BigEndian.AppendUint64(p.entries, uint64(len(data)))
	p.offset += int64(len(data))
	return nil
}

func (p *packWriter) abort() {
	_ = p.f.Close() // thrown away, or closed already
	os.Remove(p.f.Name())
}

// commit makes the pack durable in dir.
func (p *packWriter) commit(dir string) (err error) {
	defer p.abort()
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	if err := p.f.Sync(); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	idx := p.index()
	tmp := p.f.Name() + ".idx"
	defer os.Remove(tmp)
	if err := os.WriteFile(tmp, idx, 0o600); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	if err := syncFile(tmp); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	id := filepath.Join(dir, domain.NewID(""))
	if err := p.f.Close(); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	if err := os.Rename(p.f.Name(), id+".pack"); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	if err := os.Rename(tmp, id+".idx"); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return nil
}

func (p *packWriter) index() []byte {
	rows := slices.Collect(slices.Chunk(p.entries, idxEntry))
	slices.SortFunc(rows, bytes.Compare)
	out := append(make([]byte, 0, len(idxMagic)+len(p.entries)+sha256.Size), idxMagic...)
	for _, r := range rows {
		out = append(out, r...)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...)
}

// packs is the read side: the indexes of all packs, read when first needed and
// again when the folder has changed.
type packs struct {
	dir string

	mu      sync.Mutex
	loaded  time.Time // modification time of the folder when it was read
	idx     map[string][]byte
	touched map[string]time.Time
}

func newPacks(dir string) *packs {
	return &packs{dir: dir, idx: map[string][]byte{}, touched: map[string]time.Time{}}
}

// refresh makes the next look-up read the folder again.
func (p *packs) refresh() {
	p.mu.Lock()
	p.loaded = time.Time{}
	p.mu.Unlock()
}

// find looks a blob up in all packs.
func (p *packs) find(h domain.Hash) (packLoc, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load()
	for id, idx := range p.idx {
		n := len(idx) / idxEntry
		i := sort.Search(n, func(i int) bool { return bytes.Compare(idx[i*idxEntry:i*idxEntry+32], h[:]) >= 0 })
		if i < n && bytes.Equal(idx[i*idxEntry:i*idxEntry+32], h[:]) {
			e := idx[i*idxEntry:]
			return packLoc{id, int64(binary.BigEndian.Uint64(e[32:])), int64(binary.BigEndian.Uint64(e[40:]))}, true
		}
	}
	return packLoc{}, false
}

// load reads indexes that are new and forgets those that are gone; p.mu is held.
func (p *packs) load() {
	fi, err := os.Stat(p.dir)
	if err != nil || fi.ModTime().Equal(p.loaded) {
		return
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return
	}
	there := map[string]bool{}
	for _, e := range entries {
		id, ok := strings.CutSuffix(strings.TrimSuffix(e.Name(), gcSuffix), ".idx")
		if !ok {
			continue
		}
		there[id] = true
		if p.idx[id] != nil {
			continue
		}
		if idx := readIndex(filepath.Join(p.dir, e.Name())); idx != nil {
			p.idx[id] = idx
		}
	}
	for id := range p.idx {
		if !there[id] {
			delete(p.idx, id)
		}
	}
	// A folder changed within the clock's granularity of now may change again
	// without its time moving: read it again then.
	if time.Since(fi.ModTime()) > 2*time.Second {
		p.loaded = fi.ModTime()
	}
}

// readIndex returns the entries of a whole index, nil for a damaged one: its
// blobs then count as not stored and are put anew.
func readIndex(path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil || len(b) < len(idxMagic)+sha256.Size || string(b[:len(idxMagic)]) != idxMagic {
		return nil
	}
	body := b[:len(b)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], b[len(body):]) || (len(body)-len(idxMagic))%idxEntry != 0 {
		return nil
	}
	return body[len(idxMagic):]
}

// renew spares the pack from GC. False: it is gone, write the blob anew.
func (p *packs) renew(loc packLoc) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if last, ok := p.touched[loc.id]; ok && now.Sub(last) < touchEvery {
		return true, nil
	}
	path := filepath.Join(p.dir, loc.id+".idx")
	if err := os.Chtimes(path, now, now); err != nil {
		delete(p.idx, loc.id)
		p.loaded = time.Time{}
		return false, nil //nolint:nilerr // GC has just taken it
	}
	if _, ok := p.touched[loc.id]; !ok {
		if err := syncDir(p.dir); err != nil {
			return false, fmt.Errorf("put blob: %w", err)
		}
	}
	p.touched[loc.id] = now
	return true, nil
}

// open returns a reader of a packed blob, nil when there is none.
func (p *packs) open(h domain.Hash) (io.Reader, io.Closer, error) {
	for range 2 {
		loc, ok := p.find(h)
		if !ok {
			return nil, nil, nil
		}
		f, err := os.Open(filepath.Join(p.dir, loc.id+".pack"))
		if err == nil {
			return io.NewSectionReader(f, loc.offset, loc.size), f, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		p.mu.Lock()
		delete(p.idx, loc.id)
		p.loaded = time.Time{}
		p.mu.Unlock()
	}
	return nil, nil, nil
}

// gc removes packs of which nothing is kept.
func (p *packs) gc(cutoff time.Time, keep func(domain.Hash) bool, res *GCResult) error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	valid := map[string]bool{}
	for _, e := range entries {
		name, aside := strings.CutSuffix(e.Name(), gcSuffix)
		id, ok := strings.CutSuffix(name, ".idx")
		if !ok {
			continue
		}
		removed, err := p.collect(id, aside, cutoff, keep, res)
		if err != nil {
			return err
		}
		valid[id] = !removed
	}
	for _, e := range entries { // packs whose index was never written, or is gone
		id, ok := strings.CutSuffix(e.Name(), ".pack")
		if !ok || valid[id] {
			continue
		}
		if fi, err := e.Info(); err == nil && fi.ModTime().Before(cutoff) {
			os.Remove(filepath.Join(p.dir, e.Name()))
		}
	}
	p.mu.Lock()
	clear(p.touched)
	p.loaded = time.Time{}
	p.mu.Unlock()
	return nil
}

// collect removes one pack if it can go.
func (p *packs) collect(id string, aside bool, cutoff time.Time, keep func(domain.Hash) bool, res *GCResult) (bool, error) {
	path := filepath.Join(p.dir, id+".idx")
	cur := path
	if aside {
		cur += gcSuffix
	}
	idx := readIndex(cur)
	var size int64
	kept := 0
	for e := range slices.Chunk(idx, idxEntry) {
		size += int64(binary.BigEndian.Uint64(e[40:]))
		if keep(domain.Hash(e[:32])) {
			kept++
		}
	}
	fi, err := os.Stat(cur)
	if err != nil {
		return false, skipGone(err)
	}
	if kept > 0 || fi.ModTime().After(cutoff) {
		res.Kept += len(idx) / idxEntry
		if aside {
			return false, skipGone(os.Rename(cur, path))
		}
		return false, nil
	}
	if !aside {
		if err := os.Rename(path, path+gcSuffix); err != nil {
			return false, skipGone(err)
		}
		if fi, err = os.Stat(path + gcSuffix); err != nil {
			return false, skipGone(err)
		}
		if fi.ModTime().After(cutoff) { // put again in between
			return false, skipGone(os.Rename(path+gcSuffix, path))
		}
	}
	if err := os.Remove(path + gcSuffix); err != nil {
		return false, skipGone(err)
	}
	if err := os.Remove(filepath.Join(p.dir, id+".pack")); err != nil {
		return true, skipGone(err)
	}
	res.Removed += len(idx) / idxEntry
	res.Bytes += size
	return true, nil
}
