package sandbox

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// R125
func TestHash(t *testing.T) {
	base := Spec{Workspace: "/w", Network: NetworkNone, Env: map[string]string{"A": "1", "B": "2"}, Protected: []string{"x"}}
	same := Spec{Workspace: "/w", Network: NetworkNone, Env: map[string]string{"B": "2", "A": "1"}, Protected: []string{"x"}}
	if base.Hash() != same.Hash() {
		t.Error("equal specs have different hashes")
	}
	// The hash stands in the ledger, so it must never change by itself.
	const golden = "7acb9e7e4d6fb324536b48247dc7bafb6ec554bf738ef53bec7c1f8d17c09839"
	if h := (Spec{Workspace: "/w", Network: NetworkNone}).Hash().String(); h != golden {
		t.Errorf("hash of the golden spec is %s", h)
	}
	seen := map[string]int{base.Hash().String(): -1}
	for i, change := range []func(*Spec){
		func(s *Spec) { s.Workspace = "/v" },
		func(s *Spec) { s.ReadOnly = []string{"/r"} },
		func(s *Spec) { s.Writable = []string{"/r"} },
		func(s *Spec) { s.Protected = nil },
		func(s *Spec) { s.Network = "host" },
		func(s *Spec) { s.Env = map[string]string{"A": "1"} },
		func(s *Spec) { s.Limits.CPU = time.Second },
		func(s *Spec) { s.Limits.Memory = 1 },
		func(s *Spec) { s.Unsandboxed = true },
	} {
		s := base
		change(&s)
		if j, dup := seen[s.Hash().String()]; dup {
			t.Errorf("change %d hashes as %d", i, j)
		}
		seen[s.Hash().String()] = i
	}
}

func TestLimitsFill(t *testing.T) {
	if got := (Limits{}).Fill(); got != DefaultLimits {
		t.Errorf("zero limits are %+v", got)
	}
	set := Limits{1, 2, 3, 4, 5, 6}
	if set.Fill() != set {
		t.Error("set limits were changed")
	}
}

func TestTripwire(t *testing.T) {
	dir := t.TempDir()
	setuid := filepath.Join(dir, "tool")
	if err := os.WriteFile(setuid, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(setuid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]bool{
		"sub/.git": true, "sub/.git/config": true, "sub/.git/hooks/post-checkout": true, "sub/.git/hooks/post-checkout.sample": false,
		".git/index": false, ".git/objects/ab/cd": false, ".git/info/attributes": true, ".git/info/exclude": false,
		".git/modules/x/config": true, ".git/modules/a/b/hooks/pre-commit": true, ".git/modules/x/index": false, ".git/commondir": true,
		".git/worktrees/w/commondir": true, ".GIT/config": true,
		".envrc": true, "deep/.envrc": true, ".ENVRC": true, ".vscode/tasks.json": true, ".husky/pre-commit": true, "agents.md": true, "conftest.py": true,
		"main.go": false, "docs/agents.html": false, "envrc": false, setuid: true, filepath.Join(dir, "missing"): false, "x.desktop": true,
	} {
		got := Tripwire([]string{p})
		if (len(got) == 1) != want {
			t.Errorf("%s: %v", p, got)
		}
		if len(got) == 1 && !strings.HasPrefix(got[0], p+": ") {
			t.Errorf("does not begin with the path: %q", got[0])
		}
	}
	if got := Tripwire([]string{"b.go", "a/.envrc", ".envrc"}); !reflect.DeepEqual([]string{got[0][:8], got[1][:6]}, []string{"a/.envrc", ".envrc"}) {
		t.Errorf("order is not kept: %v", got)
	}
}
