package appcontainer

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	host = Host{SystemRoot: `C:\Windows`, Tmp: `C:\Users\Ada\AppData\Local\Worksite\tmp\1`, Path: []string{`C:\Program Files\Git\cmd`}, Tools: []string{`C:\Program Files\Go`}}
	spec = sandbox.Spec{
		Workspace: `C:\Users\Ada\src\cleaning`, Network: sandbox.NetworkNone, Writable: []string{`C:\Users\Ada\AppData\Local\Worksite\cache\1`},
		Protected: []string{".envrc", ".vscode/", "AGENTS.md"}, Env: map[string]string{"GOCACHE": `C:\Users\Ada\AppData\Local\Worksite\cache\1\go-build`},
		Limits: sandbox.Limits{Processes: 64, Memory: 2 << 30, CPU: time.Minute},
	}
	command = sandbox.Command{Argv: []string{"bash.exe", "-c", `echo "a b" > c\`}}
)

// R78, R81: pure function; never run on Windows so far.
func TestPlanGolden(t *testing.T) {
	l, err := Plan(spec, command, host)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "launch.json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("launch differs:\n%s", got)
	}
	if l.Job.Flags&LimitKillOnClose == 0 || len(l.Capabilities) != 0 || l.Grants[0].Right != Deny {
		t.Error("the launch lets more through than it may")
	}
}

func TestRefused(t *testing.T) {
	for name, change := range map[string]func(*sandbox.Spec, *sandbox.Command){
		"network":      func(s *sandbox.Spec, _ *sandbox.Command) { s.Network = "host" },
		"unsandboxed":  func(s *sandbox.Spec, _ *sandbox.Command) { s.Unsandboxed = true },
		"nothing":      func(_ *sandbox.Spec, c *sandbox.Command) { c.Argv = nil },
		"batch file":   func(_ *sandbox.Spec, c *sandbox.Command) { c.Argv = []string{`x.BAT .`, "&calc"} },
		"NUL":          func(_ *sandbox.Spec, c *sandbox.Command) { c.Argv = []string{"a", "b\x00"} },
		"quoted name":  func(_ *sandbox.Spec, c *sandbox.Command) { c.Argv = []string{`a" b`} },
		"escape":       func(s *sandbox.Spec, _ *sandbox.Command) { s.Protected = []string{"../x"} },
		"stream":       func(s *sandbox.Spec, _ *sandbox.Command) { s.Protected = []string{"x:y"} },
		"drive":        func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace = `C:\` },
		"device":       func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace = `\\?\C:\x` },
		"share":        func(s *sandbox.Spec, _ *sandbox.Command) { s.ReadOnly = []string{`\\server\x`} },
		"slashes":      func(s *sandbox.Spec, _ *sandbox.Command) { s.ReadOnly = []string{`C:/x`} },
		"trailing dot": func(s *sandbox.Spec, _ *sandbox.Command) { s.ReadOnly = []string{`C:\x.`} },
		"climbing":     func(s *sandbox.Spec, _ *sandbox.Command) { s.Writable = []string{`C:\x\..\Users`} },
	} {
		s, c := spec, command
		change(&s, &c)
		if _, err := Plan(s, c, host); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := CommandLine([]string{"a", strings.Repeat("x", maxCommandLine)}); domain.CodeOf(err) != domain.CodeTooLarge {
		t.Errorf("too long: %v", err)
	}
}

// R110: what a program reads back is the argument vector, whatever is in it.
func TestCommandLineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		argv := append([]string{"prog.exe"}, rapid.SliceOfN(rapid.StringMatching(`[a \\"&|;%^\t]{0,8}`), 0, 5).Draw(t, "args")...)
		line, err := CommandLine(argv)
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(line); !slices.Equal(got, argv) {
			t.Fatalf("%q is read as %q from %s", argv, got, line)
		}
	})
}

// parse reads a command line by the rules that the C runtime documents.
func parse(line string) []string {
	end := strings.IndexByte(line[1:], '"') + 1
	argv, rest := []string{line[1:end]}, line[end+1:]
	for {
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" {
			return argv
		}
		var b strings.Builder
		quoted := false
		for rest != "" && (quoted || rest[0] != ' ' && rest[0] != '\t') {
			n := len(rest) - len(strings.TrimLeft(rest, `\`))
			rest = rest[n:]
			if rest == "" || rest[0] != '"' {
				b.WriteString(strings.Repeat(`\`, n))
				if n == 0 {
					b.WriteByte(rest[0])
					rest = rest[1:]
				}
				continue
			}
			b.WriteString(strings.Repeat(`\`, n/2))
			if n%2 == 1 {
				b.WriteByte('"')
			} else {
				quoted = !quoted
			}
			rest = rest[1:]
		}
		argv = append(argv, b.String())
	}
}
