package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"worksite/backend/process"
)

func ctx() context.Context { return context.Background() }

// newLocal returns a Local that works, or skips the test where no sandbox can be had.
func newLocal(tb testing.TB) *Local {
	tb.Helper()
	l, err := New(Config{DataDir: filepath.Join(tb.TempDir(), "data"), Helper: testHelper})
	if err != nil {
		tb.Fatal(err)
	}
	if st := l.Status(ctx()); !st.OK {
		tb.Skipf("skipped: no sandbox here (%s: %s)", st.Name, st.Detail)
	}
	return l
}

// host runs a program outside, in dir.
func host(tb testing.TB, dir string, argv ...string) string {
	tb.Helper()
	r, err := process.Run(ctx(), process.Spec{
		Argv: argv, Dir: dir, Timeout: time.Minute, Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + tb.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	if r.Code != 0 {
		tb.Fatalf("%v: code %d: %s", argv, r.Code, r.Text())
	}
	return r.Text()
}

// initRepository makes a repository with one commit in dir.
func initRepository(tb testing.TB, dir string) {
	tb.Helper()
	write(tb, filepath.Join(dir, "file"), "content\n")
	host(tb, dir, "git", "init", "-q", "-b", "main")
	host(tb, dir, "git", "add", "file")
	host(tb, dir, "git", "commit", "-q", "-m", "first")
}

func write(tb testing.TB, name, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}
