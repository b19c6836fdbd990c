package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// expect reads notices until one names path, and returns all paths told.
func expect(t *testing.T, ch <-chan Notice, path string) (told []string, last Notice) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case n, ok := <-ch:
			if !ok {
				t.Fatal("the watch ended")
			}
			told = append(told, n.Paths...)
			if slices.Contains(n.Paths, path) {
				return told, n
			}
		case <-timeout:
			t.Fatalf("%s was never told; told: %v", path, told)
		}
	}
}

func TestWatch(t *testing.T) {
	f := newFixture(t)
	f.write(".gitignore", "*.log\nbuild/\n")
	f.write("dir/a.txt", "a")
	f.write(".git/HEAD", "ref")
	c, cancel := context.WithCancel(ctx)
	ch, err := f.Watch(c, f.ws.ID)
	if err != nil {
		t.Fatal(err)
	}
	f.write("x.log", "ignored")
	f.write("build/out", "ignored")
	f.write(".git/index", "ignored")
	f.write("dir/a.txt", "b")
	told, _ := expect(t, ch, "dir/a.txt")
	// a new folder is watched with what is in it already
	f.write("new/deep/b.txt", "b")
	more, _ := expect(t, ch, "new/deep/b.txt")
	told = append(told, more...)
	f.write("new/deep/c.txt", "c")
	more, _ = expect(t, ch, "new/deep/c.txt")
	told = append(told, more...)
	must(t, os.Rename(filepath.Join(f.dir, "new"), filepath.Join(f.dir, "other")))
	f.write("other/deep/d.txt", "d")
	more, _ = expect(t, ch, "other/deep/d.txt")
	told = append(told, more...)
	f.agent("dir/a.txt", "by the agent")
	more, _ = expect(t, ch, "dir/a.txt")
	told = append(told, more...)
	for _, p := range told {
		if filepath.Ext(p) == ".log" || filepath.Ext(p) == ".tmp" || p == "build" || p == "build/out" || p == ".git/index" {
			t.Errorf("told of %s", p)
		}
	}
	cancel()
	for range ch { // ends
	}
}

func TestWatchTellsThatTheFolderWent(t *testing.T) {
	f := newFixture(t)
	ch, err := f.Watch(ctx, f.ws.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(f.dir, f.dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	if _, n := expect(t, ch, "."); !n.Gone {
		t.Fatalf("%+v", n)
	}
	f.Store.Close() // ends the watch
	for range ch {
	}
	_, err = f.Watch(ctx, f.ws.ID)
	if err == nil {
		t.Fatal("watching after the end")
	}
}

func TestWatchTellsOfGit(t *testing.T) {
	f := newFixture(t)
	f.write("a", "a")
	f.runGit("init", "-q")
	ch, err := f.Watch(ctx, f.ws.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "a"}, {"commit", "-q", "-m", "m"}, {"checkout", "-q", "-b", "side"}} {
		f.runGit(args...)
		select {
		case n := <-ch:
			if !n.Git || len(n.Paths) != 0 {
				t.Fatalf("%v: %+v", args, n)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%v was never told", args)
		}
	}
}

// A reader that does not read loses nothing and holds nothing up.
func TestSlowReaderGetsEverything(t *testing.T) {
	f := newFixture(t)
	ch, err := f.Watch(ctx, f.ws.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for i := range 300 {
		p := filepath.ToSlash(filepath.Join("d", string(rune('a'+i%26)), string(rune('a'+i/26))))
		f.write(p, "x")
		want[p] = true
	}
	timeout := time.After(20 * time.Second)
	for len(want) > 0 {
		select {
		case n := <-ch:
			for _, p := range n.Paths {
				delete(want, p)
			}
		case <-timeout:
			t.Fatalf("%d were never told", len(want))
		}
	}
}

// The two errors by which the kernel says that watches are used up lead to the
// notice with its remedy.
func TestReasons(t *testing.T) {
	for err, want := range map[error]string{syscall.ENOSPC: "max_user_watches", syscall.EMFILE: "max_user_instances", os.ErrInvalid: "does not notify"} {
		if got := reason(err); !strings.Contains(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
}
