package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"worksite/backend/domain"
	"worksite/backend/workspace/rooted"
	"worksite/backend/workspace/scan"
)

// Notice says that something in a workspace moved.
type Notice struct {
	Paths []string // what changed, sorted; at most maxPaths
	More  bool     // there is more than Paths: look at everything
	Gone  bool     // the folder itself went
	Git   bool     // something was staged or committed, or another branch is checked out
	// Degraded says why changes are noticed late from now on, "" while they are not.
	Degraded string
}

const (
	coalesce = 150 * time.Millisecond // quiet time that ends a burst
	longest  = time.Second            // a burst that does not end is told nevertheless
	maxPaths = 1000
)

// Watch tells what changes in a workspace after it has returned, in bursts, until
// ctx ends or the store is closed; then the channel is closed. A slow reader loses nothing: what it did
// not fetch is added to the next notice. Ignored files are not told. Where the
// system's watches are used up the folder is looked at every few seconds, and the
// first notice says so.
func (s *Store) Watch(ctx context.Context, id domain.WorkspaceID) (<-chan Notice, error) {
	h, err := s.Handle(ctx, id)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.done:
		_ = h.Close()
		return nil, domain.Errorf(domain.CodeUnavailable, "the app is closing")
	default:
	}
	w := &watch{h: h, poll: s.poll, out: make(chan Notice), done: s.done}
	if r, err := s.git.Find(h.Root()); err == nil {
		w.gitDir = r.Dir()
	}
	if why := w.start(ctx); why != "" {
		w.degrade(ctx, why)
	}
	s.watchers.Go(func() {
		defer close(w.out)
		defer func() { _ = h.Close() }()
		w.run(ctx)
	})
	return w.out, nil
}

// watch is one running Watch.
type watch struct {
	h    *Handle
	poll time.Duration
	out  chan Notice
	done <-chan struct{}

	gitDir  string // Git's folder for this work tree, "" without one
	fs      *fsnotify.Watcher
	folders map[string]bool // watched, by path inside the workspace
	pending Notice
	begun   time.Time // of the burst in pending
	touched time.Time
	seen    map[string]mark // when polling
}

// mark is what polling compares.
type mark struct {
	size, mtime int64
	mode        fs.FileMode
}

func (w *watch) run(ctx context.Context) {
	defer func() {
		if w.fs != nil {
			_ = w.fs.Close()
		}
	}()
	tick := time.NewTicker(w.poll)
	defer tick.Stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var events chan fsnotify.Event
		var failures chan error
		var polls <-chan time.Time
		if w.fs != nil {
			events, failures = w.fs.Events, w.fs.Errors
		} else {
			polls = tick.C
		}
		var out chan Notice
		if !w.pending.empty() {
			if wait := w.wait(); wait <= 0 {
				out = w.out
			} else {
				timer.Reset(wait)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-w.done:
			return
		case out <- w.pending:
			w.pending = Notice{}
		case <-timer.C:
		case e, ok := <-events:
			if !ok {
				return
			}
			w.event(ctx, e)
		case err, ok := <-failures:
			if !ok {
				return
			}
			w.failure(ctx, err)
		case <-polls:
			w.look(ctx)
		}
	}
}

func (n *Notice) empty() bool {
	return len(n.Paths) == 0 && !n.More && !n.Gone && !n.Git && n.Degraded == ""
}

// wait is how long until the pending burst is told.
func (w *watch) wait() time.Duration {
	if w.pending.Degraded != "" {
		return 0
	}
	quiet := time.Until(w.touched.Add(coalesce))
	return min(quiet, time.Until(w.begun.Add(longest)))
}

// moved notes the time of a change.
func (w *watch) moved() {
	now := time.Now()
	if w.pending.empty() {
		w.begun = now
	}
	w.touched = now
}

func (w *watch) touch(rel string) {
	w.moved()
	i, found := slices.BinarySearch(w.pending.Paths, rel)
	switch {
	case found:
	case len(w.pending.Paths) >= maxPaths:
		w.pending.More = true
	default:
		w.pending.Paths = slices.Insert(w.pending.Paths, i, rel)
	}
}

// start watches all folders; it returns why it cannot.
func (w *watch) start(ctx context.Context) string {
	var err error
	if w.fs, err = fsnotify.NewWatcher(); err != nil {
		w.fs = nil
		return reason(err)
	}
	w.folders = map[string]bool{}
	if w.gitDir != "" {
		if err := w.fs.Add(w.gitDir); err != nil {
			return reason(err)
		}
	}
	return w.add(ctx, ".", false)
}

// add watches a folder and those below it; with tell, what is in them is new.
func (w *watch) add(ctx context.Context, rel string, tell bool) string {
	if err := w.watch(rel); err != nil {
		return reason(err)
	}
	var failed error
	err := w.h.Walk(ctx, rel, false, func(p string, d fs.DirEntry) error {
		if tell {
			w.touch(p)
		}
		if d.IsDir() {
			failed = w.watch(p)
		}
		return failed
	})
	if failed != nil {
		return reason(failed)
	}
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound && ctx.Err() == nil {
		return reason(err)
	}
	return ""
}

func (w *watch) watch(rel string) error {
	if w.folders[rel] {
		return nil
	}
	err := w.fs.Add(filepath.Join(w.h.Root(), filepath.FromSlash(rel)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // gone again, or none of our business
	}
	if err == nil {
		w.folders[rel] = true
	}
	return err
}

func reason(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "the system's limit of watched folders is used up (fs.inotify.max_user_watches)"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "the system's limit of watchers is used up (fs.inotify.max_user_instances)"
	}
	return "the system does not notify of changes here: " + err.Error()
}

// degrade goes over to polling.
func (w *watch) degrade(ctx context.Context, why string) {
	if w.fs != nil {
		_ = w.fs.Close()
		w.fs = nil
	}
	w.pending.Degraded = why + "; changes are noticed every " + w.poll.String()
	w.touched, w.begun = time.Now(), time.Now()
	w.seen = w.marks(ctx)
}

func (w *watch) failure(ctx context.Context, err error) {
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		w.touch(".")
		w.pending.More = true
		return
	}
	w.degrade(ctx, reason(err))
}

func (w *watch) event(ctx context.Context, e fsnotify.Event) {
	if w.gitDir != "" && filepath.Dir(e.Name) == w.gitDir {
		if n := filepath.Base(e.Name); n == "HEAD" || n == "index" {
			w.moved()
			w.pending.Git = true
		}
		return
	}
	rel, err := filepath.Rel(w.h.Root(), e.Name)
	if err != nil {
		return
	}
	rel = filepath.ToSlash(rel)
	if rel == "." {
		if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
			w.gone()
		}
		return
	}
	name := path.Base(rel)
	if scan.InGit(rel) || rooted.IsTemp(name) || e.Op == fsnotify.Chmod && w.folders[rel] {
		return
	}
	fi, err := w.h.root.FS().Lstat(filepath.FromSlash(rel))
	isDir := err == nil && fi.IsDir()
	if isDir || w.folders[rel] {
		if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
			w.drop(rel)
		}
	}
	if scan.Ignored(w.h.root, rel, isDir) {
		return
	}
	w.touch(rel)
	if isDir && e.Has(fsnotify.Create) {
		if why := w.add(ctx, rel, true); why != "" {
			w.degrade(ctx, why)
		}
	}
}

// drop forgets a folder that went, with those below it.
func (w *watch) drop(rel string) {
	for d := range w.folders {
		if d == rel || strings.HasPrefix(d, rel+"/") {
			delete(w.folders, d)
			_ = w.fs.Remove(filepath.Join(w.h.Root(), filepath.FromSlash(d))) // gone by itself, mostly
		}
	}
}

func (w *watch) gone() {
	if _, err := os.Lstat(w.h.Root()); err == nil && w.h.Check() == nil {
		return
	}
	w.touch(".")
	w.pending.Gone = true
}

// marks lists what is there, for polling.
func (w *watch) marks(ctx context.Context) map[string]mark {
	out := map[string]mark{}
	err := w.h.Walk(ctx, ".", false, func(p string, d fs.DirEntry) error {
		if fi, err := d.Info(); err == nil && !d.IsDir() {
			out[p] = mark{fi.Size(), fi.ModTime().UnixNano(), fi.Mode()}
		}
		return nil
	})
	if err != nil {
		return w.seen // cut short: not a fair comparison
	}
	return out
}

// look compares the folder with the last look.
func (w *watch) look(ctx context.Context) {
	if w.h.Check() != nil {
		if !w.pending.Gone {
			w.gone()
		}
		return
	}
	now := w.marks(ctx)
	for p, m := range now {
		if was, ok := w.seen[p]; !ok || was != m {
			w.touch(p)
		}
	}
	for p := range w.seen {
		if _, ok := now[p]; !ok {
			w.touch(p)
		}
	}
	w.seen = now
}
