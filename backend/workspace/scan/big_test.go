package scan

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// R154
// TestLargeTree prints how a large tree compares with git in the same run; the size
// is WORKSITE_LARGE_TREE files, 5,000 by default.
func TestLargeTree(t *testing.T) {
	n := 5000
	if v := os.Getenv("WORKSITE_LARGE_TREE"); v != "" {
		if _, err := fmt.Sscan(v, &n); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, Limits{})
	many(t, f, n)
	timed := func(what string, fn func()) time.Duration {
		start := time.Now()
		fn()
		d := time.Since(start)
		t.Logf("%-34s %8.1f ms", what, float64(d)/1e6)
		return d
	}
	var before, after Tree
	timed("first snapshot", func() { before = f.scan(t) })
	timed("unchanged", func() { f.scan(t) })
	timed("encode", func() { before.Encode() })
	again := New(f.blobs, f.index, Limits{}, f.now)
	timed("unchanged, after a restart", func() {
		if _, err := again.Scan(ctx, f.root); err != nil {
			t.Fatal(err)
		}
	})
	for i := range 100 {
		f.write(t, fmt.Sprintf("p%03d/q%02d/file_%d.go", i*37%n/200, i*37%n/20%10, i*37%n), "changed\n")
	}
	ours := timed("snapshot after 100 changes", func() { after = f.scan(t) })
	ours += timed("compare", func() {
		if got := len(Compare(before, after)); got != 100 {
			t.Fatalf("%d changes", got)
		}
	})
	if before.Summary().Files != n {
		t.Fatalf("%d files", before.Summary().Files)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return
	}
	git(t, f.dir, "init", "-q")
	git(t, f.dir, "add", "-A")
	for i := range 100 {
		f.write(t, fmt.Sprintf("p%03d/q%02d/file_%d.go", i*37%n/200, i*37%n/20%10, i*37%n), "changed again\n")
	}
	theirs := timed("git status and git diff", func() { git(t, f.dir, "status", "--porcelain"); git(t, f.dir, "diff", "--stat") })
	t.Logf("ratio %.2f", float64(ours)/float64(theirs))
}
