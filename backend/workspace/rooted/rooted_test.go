package rooted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"worksite/backend/domain"
)

var ctx = context.Background()

// tree opens a fresh folder that has a sibling with a secret in it.
func tree(t testing.TB) (*Root, string, string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, out := filepath.Join(top, "ws"), filepath.Join(top, "outside")
	for _, d := range []string{ws, out} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(out, "secret"), "secret")
	r, err := Open(ws)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, ws, out
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func hash(s string) domain.Hash { return domain.HashBytes([]byte(s)) }

func isRoot() bool { return os.Geteuid() == 0 }

// R6, R152
func TestLocal(t *testing.T) {
	r, ws, out := tree(t)
	if err := os.Symlink(ws, filepath.Join(out, "alias")); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"a": "a", "./a//b/": "a/b", "a/../b": "b", ".": ".", ws: ".", ws + "/x/y": "x/y", ws + "/x/../..x": "..x",
		filepath.Join(out, "alias", "z"): "z", " a ": " a ", "ü/é": "ü/é", "a%20b": "a%20b", "...": "...",
	} {
		if got, err := r.Local(in); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for in, code := range map[string]domain.Code{
		"..": domain.CodeForbidden, "../ws": domain.CodeForbidden, "a/../../b": domain.CodeForbidden, "/etc/passwd": domain.CodeForbidden, "~/x": domain.CodeForbidden,
		ws + "x": domain.CodeForbidden, ws + "/../outside/secret": domain.CodeForbidden, "": domain.CodeInvalid, "a\x00b": domain.CodeInvalid,
		strings.Repeat("a/", 3000): domain.CodeInvalid,
	} {
		if got, err := r.Local(in); domain.CodeOf(err) != code {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
}

// R6
func TestReal(t *testing.T) {
	r, ws, out := tree(t)
	write(t, filepath.Join(ws, "dir", "f"), "f")
	for name, target := range map[string]string{
		"in": "dir", "dir/up": "../dir/f", "abs": filepath.Join(ws, "dir"), "out": "../outside", "absout": out, "loop": "loop2", "loop2": "loop",
		"dangling": "nowhere/x", "viaout": "out/secret", "self": ".",
	} {
		if err := os.Symlink(target, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range map[string]string{
		"dir/f": "dir/f", "in/f": "dir/f", "in/up": "dir/f", "abs/f": "dir/f", "new/x": "new/x", "in/new": "dir/new", "dangling": "nowhere/x", "self/self/dir": "dir", ".": ".",
	} {
		if got, err := r.Real(in); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, in := range []string{"out", "out/secret", "absout/secret", "viaout", "out/new"} {
		if got, err := r.Real(in); domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	if _, err := r.Real("loop/x"); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("loop: %v", err)
	}
	if _, err := r.Real("dir/f/x"); domain.CodeOf(err) != domain.CodeInvalid && domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("through a file: %v", err)
	}
}

func TestRead(t *testing.T) {
	r, ws, _ := tree(t)
	write(t, filepath.Join(ws, "f"), "content")
	b, img, err := r.Read("f", 100)
	if err != nil || string(b) != "content" || img.Hash != hash("content") || img.Size != 7 || img.UnixMode() != 0o100644 {
		t.Fatalf("%q %+v %v", b, img, err)
	}
	if _, _, err := r.Read("f", 3); domain.CodeOf(err) != domain.CodeTooLarge || domain.HintOf(err) == "" {
		t.Errorf("too large: %v", err)
	}
	if _, _, err := r.Read("none", 3); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("missing: %v", err)
	}
	if _, _, err := r.Read(".", 3); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("folder: %v", err)
	}
	must(t, os.Symlink("../outside/secret", filepath.Join(ws, "leak")))
	if b, _, err := r.Read("leak", 0); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("read outside: %q %v", b, err)
	}
}

// R137, R151
func TestPut(t *testing.T) {
	r, ws, _ := tree(t)
	var kept []string
	keep := func(_ context.Context, img Image, content io.Reader) error {
		b, err := io.ReadAll(content)
		if domain.HashBytes(b) != img.Hash {
			t.Errorf("kept another content than the image says")
		}
		kept = append(kept, string(b))
		return err
	}
	if _, post, err := r.Put(ctx, "new/deep/f.sh", Put{Content: []byte("one"), Mode: 0o755, Keep: keep}); err != nil || post.Hash != hash("one") || post.Mode != 0o755 {
		t.Fatalf("create: %+v %v", post, err)
	}
	if kept != nil {
		t.Fatalf("nothing was there to keep: %q", kept)
	}
	pre, post, err := r.Put(ctx, "new/deep/f.sh", Put{Expect: hash("one"), Content: []byte("two\r\n"), Keep: keep})
	if err != nil || pre.Hash != hash("one") || post.Mode != 0o755 || fmt.Sprint(kept) != "[one]" {
		t.Fatalf("replace: %+v %+v %v %q", pre, post, err, kept)
	}
	if fi, _ := os.Stat(filepath.Join(ws, "new/deep/f.sh")); fi.Mode().Perm() != 0o755 {
		t.Fatalf("mode not kept: %v", fi.Mode())
	}
	// a version other than the expected one
	_, _, err = r.Put(ctx, "new/deep/f.sh", Put{Expect: hash("one"), Content: []byte("three"), Keep: keep})
	var ch *Changed
	if domain.CodeOf(err) != domain.CodeConflict || !errors.As(err, &ch) || ch.Have != hash("two\r\n") {
		t.Fatalf("conflict: %v", err)
	}
	_, _, err = r.Put(ctx, "new/deep/f.sh", Put{Content: []byte("three"), Keep: keep})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("clobber: %v", err)
	}
	_, _, err = r.Put(ctx, "gone", Put{Expect: hash("one"), Content: []byte("three"), Keep: keep})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("gone: %v", err)
	}
	if len(kept) != 1 {
		t.Fatalf("refused writes kept something: %q", kept)
	}
	// the same bytes leave the file alone
	before, _ := os.Stat(filepath.Join(ws, "new/deep/f.sh"))
	if _, _, err = r.Put(ctx, "new/deep/f.sh", Put{Expect: hash("two\r\n"), Content: []byte("two\r\n")}); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(filepath.Join(ws, "new/deep/f.sh")); !os.SameFile(before, after) {
		t.Fatal("an equal write replaced the file")
	}
	// when keeping fails nothing is written
	boom := errors.New("boom")
	_, _, err = r.Put(ctx, "new/deep/f.sh", Put{Expect: hash("two\r\n"), Content: []byte("x"), Keep: func(context.Context, Image, io.Reader) error { return boom }})
	if b, _ := os.ReadFile(filepath.Join(ws, "new/deep/f.sh")); !errors.Is(err, boom) || string(b) != "two\r\n" {
		t.Fatalf("%v %q", err, b)
	}
	noTemp(t, ws)
}

func noTemp(t testing.TB, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && IsTemp(d.Name()) {
			t.Errorf("temporary file left: %s", p)
		}
		return err
	}))
}

func TestPutModesAndLinks(t *testing.T) {
	r, ws, out := tree(t)
	if _, post, err := r.Put(ctx, "l", Put{Symlink: "target"}); err != nil || post.Symlink != "target" {
		t.Fatal(err)
	}
	if got, _ := os.Readlink(filepath.Join(ws, "l")); got != "target" {
		t.Fatalf("link: %q", got)
	}
	// a link is replaced as itself, never written through
	os.Remove(filepath.Join(ws, "l"))
	must(t, os.Symlink("../outside/secret", filepath.Join(ws, "l")))
	pre, post, err := r.Put(ctx, "l", Put{Expect: hash("../outside/secret"), Content: []byte("plain"), Mode: 0o640, SetMode: true})
	if err != nil || pre.Symlink == "" || post.Mode != 0o640 {
		t.Fatalf("%+v %+v %v", pre, post, err)
	}
	if b, _ := os.ReadFile(filepath.Join(out, "secret")); string(b) != "secret" {
		t.Fatal("wrote through the link")
	}
	if _, post, err = r.Put(ctx, "l", Put{Expect: hash("plain"), Content: []byte("plain"), Mode: 0o700, SetMode: true}); err != nil || post.Mode != 0o700 {
		t.Fatal(err)
	}
	if fi, _ := os.Lstat(filepath.Join(ws, "l")); fi.Mode() != 0o700 {
		t.Fatalf("mode: %v", fi.Mode())
	}
	// a folder or pipe in the way is an error, not a loss
	must(t, os.Mkdir(filepath.Join(ws, "d"), 0o755))
	if _, _, err := r.Put(ctx, "d", Put{Content: []byte("x")}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("folder: %v", err)
	}
	if _, _, err := r.Put(ctx, "l/x", Put{Content: []byte("x")}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("below a file: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	r, ws, _ := tree(t)
	write(t, filepath.Join(ws, "ro"), "x")
	must(t, os.Chmod(filepath.Join(ws, "ro"), 0o444))
	_, _, err := r.Put(ctx, "ro", Put{Expect: hash("x"), Content: []byte("y")})
	if domain.CodeOf(err) != domain.CodeForbidden || !strings.Contains(err.Error(), "read-only") || domain.HintOf(err) == "" {
		t.Errorf("write: %v", err)
	}
	if _, err := r.Remove(ctx, "ro", hash("x"), nil, nil); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("remove: %v", err)
	}
	if isRoot() {
		t.Log("as root a folder without write permission can still be written")
		return
	}
	must(t, os.Mkdir(filepath.Join(ws, "rod"), 0o555))
	if _, _, err := r.Put(ctx, "rod/f", Put{Content: []byte("y")}); domain.CodeOf(err) != domain.CodeForbidden || domain.HintOf(err) == "" {
		t.Errorf("folder: %v", err)
	}
}

func TestRemove(t *testing.T) {
	r, ws, _ := tree(t)
	write(t, filepath.Join(ws, "a/b/c"), "x")
	write(t, filepath.Join(ws, "a/keep"), "x")
	if _, err := r.Remove(ctx, "a/b/c", hash("other"), nil, nil); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("conflict: %v", err)
	}
	var kept string
	pre, err := r.Remove(ctx, "a/b/c", hash("x"), func(_ context.Context, _ Image, c io.Reader) error {
		b, err := io.ReadAll(c)
		kept = string(b)
		return err
	}, func(string) bool { return true })
	if err != nil || pre.Hash != hash("x") || kept != "x" {
		t.Fatalf("%+v %v %q", pre, err, kept)
	}
	if _, err := os.Stat(filepath.Join(ws, "a/b")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("empty folder stayed")
	}
	if _, err := os.Stat(filepath.Join(ws, "a/keep")); err != nil {
		t.Error("the other file went")
	}
	if _, err := r.Remove(ctx, "a/b/c", hash("x"), nil, nil); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("twice: %v", err)
	}
	noTemp(t, ws)
}

// R152
// While one side swaps folders for links to the outside, no write or read of the
// other ever lands there.
func TestSwapRaceNeverEscapes(t *testing.T) {
	tries := 2_000 // of five operations each
	if testing.Short() {
		tries = 200
	}
	r, ws, out := tree(t)
	write(t, filepath.Join(ws, "d/f"), "inside")
	write(t, filepath.Join(out, "f"), "outside")
	d, aside := filepath.Join(ws, "d"), filepath.Join(ws, "aside")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var swaps atomic.Int64
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			select {
			case <-stop:
				return
			default:
			}
			if os.Rename(d, aside) != nil {
				continue
			}
			if os.Symlink("../outside", d) == nil {
				swaps.Add(1)
				os.Remove(d)
			}
			for os.Rename(aside, d) != nil {
				os.RemoveAll(d) // a write made the missing folder anew
			}
			time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond) // lets some writes through
		}
	}()
	done := 0
	enough := func(i int) bool { return i >= tries && done >= tries/20 && swaps.Load() >= int64(tries)/20 }
	for i, begun := 0, time.Now(); !enough(i) && time.Since(begun) < time.Minute; i++ {
		rel := "d/f"
		if real, err := r.Real(rel); err == nil {
			rel = real
		}
		if b, _, err := r.Read(rel, 0); err == nil && string(b) == "outside" {
			t.Fatal("read outside")
		}
		img, err := r.Image(ctx, rel)
		if err != nil {
			continue
		}
		if _, _, err := r.Put(ctx, rel, Put{Expect: img.Hash, Content: fmt.Append(nil, "inside ", i)}); err == nil {
			done++
		}
		_, _, _ = r.Put(ctx, "d/new", Put{Content: []byte("n")})
		_, _ = r.Remove(ctx, "d/new", hash("n"), nil, nil)
	}
	close(stop)
	wg.Wait()
	entries, _ := os.ReadDir(out)
	if b, _ := os.ReadFile(filepath.Join(out, "f")); string(b) != "outside" || len(entries) != 2 {
		t.Fatalf("escaped: %q, %v", b, entries)
	}
	t.Logf("%d writes went through, %d swaps", done, swaps.Load())
	if !enough(tries) {
		t.Fatal("the race never let a write through: too little was tested")
	}
}

// R151
// An edit that another program makes at the very moment of ours is never lost: one
// of the two is refused or comes after the other.
func TestConcurrentEditIsNeverLost(t *testing.T) {
	r, ws, _ := tree(t)
	f := filepath.Join(ws, "f")
	write(t, f, "0")
	var kept sync.Map
	var theirs atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { // an editor: atomic save by rename, over whatever is there
		defer wg.Done()
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			tmp := filepath.Join(ws, "editor~")
			if err := os.WriteFile(tmp, fmt.Append(nil, "theirs ", i), 0o644); err != nil {
				t.Error(err)
				return
			}
			if os.Rename(tmp, f) == nil {
				theirs.Store(int64(i))
			}
		}
	}()
	ours := 0
	for i := 0; i < 3000 && ours < 100; i++ {
		img, err := r.Image(ctx, "f")
		if err != nil || img.Hash.IsZero() {
			continue
		}
		_, _, err = r.Put(ctx, "f", Put{Expect: img.Hash, Content: fmt.Append(nil, "ours ", i), Keep: func(_ context.Context, img Image, c io.Reader) error {
			b, err := io.ReadAll(c)
			kept.Store(string(b), true)
			return err
		}})
		if err == nil {
			ours++
			continue
		}
		if c := domain.CodeOf(err); c != domain.CodeConflict && c != domain.CodeNotFound {
			t.Fatalf("%v", err)
		}
	}
	close(stop)
	wg.Wait()
	b, err := os.ReadFile(f)
	if err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprint("theirs ", theirs.Load())
	if _, ok := kept.Load(last); string(b) != last && !ok {
		t.Fatalf("the last edit %q is neither in place (%q) nor kept", last, b)
	}
	noTemp(t, ws)
}

// R137
func TestAnyBytesSurvive(t *testing.T) {
	r, ws, _ := tree(t)
	prev := domain.Hash{}
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		_, post, err := r.Put(ctx, "f", Put{Expect: prev, Content: content})
		if err != nil {
			t.Fatal(err)
		}
		prev = post.Hash
		if b, err := os.ReadFile(filepath.Join(ws, "f")); err != nil || !bytes.Equal(b, content) {
			t.Fatalf("%q %v", b, err)
		}
	})
}

func FuzzLocalAndReal(f *testing.F) {
	for _, s := range []string{"a", "../x", "l/../../x", "/etc/passwd", "d/l/f", "a//b/..", "~", "\x00", "l/l/l", "..\\x"} {
		f.Add(s)
	}
	r, ws, out := tree(f)
	write(f, filepath.Join(ws, "d/f"), "f")
	must(f, os.Symlink("../outside", filepath.Join(ws, "l")))
	must(f, os.Symlink("..", filepath.Join(ws, "d/l")))
	must(f, os.Symlink(out, filepath.Join(ws, "d/abs")))
	f.Fuzz(func(t *testing.T, p string) {
		rel, err := r.Local(p)
		if err != nil {
			return
		}
		real, err := r.Real(rel)
		if err != nil {
			return
		}
		full := filepath.Join(ws, filepath.FromSlash(real))
		if full != ws && !strings.HasPrefix(full, ws+string(filepath.Separator)) {
			t.Fatalf("%q leads to %q", p, full)
		}
		if got, err := filepath.EvalSymlinks(full); err == nil && got != full {
			t.Fatalf("%q: %q still has a link: %q", p, real, got)
		}
		if b, _, err := r.Read(real, 0); err == nil && string(b) == "secret" {
			t.Fatalf("%q reads outside", p)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
