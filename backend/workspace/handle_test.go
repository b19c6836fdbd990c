package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/workspace/rooted"
)

// R5, R10, R137
func TestWriteFileKeepsBothVersions(t *testing.T) {
	f := newFixture(t)
	f.write("dir/a.txt", "old\r\n")
	must(t, os.Chmod(filepath.Join(f.dir, "dir/a.txt"), 0o755))
	_, img, err := f.h.ReadFile("dir/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	fi, err := f.h.WriteFile(ctx, "dir/a.txt", img.Hash, []byte("new\r\n"), 0o600)
	if err != nil || fi.Path != "dir/a.txt" || fi.PreMode != 0o100755 || fi.PostMode != 0o100755 {
		t.Fatalf("%+v %v", fi, err)
	}
	for h, want := range map[domain.Hash]string{fi.Pre: "old\r\n", fi.Post: "new\r\n"} {
		r, err := f.Blob(h)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(b) != want {
			t.Errorf("%q %v", b, err)
		}
	}
	_, err = f.h.WriteFile(ctx, "dir/a.txt", img.Hash, []byte("x"), 0)
	code(t, err, domain.CodeConflict)
	var ch *rooted.Changed
	if !errors.As(err, &ch) || ch.Have != fi.Post {
		t.Errorf("no fresh hash: %v", err)
	}
	fi, err = f.h.Remove(ctx, "dir/a.txt", fi.Post)
	if err != nil || !fi.Post.IsZero() || f.read("dir/a.txt") != "<none>" {
		t.Fatalf("%+v %v", fi, err)
	}
}

// R6, R152, R156
func TestProtectedByAnyName(t *testing.T) {
	f := newFixture(t)
	f.write(".git/hooks/pre-commit", "#!/bin/sh\n")
	f.write("ok/x", "x")
	must(t, os.Symlink(".git", filepath.Join(f.dir, "g")))
	must(t, os.Symlink("../.vscode", filepath.Join(f.dir, "ok/v")))
	for _, p := range []string{".git/config", ".git/hooks/pre-commit", "g/hooks/pre-commit", "g/new", ".GIT/x", "sub/.git/hooks/x", ".vscode/tasks.json", "ok/v/tasks.json", ".mcp.json", ".MCP.json", ".envrc", ".husky/pre-push", ".worksite/rules", ".git"} {
		_, err := f.h.WriteFile(ctx, p, domain.Hash{}, []byte("x"), 0)
		code(t, err, domain.CodeForbidden)
	}
	if f.read(".git/hooks/pre-commit") != "#!/bin/sh\n" {
		t.Fatal("a hook was written")
	}
	for _, p := range []string{".github/workflows/ci.yml", ".gitignore", "AGENTS.md", "x.git", "sub/.mcp.json"} {
		if yes, why := f.h.Protected(p); yes {
			t.Errorf("%s: %s", p, why)
		}
	}
}

func TestLinksInside(t *testing.T) {
	f := newFixture(t)
	f.write("real/file", "old")
	must(t, os.Symlink("real/file", filepath.Join(f.dir, "link")))
	rel, err := f.h.Resolve(filepath.Join(f.dir, "link"))
	if err != nil || rel != "real/file" {
		t.Fatalf("%q %v", rel, err)
	}
	img, err := f.h.WriteFile(ctx, "link", domain.HashBytes([]byte("old")), []byte("new"), 0)
	if err != nil || img.Path != "real/file" || f.read("real/file") != "new" {
		t.Fatalf("%+v %v", img, err)
	}
	if to, _ := os.Readlink(filepath.Join(f.dir, "link")); to != "real/file" {
		t.Fatal("the link was replaced")
	}
	entries, err := f.h.ReadDir(".")
	if err != nil || len(entries) != 2 || entries[0].Name() != "link" {
		t.Fatalf("%v %v", entries, err)
	}
	_, err = f.h.ReadDir("../")
	code(t, err, domain.CodeForbidden)
}

// R15
func TestImport(t *testing.T) {
	f := newFixture(t)
	src := filepath.Join(f.top, "drop")
	name := "Umsätze 50% (neu).csv"
	writeFile(t, filepath.Join(src, name), "a;b\n")
	writeFile(t, filepath.Join(src, "sub/deep/x.txt"), "x")
	must(t, os.Symlink("/etc/passwd", filepath.Join(src, "link")))
	before, _ := os.Stat(filepath.Join(src, name))
	for i, want := range []string{name, "Umsätze 50% (neu) (2).csv", "Umsätze 50% (neu) (3).csv"} {
		list, err := f.h.ImportPath(ctx, filepath.Join(src, name))
		if err != nil || len(list) != 1 || list[0].Path != want || list[0].Name != name || list[0].SHA256 != domain.HashBytes([]byte("a;b\n")) || list[0].Size != 4 {
			t.Fatalf("%d: %+v %v", i, list, err)
		}
		if f.read(want) != "a;b\n" || !strings.HasPrefix(list[0].MediaType, "text/csv") {
			t.Errorf("%+v", list[0])
		}
	}
	after, _ := os.Stat(filepath.Join(src, name))
	if !after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		t.Error("the original was touched")
	}
	list, err := f.h.ImportPath(ctx, src)
	if err != nil || len(list) != 2 || f.read("drop/sub/deep/x.txt") != "x" || f.read("drop/"+name) != "a;b\n" {
		t.Fatalf("%+v %v", list, err)
	}
	if f.read("drop/link") != "<none>" {
		t.Error("a link was copied")
	}
	a, err := f.h.Import(ctx, "../../evil/..\\x\x00.png", "", strings.NewReader("p"))
	if err != nil || strings.Contains(a.Path, "/") || f.read(a.Path) != "p" {
		t.Errorf("%+v %v", a, err)
	}
	if a, err = f.h.Import(ctx, ".gitignore", "clipboard", strings.NewReader("x")); err != nil || a.Source != "clipboard" {
		t.Errorf("%+v %v", a, err)
	}
	_, err = f.h.Import(ctx, ".mcp.json", "", strings.NewReader("x"))
	code(t, err, domain.CodeForbidden)
	if a, err = f.h.Import(ctx, ".git", "", strings.NewReader("x")); err != nil || a.Path == ".git" {
		t.Errorf("%+v %v", a, err)
	}
	_, err = f.h.ImportPath(ctx, f.dir)
	code(t, err, domain.CodeInvalid)
	_, err = f.h.ImportPath(ctx, f.top)
	code(t, err, domain.CodeInvalid)
	_, err = f.h.ImportPath(ctx, filepath.Join(f.top, "none"))
	code(t, err, domain.CodeNotFound)
}
