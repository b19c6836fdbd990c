package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"worksite/backend/domain"
)

func (f *fixture) state(id domain.WorkspaceID) Location {
	f.t.Helper()
	loc, err := f.Locate(ctx, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return loc
}

// R4
func TestOneFolderOneWorkspace(t *testing.T) {
	f := newFixture(t)
	alias := filepath.Join(f.top, "alias")
	if err := os.Symlink(f.dir, alias); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{f.dir, f.dir + "/", alias, alias + "/.", filepath.Join(f.dir, "..", "project")} {
		w, err := f.Add(ctx, p, domain.TaskCoding)
		if err != nil || w.ID != f.ws.ID || w.Path != f.dir {
			t.Errorf("%s: %+v %v", p, w, err)
		}
	}
	list, err := f.List(ctx)
	if err != nil || len(list) != 1 || list[0].Name != "project" || list[0].TaskKind != domain.TaskCoding {
		t.Fatalf("%+v %v", list, err)
	}
	if _, err := f.Get(ctx, "wsp_none"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("%v", err)
	}
}

// R6
func TestRefusedFolders(t *testing.T) {
	f := newStore(t)
	home := filepath.Join(f.top, "home")
	must(t, os.Symlink("/", filepath.Join(f.top, "rootlink")))
	must(t, os.MkdirAll(filepath.Join(f.top, "data/preimages"), 0o755))
	writeFile(t, filepath.Join(f.top, "file"), "x")
	for _, p := range []string{"/", home, f.top, filepath.Dir(f.top), filepath.Join(f.top, "data"), filepath.Join(f.top, "data/preimages"), filepath.Join(f.top, "rootlink"), "/etc", "/proc/self", home + "/../home"} {
		_, err := f.Add(ctx, p, "")
		code(t, err, domain.CodeForbidden)
		if domain.HintOf(err) == "" {
			t.Errorf("%s: no hint", p)
		}
	}
	_, err := f.Add(ctx, filepath.Join(f.top, "file"), "")
	code(t, err, domain.CodeInvalid)
	_, err = f.Add(ctx, filepath.Join(f.top, "none"), "")
	code(t, err, domain.CodeNotFound)
	_, err = f.Add(ctx, "", "")
	code(t, err, domain.CodeInvalid)
	must(t, os.MkdirAll(filepath.Join(home, "project"), 0o755))
	if _, err := f.Add(ctx, filepath.Join(home, "project"), ""); err != nil {
		t.Error(err)
	}
}

// R4, R8, R145
func TestMovedMissingReplaced(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "a")
	f.write("b.txt", "b")
	f.handle() // what it is known by is refreshed
	if loc := f.state(f.ws.ID); loc.State != StatePresent {
		t.Fatalf("%+v", loc)
	}
	moved := filepath.Join(f.top, "renamed")
	if err := os.Rename(f.dir, moved); err != nil {
		t.Fatal(err)
	}
	if loc := f.state(f.ws.ID); loc.State != StateMoved || loc.Path != moved {
		t.Fatalf("%+v", loc)
	}
	_, err := f.Handle(ctx, f.ws.ID)
	code(t, err, domain.CodeNotFound)
	if domain.HintOf(err) == "" {
		t.Error("no hint")
	}
	_, err = f.h.WriteFile(ctx, "new", domain.Hash{}, []byte("x"), 0) // an open handle does not write past the person
	code(t, err, domain.CodeConflict)

	// another folder takes its place: told apart, and still found
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if loc := f.state(f.ws.ID); loc.State != StateMoved || loc.Path != moved {
		t.Fatalf("%+v", loc)
	}
	other, err := f.Add(ctx, f.dir, "")
	if err != nil || other.ID == f.ws.ID {
		t.Fatalf("the folder in its place got its id: %v", err)
	}
	code(t, f.Relink(ctx, f.ws.ID, f.dir), domain.CodeConflict)
	if err := f.Relink(ctx, f.ws.ID, moved); err != nil {
		t.Fatal(err)
	}
	if w, _ := f.Get(ctx, f.ws.ID); w.Path != moved || f.state(f.ws.ID).State != StatePresent {
		t.Fatalf("%+v", w)
	}
	// the moved folder, opened by its new path, is the same workspace
	if w, err := f.Add(ctx, moved, ""); err != nil || w.ID != f.ws.ID {
		t.Fatalf("%+v %v", w, err)
	}

	// gone altogether, then a backup is put back: another folder, but it fits
	backup := filepath.Join(f.top, "elsewhere", "backup")
	if err := os.CopyFS(backup, os.DirFS(moved)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(moved); err != nil {
		t.Fatal(err)
	}
	if loc := f.state(f.ws.ID); loc.State != StateMissing {
		t.Fatalf("%+v", loc)
	}
	if err := os.CopyFS(moved, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	if loc := f.state(f.ws.ID); loc.State != StateReplaced || !strings.Contains(loc.Detail, "as it seems") {
		t.Fatalf("%+v", loc)
	}
	if err := f.Relink(ctx, f.ws.ID, moved); err != nil {
		t.Fatal(err)
	}
}

// A folder removed and made anew often gets the same inode: it is another folder
// all the same.
func TestReusedInode(t *testing.T) {
	f := newFixture(t)
	f.write("mine", "x")
	f.handle()
	for range 20 {
		if err := os.RemoveAll(f.dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(f.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		p, err := placeOf(f.dir)
		if err != nil {
			t.Fatal(err)
		}
		if p.born == 0 {
			t.Skip("skipped: this file system has no creation times")
		}
		if loc := f.state(f.ws.ID); loc.State != StateReplaced {
			t.Fatalf("%+v", loc)
		}
	}
}

// R4
func TestOtherRepositoryAtSamePath(t *testing.T) {
	f := newStore(t)
	f.dir = filepath.Join(f.top, "repo")
	must(t, os.Mkdir(f.dir, 0o755))
	f.write("a", "one")
	f.runGit("init", "-q")
	f.runGit("add", "-A")
	f.runGit("commit", "-q", "-m", "one")
	w, err := f.Add(ctx, f.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(f.top, "clone")
	f.runGit("clone", "-q", f.dir, clone)
	os.RemoveAll(f.dir)
	must(t, os.Mkdir(f.dir, 0o755))
	f.write("a", "two")
	f.runGit("init", "-q")
	f.runGit("add", "-A")
	f.runGit("commit", "-q", "-m", "two")
	if loc := f.state(w.ID); loc.State != StateReplaced || !strings.Contains(loc.Detail, "begins with commit") {
		t.Fatalf("%+v", loc)
	}
	_, err = f.Handle(ctx, w.ID)
	code(t, err, domain.CodeConflict)
	err = f.Relink(ctx, w.ID, f.dir)
	code(t, err, domain.CodeConflict)
	if !strings.Contains(err.Error(), "begins with commit") {
		t.Errorf("does not say what differs: %v", err)
	}
	if err := f.Relink(ctx, w.ID, clone); err != nil {
		t.Errorf("a clone of the same repository: %v", err)
	}
}

func TestForgetAndAddAgain(t *testing.T) {
	f := newFixture(t)
	if err := f.Forget(ctx, f.ws.ID); err != nil {
		t.Fatal(err)
	}
	_, err := f.Get(ctx, f.ws.ID)
	code(t, err, domain.CodeNotFound)
	code(t, f.Forget(ctx, f.ws.ID), domain.CodeNotFound)
	if list, _ := f.List(ctx); len(list) != 0 {
		t.Fatalf("%v", list)
	}
	if w, err := f.Add(ctx, f.dir, ""); err != nil || w.ID != f.ws.ID {
		t.Fatalf("the same folder is another workspace: %v %v", w, err)
	}
	if _, err := os.Stat(f.dir); err != nil {
		t.Fatal("the folder went")
	}
}

// R15
func TestNewTask(t *testing.T) {
	f := newStore(t)
	a, err := f.NewTask(ctx, "Q3 Bericht / Ümlaut %41")
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.NewTask(ctx, "Q3 Bericht / Ümlaut %41")
	if err != nil || a.ID == b.ID || a.Path == b.Path || a.TaskKind != domain.TaskGeneral {
		t.Fatalf("%+v %+v %v", a, b, err)
	}
	if a.Name != "Q3 Bericht / Ümlaut %41" || filepath.Dir(a.Path) != filepath.Join(f.top, "data/tasks") {
		t.Fatalf("%+v", a)
	}
	for _, name := range []string{"", "..", ".git", ".", strings.Repeat("ü", 500)} {
		w, err := f.NewTask(ctx, name)
		if err != nil || filepath.Dir(w.Path) != filepath.Join(f.top, "data/tasks") {
			t.Errorf("%q: %+v %v", name, w, err)
		}
	}
	if _, err := f.Handle(ctx, a.ID); err != nil {
		t.Fatal(err)
	}
}

// R144
func TestDamagedDatabase(t *testing.T) {
	f := newFixture(t)
	f.write("a", "a")
	f.base()
	if err := f.Store.Close(); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(f.top, "data", "workspaces.db")
	b, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[:100], strings.Repeat("garbage ", 13))
	if err := os.WriteFile(db, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Store = nil
	f.reopen()
	if n := f.Notices(); len(n) != 1 || !strings.Contains(n[0], "damaged") {
		t.Fatalf("%v", n)
	}
	aside, _ := filepath.Glob(db + ".damaged-*")
	if len(aside) == 0 {
		t.Fatal("the damaged file was not set aside")
	}
	if _, err := f.Add(ctx, f.dir, ""); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	if n := f.Notices(); len(n) != 0 {
		t.Fatalf("said again: %v", n)
	}
}
