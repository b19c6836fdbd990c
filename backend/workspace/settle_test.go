package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"worksite/backend/domain"
)

const tenLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

// R55, R135: killed between the record of an answer and its effect, or between the
// effect and what the workspace knows of it: once settled it is all one.
func TestSettle(t *testing.T) {
	for name, reached := range map[string]func(*testing.T, *fixture, Change){
		"recorded only": func(*testing.T, *fixture, Change) {},
		"carried out, not remembered": func(t *testing.T, f *fixture, c Change) {
			t.Helper()
			r, err := f.begun(ctx, f.session, f.h)
			must(t, err)
			must(t, f.put(ctx, f.h, c.File, r.tree))
		},
		"all of it": func(_ *testing.T, f *fixture, c Change) { f.apply(c) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("a", tenLines)
			f.base()
			f.agent("a", "agent\n2\n3\n4\n5\n6\n7\n8\n9\nagent\n")
			old := time.Now().Add(-time.Minute)
			must(t, os.Chtimes(filepath.Join(f.dir, "a"), old, old))
			open := f.changes().Files[0]
			c, err := f.PlanReject(ctx, f.session, f.h, "a", []string{open.Hunks[0].ID}, open.Post)
			must(t, err)
			recorded := time.Now().Add(-time.Second)
			reached(t, f, c)
			for range 2 { // by every process that comes
				must(t, f.Settle(ctx, f.h, recorded, ChangesOf(f.session, c.Payload("person"))...))
			}
			if got := f.read("a"); got != "1\n2\n3\n4\n5\n6\n7\n8\n9\nagent\n" {
				t.Errorf("the file is %q", got)
			}
			now := f.changes()
			if now.Rejected != 1 || len(now.Files) != 1 || now.Files[0].ByYou {
				t.Errorf("%d rejected, %+v", now.Rejected, now.Files)
			}
		})
	}
}

// What the person did after a restore is not undone by the next process.
func TestSettleLeavesWhatIsYours(t *testing.T) {
	f := newFixture(t)
	f.base()
	f.agent("a", "agent\n")
	f.agent("b", "agent\n")
	restore, err := f.PlanRestore(ctx, f.session, f.h, nil)
	must(t, err)
	f.apply(restore.Changes...)
	undo, err := f.PlanUndo(ctx, f.session, f.h, restore.Restored("", "person").Files)
	must(t, err)
	recorded := time.Now().Add(-time.Second)
	f.apply(undo.Changes...)
	must(t, os.Remove(filepath.Join(f.dir, "a")))
	f.write("b", "mine\n")
	must(t, f.Settle(ctx, f.h, recorded, ChangesOf(f.session, undo.Restored("", "person"))...))
	if _, err := os.Lstat(filepath.Join(f.dir, "a")); !os.IsNotExist(err) {
		t.Errorf("the file that was removed is back: %v", err)
	}
	if got := f.read("b"); got != "mine\n" {
		t.Errorf("the file is %q", got)
	}
	if code := domain.CodeOf(f.Apply(ctx, f.h, undo.Changes...)); code != domain.CodeConflict {
		t.Errorf("applied outright it would not even conflict (%s): the test shows nothing", code)
	}
}

// R55: an answer to a whole file counts its hunks, also when a later process
// carries it out from the ledger.
func TestSettleCountsWholeFiles(t *testing.T) {
	for _, kind := range []ChangeKind{ChangeAccept, ChangeReject} {
		f := newFixture(t)
		f.write("a", tenLines)
		f.base()
		f.agent("a", "agent\n2\n3\n4\n5\n6\n7\n8\n9\nagent\n")
		old := time.Now().Add(-time.Minute)
		must(t, os.Chtimes(filepath.Join(f.dir, "a"), old, old))
		plan := f.PlanAccept
		if kind == ChangeReject {
			plan = f.PlanReject
		}
		c, err := plan(ctx, f.session, f.h, "a", nil, domain.Hash{})
		must(t, err)
		for range 2 {
			must(t, f.Settle(ctx, f.h, time.Now(), ChangesOf(f.session, c.Payload("person"))...))
		}
		if now := f.changes(); now.Accepted+now.Rejected != 2 || len(now.Files) != 0 {
			t.Errorf("%s: %+v", kind, now)
		}
	}
}
