package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"worksite/backend/blob"
	"worksite/backend/domain"
	"worksite/backend/workspace/git"
	"worksite/backend/workspace/scan"
)

// Config opens a store.
type Config struct {
	Dir string           // the data folder
	Now func() time.Time // nil: time.Now
	// Home is the person's home folder, which cannot be a workspace; "" asks the system.
	Home string
	// Limits of what snapshots keep; zero values are the defaults.
	Limits scan.Limits
	// Poll is how often a watch looks where the system cannot notify; 0: 2 s.
	Poll time.Duration
	// Git finds and runs git; the zero value uses the PATH.
	Git git.Config
}

// Store keeps the known workspaces. It is safe for several goroutines and processes.
type Store struct {
	dir    string
	home   string
	now    func() time.Time
	limits scan.Limits
	poll   time.Duration
	db     *database
	blobs  *blob.Store
	git    *git.Git

	mu       sync.Mutex
	scanners map[domain.WorkspaceID]*scan.Scanner
	trees    map[domain.Hash]scan.Tree // decoded snapshots, few
	diffs    *diffCache
	applying sync.Mutex // one Apply at a time in this process

	watchers sync.WaitGroup
	done     chan struct{}
	close    sync.Once
}

// Open opens the store in the data folder. A damaged database is set aside whole
// and said in [Store.Notices]; it never stops the start.
func Open(c Config) (*Store, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Poll == 0 {
		c.Poll = 2 * time.Second
	}
	if c.Home == "" {
		c.Home, _ = os.UserHomeDir() // none: then there is none to protect
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("open workspaces: %w", err)
	}
	for _, d := range []string{dir, filepath.Join(dir, "scan")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("open workspaces: %w", err)
		}
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("open workspaces: %w", err)
	}
	s := &Store{
		dir: dir, home: c.Home, now: c.Now, limits: c.Limits, poll: c.Poll, git: git.New(c.Git),
		scanners: map[domain.WorkspaceID]*scan.Scanner{}, trees: map[domain.Hash]scan.Tree{}, diffs: newDiffCache(),
		done: make(chan struct{}),
	}
	if s.blobs, err = blob.New(filepath.Join(dir, "preimages")); err != nil {
		return nil, fmt.Errorf("open workspaces: %w", err)
	}
	if s.db, err = openDatabase(filepath.Join(dir, "workspaces.db"), c.Now); err != nil {
		return nil, fmt.Errorf("open workspaces: %w", err)
	}
	return s, nil
}

// Notices says what the person should know about the state that was found.
func (s *Store) Notices() []string { return s.db.notices }

// Close ends all watches, writes the caches and closes the database.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() {
		close(s.done)
		s.watchers.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, sc := range s.scanners {
			err = errors.Join(err, sc.Close())
		}
		err = errors.Join(err, s.db.Close())
	})
	return err
}

// Blob opens the bytes of a kept version by hash; reading them to the end verifies them.
func (s *Store) Blob(h domain.Hash) (io.ReadCloser, error) { return s.blobs.Open(h) }

// scanner returns the one scanner of a workspace in this process.
func (s *Store) scanner(id domain.WorkspaceID) *scan.Scanner {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.scanners[id]
	if sc == nil {
		sc = scan.New(s.blobs, filepath.Join(s.dir, "scan", string(id)+".idx"), s.limits, time.Now) // the clock that stamps files, whatever Config.Now says
		s.scanners[id] = sc
	}
	return sc
}

// tree reads a stored snapshot.
func (s *Store) tree(h domain.Hash) (scan.Tree, error) {
	s.mu.Lock()
	t, ok := s.trees[h]
	s.mu.Unlock()
	if ok {
		return t, nil
	}
	b, err := s.blobs.Read(h, 0)
	if err != nil {
		return scan.Tree{}, fmt.Errorf("read snapshot: %w", err)
	}
	if t, err = scan.Decode(b); err != nil {
		return scan.Tree{}, fmt.Errorf("read snapshot: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.trees) >= 4 {
		clear(s.trees)
	}
	s.trees[h] = t
	return t, nil
}

// GC removes pre-images that no session refers to any more and nobody has put for
// an hour.
func (s *Store) GC(ctx context.Context) (blob.GCResult, error) {
	keep, err := s.referenced(ctx)
	if err != nil {
		return blob.GCResult{}, fmt.Errorf("collect pre-images: %w", err)
	}
	return s.blobs.GC(ctx, s.now(), func(h domain.Hash) bool { return keep[h] })
}

// referenced lists every blob in use: of snapshots, images, review bases and the
// caches, which promise that what they know is kept.
func (s *Store) referenced(ctx context.Context) (map[domain.Hash]bool, error) {
	keep, trees, err := s.db.referenced(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range trees {
		keep[h] = true
		b, err := s.blobs.Read(h, 0)
		if err != nil {
			return nil, err
		}
		t, err := scan.Decode(b)
		if err != nil {
			return nil, err
		}
		for h := range t.KeptHashes() {
			keep[h] = true
		}
	}
	ids, err := s.db.ids(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		for h := range s.scanner(id).Last().KeptHashes() {
			keep[h] = true
		}
	}
	return keep, nil
}
