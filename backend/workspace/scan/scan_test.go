package scan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"worksite/backend/blob"
	"worksite/backend/domain"
	"worksite/backend/workspace/rooted"
)

var ctx = context.Background()

type fixture struct {
	*Scanner
	root  *rooted.Root
	dir   string
	index string
	blobs *blob.Store
	skew  time.Duration // added to the clock, so that files settle without waiting
}

func newFixture(t testing.TB, limits Limits) *fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: filepath.Join(top, "ws"), index: filepath.Join(top, "index")}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if f.blobs, err = blob.New(filepath.Join(top, "blobs")); err != nil {
		t.Fatal(err)
	}
	if f.root, err = rooted.Open(f.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.root.Close() })
	f.Scanner = New(f.blobs, f.index, limits, func() time.Time { return time.Now().Add(f.skew) })
	return f
}

func (f *fixture) write(t testing.TB, rel, content string) {
	t.Helper()
	p := filepath.Join(f.dir, rel)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) scan(t testing.TB) Tree {
	t.Helper()
	tree, err := f.Scan(ctx, f.root)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func paths(t Tree) []string {
	var out []string
	for e := range t.All() {
		out = append(out, e.Path)
	}
	slices.Sort(out)
	return out
}

func describe(cs []Change) string {
	var out []string
	for _, c := range cs {
		switch {
		case c.Pre.Hash.IsZero():
			out = append(out, "+"+c.Path)
		case c.Post.Hash.IsZero():
			out = append(out, "-"+c.Path)
		case c.Pre.Hash == c.Post.Hash:
			out = append(out, "m"+c.Path)
		default:
			out = append(out, "~"+c.Path)
		}
	}
	return strings.Join(out, " ")
}

// R7
func TestScanAndCompare(t *testing.T) {
	f := newFixture(t, Limits{})
	f.write(t, ".gitignore", "*.log\nbuild/\n")
	f.write(t, "a.txt", "a")
	f.write(t, "dir/b.txt", "b")
	f.write(t, "dir/x.log", "log")
	f.write(t, "build/out", "out")
	f.write(t, ".git/HEAD", "ref")
	f.write(t, "sub/.GIT/config", "x")
	f.write(t, ".worksite-0123456789abcdef.tmp", "temp")
	must(t, os.Symlink("a.txt", filepath.Join(f.dir, "link")))
	before := f.scan(t)
	if got := paths(before); fmt.Sprint(got) != "[.gitignore a.txt dir/b.txt link]" {
		t.Fatalf("paths: %v", got)
	}
	if s := before.Summary(); s.Files != 4 || s.Skipped != 0 || s.Ignored != 2 {
		t.Fatalf("summary: %+v", s)
	}
	for e := range before.All() {
		if !e.Kept || f.blobs.Verify(e.Hash) != nil {
			t.Errorf("%s is not kept", e.Path)
		}
	}
	f.write(t, "dir/b.txt", "B")
	f.write(t, "new/c.txt", "c")
	f.write(t, "dir/x.log", "more log")
	os.Remove(filepath.Join(f.dir, "link"))
	must(t, os.Chmod(filepath.Join(f.dir, "a.txt"), 0o755))
	after := f.scan(t)
	if got := describe(Compare(before, after)); got != "ma.txt ~dir/b.txt -link +new/c.txt" {
		t.Fatalf("changes: %s", got)
	}
	if got := describe(Compare(after, before)); got != "ma.txt ~dir/b.txt +link -new/c.txt" {
		t.Fatalf("reversed: %s", got)
	}
	if got := CompareIgnored(before, after); fmt.Sprint(got) != "[dir/x.log]" {
		t.Fatalf("ignored: %v", got)
	}
	if e, ok := after.Lookup("dir/b.txt"); !ok || e.Hash != domain.HashBytes([]byte("B")) {
		t.Fatal("lookup")
	}
	if _, ok := after.Lookup("dir/x.log"); ok {
		t.Fatal("an ignored file was found")
	}
	if before.Hash() == after.Hash() || before.Hash() != f2(before).Hash() {
		t.Fatal("hash of trees")
	}
}

func f2(t Tree) Tree {
	d, err := Decode(t.Encode())
	if err != nil {
		panic(err)
	}
	return d
}

// A file whose bytes changed within the clock's tick, with the size and even the
// time put back, is still seen.
func TestRacyChangeIsSeen(t *testing.T) {
	f := newFixture(t, Limits{})
	for i := range 50 {
		f.write(t, "f", fmt.Sprintf("%04d", i))
		before := f.scan(t)
		f.write(t, "f", fmt.Sprintf("%04d", i+5000))
		if got := describe(Compare(before, f.scan(t))); got != "~f" {
			t.Fatalf("round %d: %q", i, got)
		}
	}
}

// A settled file is not read again; the cache survives a restart, and a damaged
// cache only costs time.
func TestCache(t *testing.T) {
	f := newFixture(t, Limits{})
	for i := range 100 {
		f.write(t, fmt.Sprintf("d%d/f%d", i%7, i), fmt.Sprint(i))
	}
	f.skew = time.Minute
	first := f.scan(t)
	if f.dirty != 0 { // saved
		t.Fatalf("dirty: %d", f.dirty)
	}
	f.scan(t)
	if f.dirty != 0 {
		t.Fatalf("%d files were read again", f.dirty)
	}
	again := New(f.blobs, f.index, Limits{}, f.now)
	tree, err := again.Scan(ctx, f.root)
	if err != nil || again.dirty != 0 || tree.Hash() != first.Hash() {
		t.Fatalf("after a restart: %v, %d read", err, again.dirty)
	}
	b, _ := os.ReadFile(f.index)
	b[len(b)/2] ^= 1
	must(t, os.WriteFile(f.index, b, 0o600))
	again = New(f.blobs, f.index, Limits{}, f.now)
	if tree, err = again.Scan(ctx, f.root); err != nil || tree.Hash() != first.Hash() {
		t.Fatalf("damaged cache: %v", err)
	}
}

func TestLimits(t *testing.T) {
	f := newFixture(t, Limits{KeepFile: 10, KeepAll: 25, ReadFile: 100})
	f.write(t, "small1", "123456789")
	f.write(t, "small2", "abcdefghi")
	f.write(t, "small3", "ABCDEFGHIJ")
	f.write(t, "medium", strings.Repeat("m", 50))
	f.write(t, "large", strings.Repeat("l", 200))
	tree := f.scan(t)
	if s := tree.Summary(); s.Files != 5 || s.Skipped != 3 {
		t.Fatalf("%+v", s)
	}
	if e, _ := tree.Lookup("medium"); e.Kept || e.ByStat || e.Hash != domain.HashBytes([]byte(strings.Repeat("m", 50))) {
		t.Errorf("medium: %+v", e)
	}
	if e, _ := tree.Lookup("large"); !e.ByStat {
		t.Errorf("large: %+v", e)
	}
	f.write(t, "large", strings.Repeat("l", 201))
	if got := describe(Compare(tree, f.scan(t))); got != "~large" {
		t.Errorf("%q", got)
	}
}

func TestBecomesIgnored(t *testing.T) {
	f := newFixture(t, Limits{})
	f.write(t, "data/a.csv", "a")
	f.write(t, "b.csv", "b")
	f.write(t, "c.txt", "c")
	before := f.scan(t)
	f.write(t, ".gitignore", "data/\n*.csv\n")
	after := f.scan(t)
	if got := describe(Compare(before, after)); got != "+.gitignore" {
		t.Fatalf("what is only ignored now was called deleted: %s", got)
	}
	var hidden []string
	for _, e := range Hidden(before, after) {
		hidden = append(hidden, e.Path)
	}
	slices.Sort(hidden)
	if fmt.Sprint(hidden) != "[b.csv data/a.csv]" {
		t.Fatalf("hidden: %v", hidden)
	}
	os.RemoveAll(filepath.Join(f.dir, "data"))
	if got := describe(Compare(before, f.scan(t))); got != "+.gitignore -data/a.csv" {
		t.Fatalf("really deleted: %s", got)
	}
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git is not installed")
	}
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// What Git tracks is looked at although a pattern excludes it, in every version of
// the index and with both kinds of hash.
func TestTrackedButIgnored(t *testing.T) {
	for _, kind := range []string{"2", "4", "sha256"} {
		t.Run(kind, func(t *testing.T) {
			f := newFixture(t, Limits{})
			if kind == "sha256" {
				git(t, f.dir, "init", "-q", "--object-format=sha256")
			} else {
				git(t, f.dir, "init", "-q")
				git(t, f.dir, "config", "index.version", kind)
			}
			f.write(t, ".gitignore", "out/\n*.env\n")
			f.write(t, "out/deep/kept.txt", "tracked")
			f.write(t, "out/other.txt", "not tracked")
			f.write(t, "local.env", "tracked")
			f.write(t, "other.env", "not tracked")
			f.write(t, "normal", "x")
			git(t, f.dir, "add", "-f", ".gitignore", "out/deep/kept.txt", "local.env", "normal")
			if got := fmt.Sprint(paths(f.scan(t))); got != "[.gitignore local.env normal out/deep/kept.txt]" {
				t.Fatalf("%v", got)
			}
		})
	}
}

func TestIndexOfAnyBytesEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := append([]byte("DIRC\x00\x00\x00"), rapid.SliceOf(rapid.Byte()).Draw(t, "rest")...)
		indexPaths(b)
	})
}

func TestDecodeOfAnyBytesEnds(t *testing.T) {
	f := newFixture(t, Limits{})
	f.write(t, "a/b", "c")
	f.write(t, "d", "e")
	whole := f.scan(t).encode(true)
	for i := range whole {
		if _, err := decode(whole[:i]); err == nil {
			t.Fatalf("a snapshot cut at %d was read", i)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := slices.Clone(whole)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		_, _ = decode(b)
	})
}

// R154
func TestOddFiles(t *testing.T) {
	f := newFixture(t, Limits{})
	f.write(t, "ok", "x")
	if err := exec.Command("mkfifo", filepath.Join(f.dir, "pipe")).Run(); err != nil {
		t.Skip("skipped: no mkfifo")
	}
	must(t, os.WriteFile(filepath.Join(f.dir, "bad\xff"), []byte("x"), 0o600))
	f.write(t, "café/ü %41.txt", "x")
	must(t, os.Symlink("loop", filepath.Join(f.dir, "loop")))
	must(t, os.Symlink("/etc", filepath.Join(f.dir, "etc")))
	deep := strings.Repeat("d/", 400)
	f.write(t, deep+"f", "deep")
	got := paths(f.scan(t))
	if want := []string{"café/ü %41.txt", deep + "f", "etc", "loop", "ok"}; !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
}

func TestStaleTemporariesAreSwept(t *testing.T) {
	f := newFixture(t, Limits{})
	name := ".worksite-0123456789abcdef.tmp"
	f.write(t, "d/"+name, "left by a killed process")
	f.write(t, "d/.worksite-notours.tmp", "somebody's")
	f.scan(t)
	if _, err := os.Stat(filepath.Join(f.dir, "d", name)); err != nil {
		t.Fatal("a fresh one went")
	}
	f.skew = 2 * time.Hour
	f.scan(t)
	if _, err := os.Stat(filepath.Join(f.dir, "d", name)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("a stale one stayed")
	}
	if _, err := os.Stat(filepath.Join(f.dir, "d/.worksite-notours.tmp")); err != nil {
		t.Fatal("removed what is not ours")
	}
}

// A version that is just being replaced is old by its time and new by its name.
func TestAVersionBeingReplacedStays(t *testing.T) {
	f := newFixture(t, Limits{})
	name := filepath.Join(f.dir, ".worksite-0123456789abcdef.tmp")
	f.write(t, filepath.Base(name), "the old version, for a moment")
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Lstat(name); err != nil || statOf(fi).ctime == 0 {
		t.Skip("skipped: this system does not say when a name was given")
	}
	f.scan(t)
	if _, err := os.Stat(name); err != nil {
		t.Fatal("it went")
	}
}

func TestWalk(t *testing.T) {
	f := newFixture(t, Limits{})
	f.write(t, ".gitignore", "*.log\n")
	f.write(t, "b/.gitignore", "!keep.log\nsecret/\n")
	f.write(t, "b/keep.log", "")
	f.write(t, "b/x.log", "")
	f.write(t, "b/secret/s", "")
	f.write(t, "b/c/d/e", "")
	f.write(t, "a", "")
	f.write(t, ".git/HEAD", "")
	walk := func(rel string, all bool, skip string) string {
		var got []string
		err := Walk(ctx, f.root, rel, all, func(p string, d fs.DirEntry) error {
			if p == skip {
				return fs.SkipDir
			}
			got = append(got, p)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(got, " ")
	}
	for _, c := range []struct {
		rel, skip string
		all       bool
		want      string
	}{
		{".", "", false, ".gitignore a b b/.gitignore b/c b/c/d b/c/d/e b/keep.log"},
		{"b", "", false, "b/.gitignore b/c b/c/d b/c/d/e b/keep.log"},
		{"b", "b/c", false, "b/.gitignore b/keep.log"},
		{"b", "", true, "b/.gitignore b/c b/c/d b/c/d/e b/keep.log b/secret b/secret/s b/x.log"},
	} {
		if got := walk(c.rel, c.all, c.skip); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if err := Walk(ctx, f.root, "none", false, nil); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("missing folder: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := Walk(cancelled, f.root, ".", false, func(string, fs.DirEntry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := f.Scan(cancelled, f.root); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled scan: %v", err)
	}
}

// What a sandbox puts in place of a missing protected path is no file of the
// workspace; a person's empty file of the same name is.
func TestPlaceholdersAreNotSeen(t *testing.T) {
	f := newFixture(t, Limits{})
	f.write(t, "kept.txt", "x")
	f.write(t, ".envrc", "") // the person's own
	for _, name := range []string{"AGENTS.md", ".mcp.json"} {
		f.write(t, name, "")
		if err := os.Chmod(filepath.Join(f.dir, name), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(f.dir, ".vscode"), 0o555); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AGENTS.md", ".mcp.json", ".vscode"} {
		if err := os.Chtimes(filepath.Join(f.dir, name), domain.PlaceholderTime, domain.PlaceholderTime); err != nil {
			t.Fatal(err)
		}
	}
	if got := paths(f.scan(t)); !slices.Equal(got, []string{".envrc", "kept.txt"}) {
		t.Errorf("the scan sees %q", got)
	}
	var walked []string
	if err := Walk(ctx, f.root, ".", true, func(rel string, _ fs.DirEntry) error {
		walked = append(walked, rel)
		return nil
	}); err != nil || !slices.Equal(walked, []string{".envrc", "kept.txt"}) {
		t.Errorf("a walk sees %q, %v", walked, err)
	}
}

func TestIsGit(t *testing.T) {
	for _, n := range []string{".git", ".GIT", ".Git", ".git.", ".git ", "git~1", "GIT~1", ".g\u200cit", "\ufeff.git"} {
		if !IsGit(n) {
			t.Errorf("%q", n)
		}
	}
	for _, n := range []string{".gitignore", "git", "x.git", ".gitx", ".github"} {
		if IsGit(n) {
			t.Errorf("%q", n)
		}
	}
}

func many(b testing.TB, f *fixture, n int) {
	b.Helper()
	for i := range n {
		f.write(b, fmt.Sprintf("p%03d/q%02d/file_%d.go", i/200, i/20%10, i), fmt.Sprintf("package p%d\n\nfunc f%d() {}\n", i, i))
	}
	f.skew = time.Minute
}

func BenchmarkScanUnchanged1000(b *testing.B) {
	f := newFixture(b, Limits{})
	many(b, f, 1000)
	f.scan(b)
	for b.Loop() {
		f.scan(b)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
