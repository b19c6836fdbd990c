package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"worksite/backend/domain"
)

// gcSuffix marks a blob that GC has taken aside to look once more at its time.
const gcSuffix = ".gc"

// GCResult says what a collection removed.
type GCResult struct {
	Removed int   `json:"removed"`
	Bytes   int64 `json:"bytes"`
	Kept    int   `json:"kept"`
}

// GC removes every blob for which keep is false and which nobody has put for
// [Grace]. A pack goes when none of its blobs is kept.
func (s *Store) GC(ctx context.Context, now time.Time, keep func(domain.Hash) bool) (GCResult, error) {
	var res GCResult
	cutoff := now.Add(-Grace)
	if err := s.sweepTemp(cutoff); err != nil {
		return res, err
	}
	err := filepath.WalkDir(filepath.Join(s.dir, "sha256"), func(path string, d fs.DirEntry, err error) error {
		if cerr := ctx.Err(); cerr != nil {
			return cerr
		}
		if err != nil || d.IsDir() {
			return skipGone(err)
		}
		name, aside := strings.CutSuffix(d.Name(), gcSuffix)
		h, err := domain.ParseHash(name)
		if err != nil {
			return nil //nolint:nilerr // not ours: leave it
		}
		if aside { // a collection was killed between its two steps
			return s.decide(path, strings.TrimSuffix(path, gcSuffix), cutoff, keep(h), &res)
		}
		fi, err := d.Info()
		if err != nil {
			return skipGone(err)
		}
		if keep(h) || fi.ModTime().After(cutoff) {
			res.Kept++
			return nil
		}
		if err := os.Rename(path, path+gcSuffix); err != nil {
			return skipGone(err)
		}
		return s.decide(path+gcSuffix, path, cutoff, false, &res)
	})
	if err != nil {
		return res, fmt.Errorf("collect blobs: %w", err)
	}
	if err := s.packs.gc(cutoff, keep, &res); err != nil {
		return res, fmt.Errorf("collect blobs: %w", err)
	}
	s.mu.Lock()
	clear(s.seen)
	s.mu.Unlock()
	return res, nil
}

// decide removes a blob taken aside unless somebody has put it in the meantime:
// whoever renewed its time before it was taken aside finds it back in its place,
// whoever came later did not see it and has written it anew.
func (s *Store) decide(aside, path string, cutoff time.Time, keep bool, res *GCResult) error {
	fi, err := os.Stat(aside)
	if err != nil {
		return skipGone(err)
	}
	if keep || fi.ModTime().After(cutoff) {
		res.Kept++
		return skipGone(os.Rename(aside, path))
	}
	if err := os.Remove(aside); err != nil {
		return skipGone(err)
	}
	res.Removed++
	res.Bytes += fi.Size()
	return nil
}

// sweepTemp removes what killed writers left behind.
func (s *Store) sweepTemp(cutoff time.Time) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, "tmp"))
	if err != nil {
		return fmt.Errorf("collect blobs: %w", err)
	}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && fi.ModTime().Before(cutoff) {
			os.Remove(filepath.Join(s.dir, "tmp", e.Name()))
		}
	}
	return nil
}

func skipGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
