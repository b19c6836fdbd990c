package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"worksite/backend/domain"
	"worksite/backend/workspace/git"
)

func TestMain(m *testing.M) {
	if os.Getenv(crashEnv) != "" {
		crashChild()
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

var ctx = context.Background()

// fixture is a store with one workspace and a session in it.
type fixture struct {
	*Store
	t       testing.TB
	top     string // holds everything
	dir     string // the workspace's folder
	ws      Workspace
	h       *Handle
	session domain.SessionID
}

func newStore(t testing.TB) *fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, top: top, session: domain.NewSessionID()}
	for _, d := range []string{"home", "data"} {
		if err := os.Mkdir(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.reopen()
	t.Cleanup(func() { f.Close() })
	return f
}

// reopen opens the store as another process would.
func (f *fixture) reopen() {
	f.t.Helper()
	if f.Store != nil {
		if err := f.Store.Close(); err != nil {
			f.t.Fatal(err)
		}
	}
	home := filepath.Join(f.top, "home")
	s, err := Open(Config{Dir: filepath.Join(f.top, "data"), Home: home, Poll: 20 * time.Millisecond, Git: git.Config{Home: home}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Store = s
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := newStore(t)
	f.dir = filepath.Join(f.top, "project")
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.ws, err = f.Add(ctx, f.dir, domain.TaskCoding); err != nil {
		t.Fatal(err)
	}
	f.handle()
	return f
}

// handle opens the workspace (again).
func (f *fixture) handle() {
	f.t.Helper()
	h, err := f.Handle(ctx, f.ws.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	f.h = h
	f.t.Cleanup(func() { h.Close() })
}

func (f *fixture) write(rel, content string) {
	f.t.Helper()
	writeFile(f.t, filepath.Join(f.dir, rel), content)
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read returns a file's content, "<none>" when it is not there.
func (f *fixture) read(rel string) string {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, rel))
	if errors.Is(err, fs.ErrNotExist) {
		return "<none>"
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

func (f *fixture) remove(rel string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.dir, rel)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) base() domain.WorkspaceBased {
	f.t.Helper()
	b, _, err := f.Base(ctx, f.session, f.h)
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

// agent writes a file as a hand does, and records it.
func (f *fixture) agent(rel, content string) {
	f.t.Helper()
	var expect domain.Hash
	if b, err := os.ReadFile(filepath.Join(f.dir, rel)); err == nil {
		expect = domain.HashBytes(b)
	}
	img, err := f.h.WriteFile(ctx, rel, expect, []byte(content), 0)
	if err != nil {
		f.t.Fatal(err)
	}
	f.record(img)
}

func (f *fixture) record(images ...domain.FileImage) {
	f.t.Helper()
	if err := f.RecordImages(ctx, f.session, images); err != nil {
		f.t.Fatal(err)
	}
}

// command runs fn as a command does: compared before and after, and recorded.
func (f *fixture) command(fn func()) []domain.FileImage {
	f.t.Helper()
	before := f.scan()
	fn()
	files := Compare(before, f.scan())
	f.record(files...)
	return files
}

func (f *fixture) scan() Tree {
	f.t.Helper()
	t, err := f.Scan(ctx, f.h)
	if err != nil {
		f.t.Fatal(err)
	}
	return t
}

func (f *fixture) changes() Changes {
	f.t.Helper()
	c, err := f.Changes(ctx, f.session, f.h)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *fixture) change(rel string) FileChange {
	f.t.Helper()
	for _, c := range f.changes().Files {
		if c.Path == rel {
			return c
		}
	}
	f.t.Fatalf("%s is not among the changes", rel)
	return FileChange{}
}

func (f *fixture) apply(c ...Change) {
	f.t.Helper()
	if err := f.Apply(ctx, f.h, c...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) accept(rel string, hunks ...string) {
	f.t.Helper()
	c, err := f.PlanAccept(ctx, f.session, f.h, rel, hunks, domain.Hash{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.apply(c)
}

func (f *fixture) reject(rel string, hunks ...string) {
	f.t.Helper()
	c, err := f.PlanReject(ctx, f.session, f.h, rel, hunks, domain.Hash{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.apply(c)
}

// runGit runs the real git as the person of the fixture.
func (f *fixture) runGit(args ...string) string {
	f.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		f.t.Skip("skipped: git is not installed")
	}
	cmd := exec.Command("git", append([]string{"-c", "user.name=Test", "-c", "user.email=test@example.org"}, args...)...)
	cmd.Dir = f.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "HOME=" + filepath.Join(f.top, "home")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func code(t testing.TB, err error, want domain.Code) {
	t.Helper()
	if domain.CodeOf(err) != want {
		t.Errorf("got %v, want code %q", err, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
