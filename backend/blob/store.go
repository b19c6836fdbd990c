package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
)

// Grace is how long an unreferenced blob is spared by [Store.GC]: long enough
// that whoever put it has recorded the reference.
const Grace = time.Hour

// touchEvery bounds how often a blob's time is renewed when it is put again; it
// must stay well below Grace.
const touchEvery = 10 * time.Minute

// seenMax bounds the memory of what this process knows to be durable.
const seenMax = 1 << 17

// Store is a folder of blobs. It is safe for use by several goroutines.
type Store struct {
	dir   string
	packs *packs

	mu   sync.Mutex
	seen map[domain.Hash]time.Time // known durable, and when its time was last renewed
}

// New opens the store in dir, which is created when it is not there.
func New(dir string) (*Store, error) {
	for _, d := range []string{dir, filepath.Join(dir, "sha256"), filepath.Join(dir, "tmp"), filepath.Join(dir, "pack")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("open blob store: %w", err)
		}
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	return &Store{dir: dir, packs: newPacks(filepath.Join(dir, "pack")), seen: map[domain.Hash]time.Time{}}, nil
}

// Put stores all of r and returns its hash and size.
func (s *Store) Put(ctx context.Context, r io.Reader) (domain.Hash, int64, error) {
	it, err := s.write(ctx, r)
	if err != nil {
		return domain.Hash{}, 0, err
	}
	defer os.Remove(it.tmp)
	return it.hash, it.size, s.commit(it)
}

// PutBytes stores b and returns its hash.
func (s *Store) PutBytes(ctx context.Context, b []byte) (domain.Hash, error) {
	h := domain.HashBytes(b)
	if ok, err := s.renew(h, int64(len(b)), true); ok || err != nil {
		return h, err
	}
	it, err := s.writeBytes(ctx, h, b)
	if err != nil {
		return h, err
	}
	defer os.Remove(it.tmp)
	return h, s.commit(it)
}

// Renew reports whether a blob of this size is stored durably, and spares it from GC
// for another [Grace]: it saves reading what need not be put.
func (s *Store) Renew(h domain.Hash, size int64) (bool, error) { return s.renew(h, size, true) }

// PutMany stores several byte strings with as few flushes of the disk as possible.
func (s *Store) PutMany(ctx context.Context, blobs [][]byte) ([]domain.Hash, error) {
	batch := s.Batch()
	defer batch.Abort()
	out := make([]domain.Hash, len(blobs))
	for i, b := range blobs {
		out[i] = domain.HashBytes(b)
		if err := batch.PutBytes(ctx, out[i], b); err != nil {
			return nil, err
		}
	}
	return out, batch.Commit(ctx)
}

// Has reports whether the blob is there. It does not read it.
func (s *Store) Has(h domain.Hash) bool {
	_, ok := s.Size(h)
	return ok
}

// Size returns the blob's length in bytes, and whether it is there.
func (s *Store) Size(h domain.Hash) (int64, bool) {
	if fi, err := os.Stat(s.path(h)); err == nil {
		return fi.Size(), true
	}
	if loc, ok := s.packs.find(h); ok {
		return loc.size, true
	}
	return 0, false
}

// Open returns the blob's bytes. Reading to the end verifies them.
func (s *Store) Open(h domain.Hash) (io.ReadCloser, error) {
	for _, p := range []string{s.path(h), s.path(h) + gcSuffix, s.path(h)} {
		f, err := os.Open(p)
		if err == nil {
			return &verified{r: f, c: f, sum: sha256.New(), want: h}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open blob: %w", err)
		}
	}
	r, c, err := s.packs.open(h)
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	if r == nil {
		return nil, domain.Errorf(domain.CodeNotFound, "blob %s is not stored here", h)
	}
	return &verified{r: r, c: c, sum: sha256.New(), want: h}, nil
}

// Read returns all bytes of a blob, verified. A blob longer than limit is
// CodeTooLarge (limit 0: no bound).
func (s *Store) Read(h domain.Hash, limit int64) ([]byte, error) {
	size, ok := s.Size(h)
	if ok && limit > 0 && size > limit {
		return nil, domain.Errorf(domain.CodeTooLarge, "blob %s has %d bytes, more than %d", h, size, limit)
	}
	r, err := s.Open(h)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	buf := make([]byte, 0, size+1)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// Verify reads the whole blob and reports whether it still matches its name.
func (s *Store) Verify(h domain.Hash) error {
	r, err := s.Open(h)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

func (s *Store) path(h domain.Hash) string {
	name := h.String()
	return filepath.Join(s.dir, "sha256", name[:2], name)
}

// renew reports whether the blob is there with this size, and spares it from GC
// for another Grace. With durable it also makes sure, once per process, that what
// another process may just have renamed into place is on disk.
func (s *Store) renew(h domain.Hash, size int64, durable bool) (bool, error) {
	s.mu.Lock()
	last, known := s.seen[h]
	s.mu.Unlock()
	path := s.path(h)
	if fi, err := os.Stat(path); err != nil || fi.Size() != size {
		if loc, ok := s.packs.find(h); ok && loc.size == size {
			return s.packs.renew(loc)
		}
		return false, nil // not there, or damaged: it is written anew
	}
	now := time.Now()
	if known && now.Sub(last) < touchEvery {
		return true, nil
	}
	if err := os.Chtimes(path, now, now); err != nil {
		return false, nil //nolint:nilerr // GC has just taken it: write it anew
	}
	if !durable {
		return true, nil
	}
	if !known {
		if err := syncFile(path); errors.Is(err, fs.ErrNotExist) {
			return false, nil // GC looks at it aside: write it anew, which harms nothing
		} else if err != nil {
			return false, fmt.Errorf("put blob: %w", err)
		}
		if err := syncDir(filepath.Dir(path)); err != nil {
			return false, fmt.Errorf("put blob: %w", err)
		}
	}
	s.remember(h, now)
	return true, nil
}

func (s *Store) remember(h domain.Hash, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) >= seenMax {
		clear(s.seen)
	}
	s.seen[h] = at
}

// item is a blob written to a temporary file and not yet in its place.
type item struct {
	tmp  string
	hash domain.Hash
	size int64
}

func (s *Store) write(ctx context.Context, r io.Reader) (it item, err error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "blob-*")
	if err != nil {
		return it, fmt.Errorf("put blob: %w", err)
	}
	it.tmp = f.Name()
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("put blob: %w", cerr)
		}
		if err != nil {
			os.Remove(it.tmp)
		}
	}()
	sum := sha256.New()
	if it.size, err = io.Copy(io.MultiWriter(f, sum), &ctxReader{ctx, r}); err != nil {
		return it, fmt.Errorf("put blob: %w", err)
	}
	sum.Sum(it.hash[:0])
	return it, nil
}

func (s *Store) writeBytes(ctx context.Context, h domain.Hash, b []byte) (it item, err error) {
	if err := ctx.Err(); err != nil {
		return it, err
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "blob-*")
	if err != nil {
		return it, fmt.Errorf("put blob: %w", err)
	}
	it = item{tmp: f.Name(), hash: h, size: int64(len(b))}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(it.tmp)
		return it, fmt.Errorf("put blob: %w", err)
	}
	return it, nil
}

// commit makes one written item durable under its name.
func (s *Store) commit(it item) error {
	if ok, err := s.renew(it.hash, it.size, true); ok || err != nil {
		return err
	}
	if err := syncFile(it.tmp); err != nil {
		return fmt.Errorf("put blob: %w", err)
	}
	dir, err := s.place(it)
	if err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("put blob: %w", err)
	}
	s.remember(it.hash, time.Now())
	return nil
}

// place renames a flushed temporary file to its name and returns the folder whose
// entry must be flushed next.
func (s *Store) place(it item) (dir string, err error) {
	path := s.path(it.hash)
	dir = filepath.Dir(path)
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := syncDir(filepath.Dir(dir)); err != nil {
			return dir, fmt.Errorf("put blob: %w", err)
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return dir, fmt.Errorf("put blob: %w", err)
	}
	failpoint.Reach(failpoint.BlobBeforeRename)
	if err := os.Rename(it.tmp, path); err != nil {
		return dir, fmt.Errorf("put blob: %w", err)
	}
	failpoint.Reach(failpoint.BlobAfterRename)
	return dir, nil
}

// ctxReader ends a long copy when the context does.
type ctxReader struct {
	ctx context.Context //nolint:containedctx // lives for one copy
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
