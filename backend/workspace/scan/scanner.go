package scan

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"worksite/backend/blob"
	"worksite/backend/domain"
	"worksite/backend/workspace/ignore"
	"worksite/backend/workspace/rooted"
)

// Limits of what a scan keeps and reads. Zero values are the defaults.
type Limits struct {
	KeepFile int64 // content of a larger file is not kept; default 8 MiB
	KeepAll  int64 // of all files of a workspace together; default 1 GiB
	ReadFile int64 // a larger file is judged by size and time; default 64 MiB
}

func (l Limits) withDefaults() Limits {
	if l.KeepFile == 0 {
		l.KeepFile = 8 << 20
	}
	if l.KeepAll == 0 {
		l.KeepAll = 1 << 30
	}
	if l.ReadFile == 0 {
		l.ReadFile = 64 << 20
	}
	return l
}

// Scanner takes snapshots of one workspace and remembers the last one.
type Scanner struct {
	blobs  *blob.Store
	index  string
	limits Limits
	now    func() time.Time

	mu     sync.Mutex // one scan at a time
	loaded bool
	last   Tree
	git    tracked
	dirty  int // files hashed since the index was written
}

// New returns a scanner that keeps contents in blobs and its cache in the file
// index, which may be deleted at any time.
func New(blobs *blob.Store, index string, limits Limits, now func() time.Time) *Scanner {
	return &Scanner{blobs: blobs, index: index, limits: limits.withDefaults(), now: now}
}

// Scan takes a snapshot.
func (s *Scanner) Scan(ctx context.Context, root *rooted.Root) (Tree, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	s.git.load(root)
	w := &walker{s: s, root: root.FS(), prev: s.last, ctx: ctx}
	folders, err := w.walk(ignoreRoot(root.FS()))
	if err != nil {
		return Tree{}, fmt.Errorf("scan workspace: %w", err)
	}
	t := Tree{folders: folders}
	if err := s.hash(ctx, root.FS(), &t); err != nil {
		return Tree{}, fmt.Errorf("scan workspace: %w", err)
	}
	t.seal()
	s.last = t
	if s.dirty > 1000 || s.dirty*20 > t.sum.Files {
		s.save()
	}
	return t, nil
}

// Last returns the newest snapshot that is known, which may be of an earlier process.
func (s *Scanner) Last() Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	return s.last
}

// Close writes the cache.
func (s *Scanner) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.save()
	return nil
}

// load reads the cache once; a damaged one counts as none.
func (s *Scanner) load() {
	if s.loaded {
		return
	}
	s.loaded = true
	b, err := os.ReadFile(s.index)
	if err != nil || len(b) < sha256.Size {
		return
	}
	body := b[:len(b)-sha256.Size]
	if sha256.Sum256(body) != [sha256.Size]byte(b[len(body):]) {
		return
	}
	if t, err := decode(body); err == nil {
		s.last = t
	}
}

// save writes the cache. That it cannot be written only costs time later.
func (s *Scanner) save() {
	if s.dirty == 0 {
		return
	}
	b := s.last.encode(true)
	sum := sha256.Sum256(b)
	f, err := os.CreateTemp(filepath.Dir(s.index), filepath.Base(s.index)+"-*")
	if err != nil {
		return
	}
	_, err = f.Write(append(b, sum[:]...))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), s.index)
	}
	if err != nil {
		os.Remove(f.Name())
		return
	}
	s.dirty = 0
}

func ignoreRoot(root *os.Root) *ignore.Matcher {
	return (*ignore.Matcher)(nil).Enter("", readSmall(root, ".git/info/exclude"))
}

// workers is how many folders are read, or files hashed, at once.
func workers() int { return min(max(runtime.GOMAXPROCS(0), 2), 8) }

// walker lists all folders, several at a time.
type walker struct {
	s    *Scanner
	root *os.Root
	prev Tree
	ctx  context.Context //nolint:containedctx // lives for one walk

	mu      sync.Mutex
	more    sync.Cond
	todo    []dirTask
	busy    int
	folders []folder
	err     error
}

// dirTask is a folder to read. In a hidden one, which a pattern excludes, only what
// Git tracks counts.
type dirTask struct {
	dir    string
	m      *ignore.Matcher
	hidden bool
}

func (w *walker) walk(m *ignore.Matcher) ([]folder, error) {
	w.more.L = &w.mu
	w.todo = []dirTask{{dir: ".", m: m}}
	var wg sync.WaitGroup
	for range workers() {
		wg.Go(w.run)
	}
	wg.Wait()
	return w.folders, w.err
}

func (w *walker) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.todo) == 0 && w.busy > 0 && w.err == nil {
			w.more.Wait()
		}
		if len(w.todo) == 0 || w.err != nil {
			w.more.Broadcast()
			return
		}
		t := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.busy++
		w.mu.Unlock()
		f, subs, err := w.dir(t)
		w.mu.Lock()
		w.busy--
		if err != nil && w.err == nil {
			w.err = err
		}
		if f != nil {
			w.folders = append(w.folders, *f)
		}
		w.todo = append(w.todo, subs...)
		w.more.Broadcast()
	}
}

// dir reads one folder. One that cannot be read is left out, unless it is the root.
func (w *walker) dir(t dirTask) (*folder, []dirTask, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, nil, err
	}
	entries, m, err := list(w.root, t.dir, t.m, false, w.sweep)
	if err != nil {
		if t.dir == "." {
			return nil, nil, err
		}
		return nil, nil, nil //nolint:nilerr // gone, or no permission
	}
	prev := w.prev.folder(t.dir)
	f := &folder{path: t.dir, files: make([]file, 0, len(entries))}
	var subs []dirTask
	for _, d := range entries {
		fi, err := d.Info()
		if err != nil {
			continue // gone meanwhile
		}
		p := join(t.dir, d.Name())
		hidden := t.hidden || m.Match(p, fi.IsDir())
		if hidden && fi.IsDir() && w.s.git.below(p) {
			subs = append(subs, dirTask{p, m, true})
			continue
		}
		if hidden && w.s.git.has(p) {
			hidden = false
		}
		if !utf8.ValidString(d.Name()) { // the ledger's JSON cannot name it
			hidden = true
		}
		e := file{name: d.Name(), st: statOf(fi), size: fi.Size(), mode: fi.Mode().Type() | fi.Mode().Perm()}
		switch {
		case hidden:
			e.flags = ignored
		case fi.IsDir():
			subs = append(subs, dirTask{p, m, false})
			continue
		case fi.Mode()&fs.ModeSymlink != 0:
			if e.link, err = w.root.Readlink(filepath.FromSlash(p)); err != nil {
				continue
			}
			img := rooted.LinkImage(e.link)
			e.hash, e.size, e.mode, e.flags = img.Hash, img.Size, img.Mode, kept
			e.checked = -1 // to be kept
			if !utf8.ValidString(e.link) {
				e.flags = 0
			}
			if old := prev.find(e.name); old != nil && old.hash == e.hash && old.flags == e.flags {
				e.checked = 1
			}
		case !fi.Mode().IsRegular():
			e.flags = special
		default:
			if old := prev.find(e.name); old != nil && old.counts() && old.st == e.st && old.st.settled(old.checked) {
				e.hash, e.flags, e.checked = old.hash, old.flags, old.checked
			}
		}
		f.files = append(f.files, e)
	}
	return f, subs, nil
}

// staleTemp is how old a temporary file must be to count as left behind by a killed
// process; what it held is kept or was never in its place.
const staleTemp = time.Hour

func (w *walker) sweep(dir string, d fs.DirEntry) {
	fi, err := d.Info()
	if err != nil || !fi.Mode().IsRegular() && fi.Mode()&fs.ModeSymlink == 0 {
		return
	}
	// A version that is being replaced keeps its old time; only its name is new.
	st := statOf(fi)
	if w.s.now().Sub(time.Unix(0, max(st.mtime, st.ctime))) > staleTemp {
		_ = w.root.Remove(filepath.FromSlash(join(dir, d.Name())))
	}
}

func (f *folder) find(name string) *file {
	if f == nil {
		return nil
	}
	return f.file(name)
}

// hash fills in what the cache did not know, small files first, and keeps contents.
func (s *Scanner) hash(ctx context.Context, root *os.Root, t *Tree) error {
	type task struct {
		dir string
		f   *file
	}
	var todo []task
	left := s.limits.KeepAll
	for i := range t.folders {
		for k := range t.folders[i].files {
			f := &t.folders[i].files[k]
			switch {
			case !f.counts():
			case f.flags&kept != 0 && f.checked > 0:
				left -= f.size
			case f.checked <= 0:
				todo = append(todo, task{t.folders[i].path, f})
			}
		}
	}
	if len(todo) == 0 {
		return nil
	}
	slices.SortFunc(todo, func(a, b task) int { return int(min(max(a.f.size-b.f.size, -1), 1)) })
	batch := s.blobs.Batch()
	defer batch.Abort()
	keep := func(size int64) bool { left -= size; return left >= 0 }

	var mu sync.Mutex
	next, fresh := 0, 0
	var failed error
	var wg sync.WaitGroup
	for range min(workers(), len(todo)) {
		wg.Go(func() {
			var buf []byte
			for {
				mu.Lock()
				if failed != nil || next == len(todo) {
					mu.Unlock()
					return
				}
				k := todo[next]
				next++
				isLink := k.f.mode&fs.ModeSymlink != 0
				mayKeep := k.f.size <= s.limits.KeepFile && keep(k.f.size)
				if !isLink {
					fresh++
				}
				mu.Unlock()
				var err error
				if isLink {
					if k.f.flags&kept != 0 {
						err = batch.PutBytes(ctx, k.f.hash, []byte(k.f.link))
					}
				} else {
					buf, err = s.hashFile(ctx, root, join(k.dir, k.f.name), k.f, mayKeep, batch, buf)
				}
				if err != nil {
					mu.Lock()
					if failed == nil {
						failed = err
					}
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	s.dirty += fresh
	for i := range t.folders { // what went while we looked
		t.folders[i].files = slices.DeleteFunc(t.folders[i].files, func(f file) bool { return f.counts() && f.hash.IsZero() })
	}
	return batch.Commit(ctx)
}

// hashFile reads one file into f. A file that has gone keeps a zero hash.
func (s *Scanner) hashFile(ctx context.Context, root *os.Root, rel string, f *file, mayKeep bool, batch *blob.Batch, buf []byte) ([]byte, error) {
	f.hash, f.flags, f.checked = domain.Hash{}, 0, 0
	if f.size > s.limits.ReadFile {
		f.hash, f.flags, f.checked = statHash(f.st), byStat, s.now().UnixNano()
		return buf, ctx.Err()
	}
	h, err := root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|nonblock, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return buf, nil
		}
		f.hash, f.flags = statHash(f.st), unreadable
		return buf, nil
	}
	defer h.Close()
	for range 3 {
		fi, err := h.Stat()
		if err != nil || !fi.Mode().IsRegular() {
			return buf, nil //nolint:nilerr // replaced meanwhile; the next scan sees what by
		}
		f.st, f.size, f.mode = statOf(fi), fi.Size(), fi.Mode().Perm()
		checked := s.now().UnixNano()
		if _, err := h.Seek(0, io.SeekStart); err != nil {
			return buf, err
		}
		if mayKeep && f.size <= s.limits.KeepFile {
			buf, err = readAll(h, buf[:0], f.size, s.limits.KeepFile)
			if err != nil {
				f.hash, f.flags = statHash(f.st), unreadable
				return buf, nil
			}
			f.hash, f.size = domain.HashBytes(buf), int64(len(buf))
		} else {
			sum := sha256.New()
			if _, err := io.Copy(sum, &ctxReader{ctx, h}); err != nil {
				if ctx.Err() != nil {
					return buf, ctx.Err()
				}
				f.hash, f.flags = statHash(f.st), unreadable
				return buf, nil
			}
			sum.Sum(f.hash[:0])
			mayKeep = false
		}
		if again, err := h.Stat(); err == nil && statOf(again) == f.st {
			f.checked = checked
			break
		}
		f.checked = 1 // it is being written: never trusted
	}
	if mayKeep {
		if err := batch.PutBytes(ctx, f.hash, buf); err != nil {
			return buf, err
		}
		f.flags |= kept
	}
	return buf, ctx.Err()
}

func readAll(r io.Reader, buf []byte, size, max int64) ([]byte, error) {
	buf = slices.Grow(buf, int(size)+1)
	for int64(len(buf)) <= max {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
	return buf, errors.New("file grows while it is read")
}

// statHash stands for content that was not read.
func statHash(st stat) domain.Hash {
	b := append([]byte("worksite by stat\n"), strconv.FormatInt(st.size, 10)...)
	return domain.HashBytes(strconv.AppendInt(append(b, ' '), st.mtime, 10))
}

// ctxReader ends a long read when the context does.
type ctxReader struct {
	ctx context.Context //nolint:containedctx // lives for one read
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// Large returns the image of a file that is too large to be read for its hash, as a
// scan has it, and whether fi is one.
func (s *Scanner) Large(fi fs.FileInfo) (rooted.Image, bool) {
	if !fi.Mode().IsRegular() || fi.Size() <= s.limits.ReadFile {
		return rooted.Image{}, false
	}
	return rooted.Image{Hash: statHash(statOf(fi)), Size: fi.Size(), Mode: fi.Mode().Perm()}, true
}
