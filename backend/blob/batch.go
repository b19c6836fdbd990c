package blob

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"worksite/backend/domain"
)

// Thresholds of a batch.
const (
	packMin   = 256       // from this many small blobs on they are packed into one file
	packSmall = 256 << 10 // what counts as small, bytes
	syncEach  = 32        // up to this many files are flushed one by one, more by one syncfs
)

// Batch collects blobs and makes them durable together. Until Commit nothing of
// it can be read. Its methods are safe for several goroutines.
type Batch struct {
	s *Store

	mu    sync.Mutex
	have  map[domain.Hash]bool
	small map[domain.Hash][]byte // waits: packed when many, else single files
	bytes int64                  // in small
	pack  *packWriter
	items []item
}

// Batch begins a batch; end it with Commit or Abort (calling both is fine).
func (s *Store) Batch() *Batch {
	return &Batch{s: s, have: map[domain.Hash]bool{}, small: map[domain.Hash][]byte{}}
}

// PutBytes adds data, whose hash the caller has already computed. The batch may
// keep a copy of data; the caller may reuse the slice.
func (b *Batch) PutBytes(ctx context.Context, h domain.Hash, data []byte) error {
	b.mu.Lock()
	dup := b.have[h]
	b.have[h] = true
	b.mu.Unlock()
	if dup {
		return nil
	}
	if ok, err := b.s.renew(h, int64(len(data)), true); ok || err != nil {
		return err
	}
	if len(data) > packSmall {
		it, err := b.s.writeBytes(ctx, h, data)
		if err != nil {
			return err
		}
		b.mu.Lock()
		b.items = append(b.items, it)
		b.mu.Unlock()
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pack != nil {
		return b.pack.add(h, data)
	}
	b.small[h] = append([]byte(nil), data...)
	b.bytes += int64(len(data))
	if len(b.small) < packMin && b.bytes < 16<<20 {
		return nil
	}
	return b.startPack()
}

// startPack moves the waiting small blobs into a pack; b.mu is held.
func (b *Batch) startPack() error {
	w, err := newPackWriter(filepath.Join(b.s.dir, "tmp"))
	if err != nil {
		return err
	}
	b.pack = w
	for h, data := range b.small {
		if err := w.add(h, data); err != nil {
			return err
		}
	}
	b.small, b.bytes = nil, 0
	return nil
}

// Commit makes everything that was put durable and readable.
func (b *Batch) Commit(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for h, data := range b.small {
		it, err := b.s.writeBytes(ctx, h, data)
		if err != nil {
			return err
		}
		b.items = append(b.items, it)
	}
	clear(b.small)
	if err := b.place(); err != nil {
		return err
	}
	if b.pack != nil {
		p := b.pack
		b.pack = nil
		if err := p.commit(filepath.Join(b.s.dir, "pack")); err != nil {
			return err
		}
		b.s.packs.refresh()
	}
	return nil
}

// place flushes the single files, gives them their names and flushes those.
func (b *Batch) place() error {
	if len(b.items) == 0 {
		return nil
	}
	if err := b.flush(func(it item) string { return it.tmp }, syncFile); err != nil {
		return err
	}
	dirs := map[string]bool{}
	for _, it := range b.items {
		dir, err := b.s.place(it)
		if err != nil {
			return err
		}
		dirs[dir] = true
	}
	if err := b.flush(func(it item) string { return filepath.Dir(b.s.path(it.hash)) }, syncDir); err != nil {
		return err
	}
	now := time.Now()
	for _, it := range b.items {
		b.s.remember(it.hash, now)
	}
	b.items = nil
	return nil
}

// flush makes the named files or folders durable: each by itself when few, the
// whole file system when many.
func (b *Batch) flush(name func(item) string, each func(string) error) error {
	if len(b.items) > syncEach {
		if done, err := syncFS(b.s.dir); err != nil {
			return fmt.Errorf("put blobs: %w", err)
		} else if done {
			return nil
		}
	}
	done := map[string]bool{}
	for _, it := range b.items {
		n := name(it)
		if done[n] {
			continue
		}
		done[n] = true
		if err := each(n); err != nil {
			return fmt.Errorf("put blobs: %w", err)
		}
	}
	return nil
}

// Abort throws away what was not committed.
func (b *Batch) Abort() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, it := range b.items {
		os.Remove(it.tmp)
	}
	b.items = nil
	clear(b.small)
	if b.pack != nil {
		b.pack.abort()
		b.pack = nil
	}
}
