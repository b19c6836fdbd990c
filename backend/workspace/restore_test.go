package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"worksite/backend/domain"
)

func (f *fixture) restore(paths ...string) RestorePlan {
	f.t.Helper()
	p, err := f.PlanRestore(ctx, f.session, f.h, paths)
	if err != nil {
		f.t.Fatal(err)
	}
	f.apply(p.Changes...)
	return p
}

func (f *fixture) undo(p RestorePlan) RestorePlan {
	f.t.Helper()
	u, err := f.PlanUndo(ctx, f.session, f.h, p.Restored("", "person").Files)
	if err != nil {
		f.t.Fatal(err)
	}
	f.apply(u.Changes...)
	return u
}

// R21, R131
// The story that loses data elsewhere: commit and edit after the session's writes,
// then restore. The commit, ignored and untracked files stay, and the undo of the
// restore gives the same tree.
func TestRestoreTouchesOnlyTheSessionsWrites(t *testing.T) {
	f := newFixture(t)
	f.write(".gitignore", "ignored/\n*.db\n")
	f.write("a.txt", joinLines(numberedLines(30)))
	f.write("b.txt", "b\n")
	f.write("mine.txt", "mine\n")
	f.write("local.db", "precious")
	f.runGit("init", "-q")
	f.runGit("add", "-A")
	f.runGit("commit", "-q", "-m", "begin")
	f.base()
	l := numberedLines(30)
	l[20] = "agent"
	f.agent("a.txt", joinLines(l))
	f.agent("made.txt", "made\n")
	f.command(func() { f.remove("b.txt") })

	f.runGit("add", "-A")
	f.runGit("commit", "-q", "-m", "person commits it")
	head, index := f.runGit("rev-parse", "HEAD"), f.runGit("ls-files", "-s")
	l[2] = "person"
	f.write("a.txt", joinLines(l))
	f.write("mine.txt", "mine, edited\n")
	f.write("untracked.txt", "untracked\n")
	f.write("ignored/x", "x")
	f.write("local.db", "more precious")
	before := f.scan().Hash()

	plan, err := f.PlanRestore(ctx, f.session, f.h, nil)
	if err != nil || len(plan.Changes) != 3 || len(plan.Conflicts) != 0 {
		t.Fatalf("%+v %v", plan, err)
	}
	if f.scan().Hash() != before {
		t.Fatal("the preview changed something")
	}
	shown, err := f.Preview(ctx, f.session, f.h, plan.Changes...)
	if err != nil || len(shown) != 3 || shown[0].Path != "a.txt" || shown[0].Added != 1 || shown[1].Status != "added" || shown[2].Status != "deleted" {
		t.Fatalf("%+v %v", shown, err)
	}
	f.apply(plan.Changes...)
	l[20] = "line 20"
	for path, want := range map[string]string{
		"a.txt": joinLines(l), "b.txt": "b\n", "made.txt": "<none>", "mine.txt": "mine, edited\n", "untracked.txt": "untracked\n", "ignored/x": "x", "local.db": "more precious",
	} {
		if got := f.read(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if f.runGit("rev-parse", "HEAD") != head || f.runGit("ls-files", "-s") != index {
		t.Error("the repository's state was moved")
	}
	undone := f.undo(plan)
	if got := f.scan().Hash(); got != before || len(undone.Conflicts) != 0 {
		t.Fatal("the undo did not bring the tree back")
	}
	if again := f.restore(); len(again.Changes) != 3 {
		t.Fatalf("a restore after its undo: %+v", again)
	}
	if again := f.restore(); len(again.Changes)+len(again.Conflicts) != 0 {
		t.Fatalf("nothing is left to restore: %+v", again)
	}
}

// R131
func TestRestoreConflictsAreListed(t *testing.T) {
	f := newFixture(t)
	f.write("same", "1\n2\n3\n")
	f.write("deleted", "1\n")
	f.write("bin", "\x001")
	f.write("other", "1\n")
	f.write("again", "1\n")
	f.base()
	for _, p := range []string{"same", "deleted", "other"} {
		f.agent(p, "1\nagent\n3\n")
	}
	f.agent("bin", "\x002")
	f.agent("made", "made\n")
	f.command(func() { f.remove("again") })
	f.write("same", "1\nperson\n3\n")
	f.remove("deleted")
	f.write("bin", "\x003")
	f.write("made", "made and edited\n")
	f.write("again", "new\n")
	before := f.scan().Hash()
	p := f.restore("same", "deleted", "bin", "made", "again", "never")
	if len(p.Changes) != 0 || len(p.Conflicts) != 6 || f.scan().Hash() != before {
		t.Fatalf("%+v", p)
	}
	for _, c := range p.Conflicts {
		if c.Reason == "" {
			t.Errorf("%s: no reason", c.Path)
		}
	}
	if p = f.restore(); len(p.Changes) != 1 || f.read("other") != "1\n" || f.read("same") != "1\nperson\n3\n" {
		t.Fatalf("%+v", p)
	}
}

// Edits of the person in between the session's writes stay.
func TestRestoreKeepsEditsInBetween(t *testing.T) {
	f := newFixture(t)
	l := numberedLines(30)
	f.write("a", joinLines(l))
	f.base()
	l[2] = "agent 1"
	f.agent("a", joinLines(l))
	l[15] = "person"
	f.write("a", joinLines(l))
	l[28] = "agent 2"
	f.agent("a", joinLines(l))
	p := f.restore()
	want := numberedLines(30)
	want[15] = "person"
	if len(p.Conflicts) != 0 || f.read("a") != joinLines(want) {
		t.Fatalf("%+v %q", p, f.read("a"))
	}
	f.undo(p)
	if f.read("a") != joinLines(l) {
		t.Fatalf("%q", f.read("a"))
	}
}

func TestRestoreModesLinksAndReviews(t *testing.T) {
	f := newFixture(t)
	f.write("run.sh", "1\n")
	f.write("x", joinLines(numberedLines(20)))
	f.write("y", "y\n")
	must(t, os.Chmod(filepath.Join(f.dir, "run.sh"), 0o750))
	must(t, os.Symlink("x", filepath.Join(f.dir, "link")))
	f.base()
	before := f.scan().Hash()
	f.command(func() {
		must(t, os.Chmod(filepath.Join(f.dir, "run.sh"), 0o600))
		f.remove("link")
		f.write("link", "a file now")
		f.remove("y")
		must(t, os.Symlink("x", filepath.Join(f.dir, "y")))
	})
	l := numberedLines(20)
	l[1], l[10] = "one", "two"
	f.agent("x", joinLines(l))
	f.accept("x", f.change("x").Hunks[0].ID)
	f.reject("x", f.change("x").Hunks[0].ID)
	f.accept("y")
	after := f.scan().Hash()
	p := f.restore()
	if f.scan().Hash() != before || len(p.Conflicts) != 0 {
		t.Fatalf("%+v %s", p, f.changes().summary())
	}
	if to, _ := os.Readlink(filepath.Join(f.dir, "link")); to != "x" {
		t.Error("the link did not come back")
	}
	if got := f.changes().summary(); strings.Contains(got, "y ") {
		t.Errorf("what was accepted and restored is open again: %s", got)
	}
	f.undo(p)
	if f.scan().Hash() != after {
		t.Fatal("undo")
	}
}

// R131
// After any writes of the session and edits of the person, a restore and its undo
// leave the tree as it was, and without edits of the person a restore gives the base.
func TestAnyRestoreCanBeUndone(t *testing.T) {
	f := newFixture(t)
	rounds := 0
	rapid.Check(t, func(t *rapid.T) {
		if rounds++; rounds > 40 {
			return
		}
		dir := fmt.Sprintf("r%d", rounds)
		paths := []string{dir + "/a", dir + "/b", dir + "/c"}
		content := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"1\n", "2\n", "3\n", "x\r\n", "\x00"}), 1, 8).Draw(t, "lines"), "")
		})
		f.write(dir+"/keep", "k")
		for _, p := range paths[:2] {
			f.write(p, content.Draw(t, "base"))
		}
		f.session = domain.NewSessionID()
		f.base()
		base := f.scan().Hash()
		edits := false
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			p := rapid.SampledFrom(paths).Draw(t, "path")
			switch rapid.IntRange(0, 3).Draw(t, "who") {
			case 0, 1:
				f.agent(p, content.Draw(t, "agent"))
			case 2:
				if f.read(p) != "<none>" {
					f.command(func() { f.remove(p) })
				}
			case 3:
				was := f.scan().Hash()
				f.write(p, content.Draw(t, "person"))
				edits = edits || f.scan().Hash() != was
			}
		}
		before := f.scan().Hash()
		p := f.restore()
		if !edits && (len(p.Conflicts) > 0 || f.scan().Hash() != base) {
			t.Fatalf("restore of the session's writes alone: %+v", p)
		}
		if u := f.undo(p); f.scan().Hash() != before || len(u.Conflicts) > 0 {
			t.Fatalf("undo: %+v", u)
		}
	})
}
