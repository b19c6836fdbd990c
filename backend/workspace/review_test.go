package workspace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"worksite/backend/domain"
)

func numberedLines(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("line %d", i))
	}
	return out
}

func joinLines(l []string) string { return strings.Join(l, "\n") + "\n" }

func (c Changes) summary() string {
	var out []string
	for _, f := range c.Files {
		s := fmt.Sprintf("%s %s +%d -%d", f.Status, f.Path, f.Added, f.Removed)
		if f.ByYou {
			s += " byYou"
		}
		if f.Binary {
			s += " binary"
		}
		if f.TooBig {
			s += " tooBig"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// R7, R10
func TestChanges(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", joinLines(numberedLines(30)))
	f.write("gone.txt", "bye\n")
	f.write("bin", "a\x00b")
	f.write("same.txt", "same\n")
	f.write("run.sh", "#!/bin/sh\n")
	f.write(".gitignore", "*.log\nsecret.env\n")
	f.write("secret.env", "TOKEN=1\n")
	f.write("x.log", "1")
	if c := f.changes(); c.Based || len(c.Files) != 0 {
		t.Fatalf("before the base: %+v", c)
	}
	based := f.base()
	if again, fresh, err := f.Base(ctx, f.session, f.h); err != nil || fresh || again != based {
		t.Fatalf("a second base: %+v %v %v", again, fresh, err)
	}
	if based.Files != 6 || based.Skipped != 0 || based.TreeHash != f.scan().Hash() {
		t.Fatalf("%+v", based)
	}
	l := numberedLines(30)
	l[3], l[20] = "changed", "changed too"
	f.agent("a.txt", joinLines(l))
	f.agent("new/b.txt", "1\n2")
	f.agent("secret.env", "TOKEN=2\n") // ignored, but written by the session
	f.command(func() {
		f.remove("gone.txt")
		f.write("bin", "a\x00c")
		f.write("x.log", "22")
		must(t, os.Chmod(filepath.Join(f.dir, "run.sh"), 0o755))
	})
	c := f.changes()
	want := "modified a.txt +2 -2; modified bin +0 -0 binary; deleted gone.txt +0 -1; added new/b.txt +2 -0; modified run.sh +0 -0; modified secret.env +1 -1"
	if c.summary() != want {
		t.Fatalf("got  %s\nwant %s", c.summary(), want)
	}
	if !c.Based || c.Hunks != 5 || fmt.Sprint(c.Unseen) != "[secret.env x.log]" {
		t.Fatalf("%d hunks, unseen %v", c.Hunks, c.Unseen)
	}
	if sh := f.change("run.sh"); sh.OldMode != 0o100644 || sh.NewMode != 0o100755 || sh.Pre != sh.Post {
		t.Fatalf("%+v", sh)
	}
	// somebody else edits one file of the session and one of their own
	f.write("a.txt", joinLines(append(l, "mine")))
	f.write("same.txt", "mine\n")
	got := f.changes().summary()
	if !strings.Contains(got, "a.txt +3 -2 byYou") || !strings.Contains(got, "same.txt +1 -1 byYou") {
		t.Fatalf("%s", got)
	}
	f.reopen()
	f.handle()
	if again := f.changes().summary(); again != got {
		t.Fatalf("after a restart: %s", again)
	}
}

// R160
func TestAcceptAndRejectHunks(t *testing.T) {
	f := newFixture(t)
	l := numberedLines(40)
	f.write("a.txt", joinLines(l))
	f.base()
	n := slices.Clone(l)
	n[2], n[15], n[30] = "first", "second", "third"
	f.agent("a.txt", joinLines(n))
	c := f.change("a.txt")
	if len(c.Hunks) != 3 {
		t.Fatalf("%+v", c.Hunks)
	}
	first, second, third := c.Hunks[0].ID, c.Hunks[1].ID, c.Hunks[2].ID
	f.accept("a.txt", second)
	if f.read("a.txt") != joinLines(n) {
		t.Fatal("accepting touched the file")
	}
	if c = f.change("a.txt"); len(c.Hunks) != 2 || c.ByYou {
		t.Fatalf("%+v", c)
	}
	_, err := f.PlanAccept(ctx, f.session, f.h, "a.txt", []string{second}, domain.Hash{})
	code(t, err, domain.CodeConflict) // a second click on the same hunk
	// rejecting moves the file, and only there
	f.reject("a.txt", first)
	n[2] = l[2]
	if f.read("a.txt") != joinLines(n) {
		t.Fatalf("%q", f.read("a.txt"))
	}
	if c = f.change("a.txt"); c.ByYou || len(c.Hunks) != 1 || c.Hunks[0].ID != third {
		t.Fatalf("%+v", c)
	}
	f.accept("a.txt", third)
	all := f.changes()
	if len(all.Files) != 0 || all.Accepted != 2 || all.Rejected != 1 {
		t.Fatalf("%+v", all)
	}
	// the agent makes the rejected change again: it can be answered again
	n[2] = "first"
	f.agent("a.txt", joinLines(n))
	f.reject("a.txt", f.change("a.txt").Hunks[0].ID)
	_, err = f.PlanReject(ctx, f.session, f.h, "a.txt", nil, domain.Hash{})
	code(t, err, domain.CodeConflict)
}

// A second click on one of two equal hunks does not answer the other one.
func TestEqualHunksAreAnsweredOnce(t *testing.T) {
	f := newFixture(t)
	f.write("a", "old\n1\n2\n3\n4\nold\n1\n2\n3\n4\n")
	f.base()
	f.agent("a", "new\nmore\n1\n2\n3\n4\nnew\nmore\n1\n2\n3\n4\n")
	hs := f.change("a").Hunks
	if len(hs) != 2 {
		t.Fatalf("%+v", hs)
	}
	f.accept("a", hs[0].ID)
	_, err := f.PlanAccept(ctx, f.session, f.h, "a", []string{hs[0].ID}, domain.Hash{})
	code(t, err, domain.CodeConflict)
	f.accept("a", hs[1].ID) // it has moved, and is meant
	if c := f.changes(); len(c.Files) != 0 || c.Accepted != 2 {
		t.Fatalf("%+v", c)
	}
}

func TestStaleAnswersAreRefused(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", joinLines(numberedLines(10)))
	f.base()
	l := numberedLines(10)
	l[4] = "agent"
	f.agent("a.txt", joinLines(l))
	c := f.change("a.txt")
	plan, err := f.PlanReject(ctx, f.session, f.h, "a.txt", []string{c.Hunks[0].ID}, c.Post)
	if err != nil {
		t.Fatal(err)
	}
	l[9] = "mine"
	f.write("a.txt", joinLines(l)) // between the plan and its execution
	code(t, f.Apply(ctx, f.h, plan), domain.CodeConflict)
	if f.read("a.txt") != joinLines(l) {
		t.Fatal("a stale reject wrote over the person's edit")
	}
	for _, p := range []func() (Change, error){
		func() (Change, error) { return f.PlanReject(ctx, f.session, f.h, "a.txt", nil, c.Post) },
		func() (Change, error) { return f.PlanAccept(ctx, f.session, f.h, "a.txt", nil, c.Post) },
		func() (Change, error) {
			return f.PlanAccept(ctx, f.session, f.h, "a.txt", []string{"0123456789abcdef-1"}, domain.Hash{})
		},
	} {
		_, err := p()
		code(t, err, domain.CodeConflict)
	}
	for _, p := range []string{"../a", "/etc/passwd", ".git/config", "", "a/../b"} {
		_, err := f.PlanAccept(ctx, f.session, f.h, p, nil, domain.Hash{})
		code(t, err, domain.CodeInvalid)
	}
}

func TestWholeFiles(t *testing.T) {
	f := newFixture(t)
	f.write("keep/old.txt", "old\n")
	f.write("bin", "1\x00")
	f.write("empty", "")
	must(t, os.Chmod(filepath.Join(f.dir, "keep/old.txt"), 0o755))
	must(t, os.Symlink("bin", filepath.Join(f.dir, "link")))
	must(t, os.Mkdir(filepath.Join(f.dir, "was-empty"), 0o755))
	f.base()
	before := f.scan().Hash()
	change := func() {
		f.command(func() {
			f.remove("keep/old.txt")
			f.write("bin", "2\x00")
			f.write("new/deep/a.txt", "a\n")
			f.write("was-empty/b", "b")
			f.write("empty", "x")
			f.remove("link")
			must(t, os.Symlink("empty", filepath.Join(f.dir, "link")))
		})
	}
	change()
	for _, c := range f.changes().Files {
		f.reject(c.Path)
	}
	if got := f.scan().Hash(); got != before || len(f.changes().Files) != 0 {
		t.Fatalf("rejecting everything did not bring the tree back: %s", f.changes().summary())
	}
	if fi, err := os.Stat(filepath.Join(f.dir, "keep/old.txt")); err != nil || fi.Mode().Perm() != 0o755 {
		t.Fatalf("mode of the file that came back: %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "new")); !os.IsNotExist(err) {
		t.Error("an empty folder of the session stayed")
	}
	if _, err := os.Stat(filepath.Join(f.dir, "was-empty")); err != nil {
		t.Error("a folder that was there before went")
	}
	change()
	plan, err := f.PlanAcceptAll(ctx, f.session, f.h)
	if err != nil || len(plan.Changes) != 6 || len(plan.Conflicts) != 0 {
		t.Fatalf("%+v %v", plan, err)
	}
	tree := f.scan().Hash()
	f.apply(plan.Changes...)
	f.apply(plan.Changes...) // again, as after a crash
	if c := f.changes(); len(c.Files) != 0 || f.scan().Hash() != tree {
		t.Fatalf("%s", c.summary())
	}
}

// Rejecting everything never takes the person's own later edits.
func TestRejectAllSparesYourEdits(t *testing.T) {
	f := newFixture(t)
	f.write("a", "a\n")
	f.write("b", "b\n")
	f.base()
	f.agent("a", "A\n")
	f.agent("b", "B\n")
	f.write("b", "B and mine\n")
	f.write("own", "mine\n")
	plan, err := f.PlanRejectAll(ctx, f.session, f.h)
	if err != nil || len(plan.Changes) != 1 || len(plan.Conflicts) != 2 {
		t.Fatalf("%+v %v", plan, err)
	}
	f.apply(plan.Changes...)
	if f.read("a") != "a\n" || f.read("b") != "B and mine\n" || f.read("own") != "mine\n" {
		t.Fatal("took too much")
	}
}

// What the person changed between the snapshot and the session's first write of a
// file is theirs: it is not under review, and rejecting keeps it.
func TestEditsBeforeTheFirstWriteAreYours(t *testing.T) {
	f := newFixture(t)
	f.write("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	f.base()
	f.write("a", "mine\n2\n3\n4\n5\n6\n7\n8\n9\n")
	f.write("new", "mine\n")
	f.agent("a", "mine\n2\n3\n4\n5\n6\n7\n8\nagent\n")
	f.agent("new", "mine\nagent\n")
	if got := f.changes().summary(); got != "modified a +1 -1; modified new +1 -0" {
		t.Fatal(got)
	}
	f.reject("a")
	f.reject("new")
	if f.read("a") != "mine\n2\n3\n4\n5\n6\n7\n8\n9\n" || f.read("new") != "mine\n" {
		t.Fatal("rejecting took the person's own lines")
	}
}

// An agent that ignores its own traces hides nothing that was there before.
func TestHiddenByGitignore(t *testing.T) {
	f := newFixture(t)
	f.write("data/a.csv", "a\n")
	f.write("data/b.csv", "b\n")
	f.base()
	f.command(func() {
		f.write(".gitignore", "data/\n")
	})
	if got := f.changes().summary(); got != "added .gitignore +1 -0" {
		t.Fatal(got)
	}
	f.command(func() { f.write("data/a.csv", "A\n") })
	if got := f.changes().summary(); !strings.Contains(got, "modified data/a.csv +1 -1") || strings.Contains(got, "b.csv") {
		t.Fatal(got)
	}
	f.reject("data/a.csv")
	if f.read("data/a.csv") != "a\n" {
		t.Fatal("not put back")
	}
}

// The events alone are enough to carry a change out after a crash.
func TestChangesOfEvents(t *testing.T) {
	f := newFixture(t)
	f.write("a", joinLines(numberedLines(20)))
	f.write("b", "b\n")
	must(t, os.Chmod(filepath.Join(f.dir, "b"), 0o755))
	f.base()
	l := numberedLines(20)
	l[1], l[10] = "x", "y"
	f.agent("a", joinLines(l))
	f.command(func() { f.remove("b") })
	a := f.change("a")
	acc, err := f.PlanAccept(ctx, f.session, f.h, "a", []string{a.Hunks[0].ID}, a.Post)
	if err != nil {
		t.Fatal(err)
	}
	rej, err := f.PlanReject(ctx, f.session, f.h, "b", nil, domain.Hash{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Change{acc, rej} {
		raw := c.Payload("person")
		f.reopen() // killed after the ledger had it
		f.handle()
		again := ChangesOf(f.session, raw)
		if len(again) != 1 {
			t.Fatal("no change of its event")
		}
		f.apply(again...)
		f.apply(again...)
	}
	if fi, err := os.Stat(filepath.Join(f.dir, "b")); err != nil || fi.Mode().Perm() != 0o755 || f.read("b") != "b\n" {
		t.Fatalf("%v %v", fi, err)
	}
	if c := f.change("a"); len(c.Hunks) != 1 {
		t.Fatalf("%+v", c)
	}
	if ChangesOf(f.session, domain.SessionRenamed{}) != nil {
		t.Fatal("a change of an event that decides none")
	}
}

func TestLargeFilesAreSeenNotShown(t *testing.T) {
	f := newFixture(t)
	big := strings.Repeat("0123456789abcdef", 9<<20/16)
	f.write("big", big)
	if b := f.base(); b.Skipped != 1 {
		t.Fatalf("%+v", b)
	}
	f.command(func() { f.write("big", big+"x") })
	if got := f.changes().summary(); got != "modified big +0 -0 tooBig" {
		t.Fatal(got)
	}
	_, err := f.PlanReject(ctx, f.session, f.h, "big", nil, domain.Hash{})
	code(t, err, domain.CodeUnavailable)
	plan, err := f.PlanRestore(ctx, f.session, f.h, nil)
	if err != nil || len(plan.Changes) != 0 || len(plan.Conflicts) != 1 {
		t.Fatalf("%+v %v", plan, err)
	}
	f.accept("big")
	if got := f.changes().summary(); got != "" {
		t.Fatal(got)
	}
}

// anyFile draws a file of any kind and an edit of it.
func anyFile(t *rapid.T) (pre, post []byte) {
	ls := func(label string) []string {
		return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "  x", "}"}), 0, 12).Draw(t, label)
	}
	a := ls("pre")
	b := slices.Clone(a)
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		i := rapid.IntRange(0, len(b)).Draw(t, "at")
		if rapid.Bool().Draw(t, "insert") || i == len(b) {
			b = slices.Insert(b, i, rapid.SampledFrom([]string{"new", "a", "}"}).Draw(t, "line"))
		} else {
			b = slices.Delete(b, i, i+1)
		}
	}
	kind := rapid.SampledFrom([]string{"lf", "crlf", "mixed", "utf16", "binary"}).Draw(t, "kind")
	enc := func(l []string) []byte {
		var sb strings.Builder
		for i, s := range l {
			sb.WriteString(s)
			if kind == "crlf" || kind == "mixed" && len(s)%2 == 0 {
				sb.WriteString("\r")
			}
			if i < len(l)-1 || len(l)%2 == 0 {
				sb.WriteString("\n")
			}
		}
		switch kind {
		case "utf16":
			out := []byte{0xff, 0xfe}
			for _, u := range utf16.Encode([]rune(sb.String())) {
				out = append(out, byte(u), byte(u>>8))
			}
			return out
		case "binary":
			return []byte("\x00" + sb.String())
		}
		return []byte(sb.String())
	}
	return enc(a), enc(b)
}

// R137, R160
// Whatever is accepted and rejected in whatever order, in the end the review base
// and the file are the same bytes, and each answer did exactly what it said.
func TestAnyAnswersAreExact(t *testing.T) {
	f := newFixture(t)
	rounds := 0
	rapid.Check(t, func(t *rapid.T) {
		if rounds++; rounds > 60 { // each flushes the disk some dozen times
			return
		}
		name := fmt.Sprintf("f%d", rounds)
		pre, post := anyFile(t)
		f.write(name, string(pre))
		f.session = domain.NewSessionID()
		f.base()
		f.agent(name, string(post))
		mode := rapid.SampledFrom([]string{"accept", "reject", "mixed"}).Draw(t, "mode")
		for step := 0; ; step++ {
			all := f.changes().Files
			if len(all) == 0 {
				break
			}
			if step > 40 || len(all) > 1 {
				t.Fatalf("no end: %+v", all)
			}
			var hunks []string
			if hs := all[0].Hunks; len(hs) > 0 {
				hunks = []string{hs[rapid.IntRange(0, len(hs)-1).Draw(t, "hunk")].ID}
			}
			if mode == "accept" || mode == "mixed" && rapid.Bool().Draw(t, "accept") {
				was := f.read(name)
				f.accept(name, hunks...)
				if f.read(name) != was {
					t.Fatal("accepting touched the file")
				}
			} else {
				f.reject(name, hunks...)
			}
		}
		got := []byte(f.read(name))
		if mode == "accept" && !bytes.Equal(got, post) || mode == "reject" && !bytes.Equal(got, pre) {
			t.Fatalf("%s: got %q from %q and %q", mode, got, pre, post)
		}
	})
}

func BenchmarkAgentStep(b *testing.B) {
	f := newFixture(b)
	for i := range 1000 {
		f.write(fmt.Sprintf("d%d/f%d", i/20, i), fmt.Sprint(i))
	}
	f.base()
	f.agent("d0/f0", "start")
	i := 0
	for b.Loop() {
		i++
		f.agent("d0/f0", fmt.Sprint("version ", i))
	}
}

func BenchmarkChanges(b *testing.B) {
	f := newFixture(b)
	for i := range 1000 {
		f.write(fmt.Sprintf("d%d/f%d", i/20, i), fmt.Sprint(i))
	}
	f.base()
	for i := range 20 {
		f.agent(fmt.Sprintf("d%d/f%d", i, i*20), "changed\n")
	}
	f.changes()
	for b.Loop() {
		f.changes()
	}
}
