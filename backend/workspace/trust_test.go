package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"worksite/backend/domain"
)

func (f *fixture) trusted() bool {
	f.t.Helper()
	ok, err := f.Trusted(ctx, f.ws.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return ok
}

// R22, R156
func TestTrustIsBoundToContent(t *testing.T) {
	f := newFixture(t)
	f.write("AGENTS.md", "be nice")
	f.write("claude.md", "be quick")
	f.write(".mcp.json", "{}")
	f.write(".worksite/settings.json", "{}")
	f.write(".worksite/skills/x/SKILL.md", "skill")
	f.write("sub/AGENTS.md", "not at the top")
	must(t, os.Symlink("/etc/passwd", filepath.Join(f.dir, "GEMINI.md")))
	list, err := f.Gated(ctx, f.ws.ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range list {
		got = append(got, g.Path+":"+g.Kind)
	}
	want := "[.mcp.json:tools .worksite/settings.json:settings .worksite/skills/x/SKILL.md:skill AGENTS.md:instructions GEMINI.md:instructions claude.md:instructions]"
	if fmt.Sprint(got) != want {
		t.Fatalf("got %v", got)
	}
	if f.trusted() {
		t.Fatal("trusted by itself")
	}
	// a file that leads out of the folder can never be trusted
	if err := f.Trust(ctx, f.ws.ID, true); err != nil {
		t.Fatal(err)
	}
	if f.trusted() {
		t.Fatal("trusts a file that cannot be read")
	}
	f.remove("GEMINI.md")
	trust := func() {
		t.Helper()
		if err := f.Trust(ctx, f.ws.ID, true); err != nil {
			t.Fatal(err)
		}
		if !f.trusted() {
			t.Fatal("not trusted")
		}
	}
	trust()
	f.reopen()
	f.handle()
	if !f.trusted() {
		t.Fatal("forgotten")
	}
	if b, err := f.ReadTrusted(ctx, f.h, "AGENTS.md"); err != nil || string(b) != "be nice" {
		t.Fatalf("%q %v", b, err)
	}
	for name, change := range map[string]func(){
		"changed": func() { f.write("AGENTS.md", "be evil") },
		"added":   func() { f.write(".worksite/skills/y/SKILL.md", "more") },
		"removed": func() { f.remove(".mcp.json") },
	} {
		trust()
		change()
		if f.trusted() {
			t.Errorf("%s: still trusted", name)
		}
	}
	trust()
	f.write("AGENTS.md", "swapped after the look at the list")
	_, err = f.ReadTrusted(ctx, f.h, "AGENTS.md")
	code(t, err, domain.CodeForbidden)
	_, err = f.ReadTrusted(ctx, f.h, "sub/AGENTS.md")
	code(t, err, domain.CodeForbidden)

	shown, err := f.Gated(ctx, f.ws.ID)
	if err != nil {
		t.Fatal(err)
	}
	f.write("AGENTS.md", "changed while the person read")
	code(t, f.TrustShown(ctx, f.ws.ID, shown), domain.CodeConflict)
	if shown, err = f.Gated(ctx, f.ws.ID); err != nil {
		t.Fatal(err)
	}
	if err := f.TrustShown(ctx, f.ws.ID, shown); err != nil || !f.trusted() {
		t.Fatalf("%v", err)
	}
	if err := f.Trust(ctx, f.ws.ID, false); err != nil || f.trusted() {
		t.Fatalf("not taken back: %v", err)
	}
}
