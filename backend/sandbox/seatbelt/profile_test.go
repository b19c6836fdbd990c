package seatbelt

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	host = Host{Home: "/Users/ada", Tools: []string{"/Users/ada/.rustup", "/Users/ada/.cargo/bin"}, Tmp: "/private/var/folders/x/worksite-1"}
	spec = sandbox.Spec{
		Workspace: "/Users/ada/src/cleaning", Network: sandbox.NetworkNone, Writable: []string{"/Users/ada/Library/Application Support/Worksite/cache/1"},
		ReadOnly: []string{"/Volumes/reference"}, Protected: []string{".envrc", ".vscode/", "AGENTS.md", "docs/rules/team.md"},
	}
)

// R78, R80: pure function; never run on a Mac so far.
func TestProfileGolden(t *testing.T) {
	odd := spec
	odd.Workspace = `/Users/ada/a "quoted" (name) \ ünïcode`
	for name, s := range map[string]sandbox.Spec{"workspace": spec, "odd-name": odd} {
		t.Run(name, func(t *testing.T) {
			got, err := Profile(s, host)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".sb")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("profile differs:\n%s", got)
			}
		})
	}
	if argv := Argv("(version 1)", []string{"a;b", "c"}); !slices.Equal(argv, []string{"/usr/bin/sandbox-exec", "-p", "(version 1)", "--", "a;b", "c"}) {
		t.Errorf("argv %q", argv)
	}
}

func TestRefused(t *testing.T) {
	for name, change := range map[string]func(*sandbox.Spec, *Host){
		"newline":     func(s *sandbox.Spec, _ *Host) { s.Workspace = "/a\n(allow default)" },
		"not UTF-8":   func(s *sandbox.Spec, _ *Host) { s.Workspace = "/a\xff" },
		"invisible":   func(s *sandbox.Spec, _ *Host) { s.Workspace = "/a\u202eb" },
		"relative":    func(s *sandbox.Spec, _ *Host) { s.Workspace = "a" },
		"root":        func(s *sandbox.Spec, _ *Host) { s.ReadOnly = []string{"/"} },
		"unclean":     func(s *sandbox.Spec, _ *Host) { s.Writable = []string{"/a/../Users"} },
		"no home":     func(_ *sandbox.Spec, h *Host) { h.Home = "" },
		"network":     func(s *sandbox.Spec, _ *Host) { s.Network = "host" },
		"unsandboxed": func(s *sandbox.Spec, _ *Host) { s.Unsandboxed = true },
	} {
		s, h := spec, host
		change(&s, &h)
		if _, err := Profile(s, h); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// R80: no name of a folder can add a rule, and the denials stand after what they restrict.
func TestProfileCannotBeInjected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z()"\\ ;#]{1,20}`).Draw(t, "name")
		s := spec
		s.Workspace = "/Users/ada/x" + name + "x"
		got, err := Profile(s, host)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Profile(spec, host)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := strings.Count(got, "\n"), strings.Count(want, "\n"); a != b {
			t.Fatalf("%d lines, %d without the name", a, b)
		}
		depth, quoted := 0, false
		for i := 0; i < len(got); i++ {
			switch c := got[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '(':
				depth++
			case c == ')':
				depth--
			case c == '\n' && depth != 0:
				t.Fatalf("a rule goes on over a line: %s", got[:i])
			}
		}
		if depth != 0 || quoted {
			t.Fatalf("unbalanced: %s", got)
		}
		if last := strings.LastIndex(got, "(allow "); last > strings.Index(got, "(deny file-write* ") {
			t.Fatal("something is allowed after the protected paths were denied")
		}
	})
}
