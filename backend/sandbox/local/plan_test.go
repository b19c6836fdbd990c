package local

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

// goldenHost is a machine that is the same everywhere.
var goldenHost = Host{
	Home: "/home/ada", User: "ada",
	Root:          []Mount{{Path: "/usr"}, {Path: "/bin", Link: "usr/bin"}, {Path: "/lib", Link: "usr/lib"}, {Path: "/etc"}},
	Hidden:        []string{"/etc/machine-id", "/etc/ssl/private/"},
	Tools:         []string{"/home/ada/.cargo/bin", "/home/ada/.rustup"},
	Path:          []string{"/home/ada/.cargo/bin", "/usr/bin", "/bin"},
	Env:           map[string]string{"RUSTUP_HOME": "/home/ada/.rustup"},
	GoModules:     "/home/ada/go/pkg/mod",
	DisableUserns: true,
	Inside:        "/home/ada/.local/share/worksite/sandbox/inside", Helper: "init-1",
}

// R78
func TestPlanGolden(t *testing.T) {
	for name, build := range map[string]func(t *testing.T, dir string) (workspace string, change func(*sandbox.Spec)){
		"plain-folder": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			write(t, filepath.Join(dir, "ws", "notes.txt"), "x")
			return "ws", nil
		},
		"git-repository": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			fakeRepository(t, filepath.Join(dir, "ws", ".git"), "")
			write(t, filepath.Join(dir, "ws", "AGENTS.md"), "x")
			write(t, filepath.Join(dir, "ws", "CLAUDE.md"), "x")
			write(t, filepath.Join(dir, "ws", ".vscode", "tasks.json"), "{}")
			return "ws", nil
		},
		"worktree": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			fakeWorktree(t, dir)
			return "wt", nil
		},
		"submodule": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			fakeRepository(t, filepath.Join(dir, "ws", ".git"), "")
			fakeRepository(t, filepath.Join(dir, "ws", ".git", "modules", "lib", "sub"), "[core]\n\tworktree = ../../../../sub\n")
			write(t, filepath.Join(dir, "ws", "sub", ".git"), "gitdir: ../.git/modules/lib/sub\n")
			return "ws", nil
		},
		"inside-a-submodule": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			fakeRepository(t, filepath.Join(dir, "ws", ".git", "modules", "sub"), "[core]\n\tworktree = ../../../sub\n")
			write(t, filepath.Join(dir, "ws", "sub", ".git"), "gitdir: ../.git/modules/sub\n")
			return "ws/sub", nil
		},
		"configured-hooks": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			fakeRepository(t, filepath.Join(dir, "ws", ".git"),
				"[core]\n\thooksPath = .husky/_ # comment\n[extensions]\n\tworktreeConfig = true\n[include]\n\tpath = ../shared.gitconfig\n\tpath = ~/.gitconfig\n")
			write(t, filepath.Join(dir, "ws", ".husky", "_", "pre-commit"), "x")
			return "ws", nil
		},
		"linked-rules": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			write(t, filepath.Join(dir, "ws", "docs", "rules.md"), "x")
			relink(t, filepath.Join(dir, "ws", "CLAUDE.md"), "AGENTS.md")
			relink(t, filepath.Join(dir, "ws", "AGENTS.md"), "docs/rules.md")
			relink(t, filepath.Join(dir, "ws", ".vscode"), "/etc")
			relink(t, filepath.Join(dir, "ws", ".idea"), "nowhere")
			return "ws", nil
		},
		"nested-protection": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			write(t, filepath.Join(dir, "ws", "a", "b", "c"), "x")
			return "ws", func(s *sandbox.Spec) { s.Protected = []string{"a/", "a/b/c", "a/b/missing"} }
		},
		"missing-hooks": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			fakeRepository(t, filepath.Join(dir, "ws", ".git"), "")
			if err := os.RemoveAll(filepath.Join(dir, "ws", ".git", "hooks")); err != nil {
				t.Fatal(err)
			}
			return "ws", nil
		},
		"not-utf8": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			write(t, filepath.Join(dir, "w\xff \n\x1b[2J", "file"), "x")
			return "w\xff \n\x1b[2J", nil
		},
		"everything": func(t *testing.T, dir string) (string, func(*sandbox.Spec)) {
			t.Helper()
			write(t, filepath.Join(dir, "ws", "a", "b", "rules"), "x")
			return "ws", func(s *sandbox.Spec) {
				s.ReadOnly = []string{"/data/reference"}
				s.Writable = []string{"/data/cache"}
				s.Protected = []string{"a/b/rules", "a/b/missing", "none/at/all"}
				s.Env = map[string]string{"CACHE": "/data/cache", "PATH": "/only"}
				s.Limits = sandbox.Limits{Processes: 1, OpenFiles: 2, FileSize: 3, Memory: 4, TmpSize: 5, CPU: 6 * time.Second}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS != "linux" && name == "not-utf8" {
				t.Skip("skipped: such names exist on Linux only")
			}
			dir := resolve(t.TempDir())
			ws, change := build(t, dir)
			spec := sandbox.Spec{Workspace: filepath.Join(dir, ws), Protected: DefaultProtected, Network: sandbox.NetworkNone}
			if change != nil {
				change(&spec)
			}
			facts, missing, err := gather(spec.Workspace, spec.Protected)
			if err != nil {
				t.Fatal(err)
			}
			facts.Ghosts, facts.Exclude = missing, "exclude-1"
			checkOrder(t, facts)
			plan := NewPlan(spec, goldenHost, facts)
			text := readable(plan.Argv("/usr/bin/bwrap", spec.Workspace, []string{"sh", "-c", "true"}), dir) + "\n" + readable(plan.Args, dir)
			golden(t, filepath.Join("testdata", "plan", name+".txt"), text)
			if again := NewPlan(spec, goldenHost, facts); !slices.Equal(again.Args, plan.Args) {
				t.Error("the same facts give another plan")
			}
		})
	}
}

// checkOrder proves that no later writable mount opens what an earlier one closed,
// other than a worktree's own folder.
func checkOrder(t *testing.T, facts Facts) {
	t.Helper()
	for i, b := range facts.Binds {
		for _, earlier := range facts.Binds[:i] {
			if b.Writable && !earlier.Writable && within(b.Path, earlier.Path) && !strings.Contains(b.Path, "/worktrees/") {
				t.Errorf("%s is opened again below %s", b.Path, earlier.Path)
			}
			if b.Writable && within(earlier.Path, b.Path) {
				t.Errorf("%s is covered by the writable %s", earlier.Path, b.Path)
			}
		}
	}
}

func TestRefusedFacts(t *testing.T) {
	for name, build := range map[string]func(t *testing.T, ws string){
		"hooks is a link": func(t *testing.T, ws string) {
			t.Helper()
			fakeRepository(t, filepath.Join(ws, ".git"), "")
			relink(t, filepath.Join(ws, ".git", "hooks"), "/tmp")
		},
		"config is a link": func(t *testing.T, ws string) {
			t.Helper()
			fakeRepository(t, filepath.Join(ws, ".git"), "")
			relink(t, filepath.Join(ws, ".git", "config"), "/tmp/config")
		},
		".git is a link": func(t *testing.T, ws string) {
			t.Helper()
			relink(t, filepath.Join(ws, ".git"), "/tmp")
		},
		"planted commondir": func(t *testing.T, ws string) {
			t.Helper()
			fakeRepository(t, filepath.Join(ws, ".git"), "")
			write(t, filepath.Join(ws, ".git", "commondir"), "../evil\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			ws := resolve(t.TempDir())
			build(t, ws)
			_, _, err := gather(ws, DefaultProtected)
			if domain.CodeOf(err) != domain.CodeForbidden || domain.HintOf(err) == "" {
				t.Fatalf("error is %v", err)
			}
		})
	}
	for _, p := range []string{"../x", "/etc/passwd", "a/../../x", ".", ""} {
		if _, _, err := gather(t.TempDir(), []string{p}); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("protected %q: %v", p, err)
		}
	}
}

// What a .git file names is agent-writable until it is protected: it must never
// decide alone what is mounted.
func TestForgedPointersAreNotFollowed(t *testing.T) {
	for name, build := range map[string]func(t *testing.T, dir, ws string){
		"secret folder": func(t *testing.T, dir, ws string) {
			t.Helper()
			write(t, filepath.Join(dir, "secret", "id_ed25519"), "CANARY")
			write(t, filepath.Join(ws, ".git"), "gitdir: ../secret\n")
		},
		"repository of another": func(t *testing.T, dir, ws string) {
			t.Helper()
			fakeRepository(t, filepath.Join(dir, "secret", ".git"), "")
			write(t, filepath.Join(ws, ".git"), "gitdir: "+filepath.Join(dir, "secret", ".git")+"\n")
		},
		"worktree that names another": func(t *testing.T, dir, ws string) {
			t.Helper()
			common := filepath.Join(dir, "secret", ".git")
			fakeRepository(t, common, "")
			write(t, filepath.Join(common, "worktrees", "x", "commondir"), "../..\n")
			write(t, filepath.Join(common, "worktrees", "x", "gitdir"), filepath.Join(dir, "elsewhere", ".git")+"\n")
			write(t, filepath.Join(ws, ".git"), "gitdir: "+filepath.Join(common, "worktrees", "x")+"\n")
		},
		"worktree with a common folder elsewhere": func(t *testing.T, dir, ws string) {
			t.Helper()
			fakeRepository(t, filepath.Join(dir, "secret"), "")
			fakeRepository(t, filepath.Join(dir, "main", ".git"), "")
			x := filepath.Join(dir, "main", ".git", "worktrees", "x")
			write(t, filepath.Join(x, "commondir"), "../../../../secret\n")
			write(t, filepath.Join(x, "gitdir"), filepath.Join(ws, ".git")+"\n")
			write(t, filepath.Join(ws, ".git"), "gitdir: "+x+"\n")
		},
		"submodule of another": func(t *testing.T, dir, ws string) {
			t.Helper()
			fakeRepository(t, filepath.Join(dir, "secret", "modules", "m"), "[core]\n\tworktree = /elsewhere\n")
			write(t, filepath.Join(ws, ".git"), "gitdir: ../secret/modules/m\n")
		},
		"two lines": func(t *testing.T, dir, ws string) {
			t.Helper()
			write(t, filepath.Join(ws, ".git"), "gitdir: /etc\nx\n")
		},
		"nothing": func(t *testing.T, dir, ws string) {
			t.Helper()
			write(t, filepath.Join(ws, ".git"), "")
		},
		"hooks path outside": func(t *testing.T, dir, ws string) {
			t.Helper()
			fakeRepository(t, filepath.Join(ws, ".git"), "[core]\n\thooksPath = ../secret\n")
			write(t, filepath.Join(dir, "secret", "pre-commit"), "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := resolve(t.TempDir())
			ws := filepath.Join(dir, "ws")
			if err := os.Mkdir(ws, 0o755); err != nil {
				t.Fatal(err)
			}
			build(t, dir, ws)
			facts, missing, err := gather(ws, DefaultProtected)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range facts.Binds {
				if !within(b.Path, ws) {
					t.Errorf("mounts %s", b.Path)
				}
			}
			for _, g := range missing {
				if !within(g.Path, ws) {
					t.Errorf("placeholder at %s", g.Path)
				}
			}
		})
	}
}

func TestManySubmodulesAreReadOnlyAsOne(t *testing.T) {
	ws := resolve(t.TempDir())
	fakeRepository(t, filepath.Join(ws, ".git"), "")
	for i := range maxModules + 1 {
		fakeRepository(t, filepath.Join(ws, ".git", "modules", strconv.Itoa(i)), "")
	}
	facts, _, err := gather(ws, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Bind{filepath.Join(ws, ".git", "modules"), false}); !slices.Contains(facts.Binds, want) || len(facts.Binds) != 4 {
		t.Fatalf("binds %v", facts.Binds)
	}
}

// fakeRepository makes what a Git directory is recognised by, the same everywhere.
func fakeRepository(t *testing.T, dir, config string) {
	t.Helper()
	write(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(dir, "config"), config)
	for _, d := range []string{"objects", "refs", "hooks", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func fakeWorktree(t *testing.T, dir string) {
	t.Helper()
	common := filepath.Join(dir, "main", ".git")
	fakeRepository(t, common, "")
	write(t, filepath.Join(common, "worktrees", "wt", "HEAD"), "ref: refs/heads/w\n")
	write(t, filepath.Join(common, "worktrees", "wt", "commondir"), "../..\n")
	write(t, filepath.Join(common, "worktrees", "wt", "gitdir"), filepath.Join(dir, "wt", ".git")+"\n")
	write(t, filepath.Join(common, "worktrees", "other", "HEAD"), "ref: refs/heads/o\n")
	write(t, filepath.Join(dir, "wt", ".git"), "gitdir: "+filepath.Join(common, "worktrees", "wt")+"\n")
}

func relink(t *testing.T, name, to string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// readable writes an argument list with one option per line; unusual bytes quoted.
func readable(args []string, dir string) string {
	var b strings.Builder
	for i, a := range args {
		if strings.HasPrefix(a, "--") && i > 0 {
			b.WriteByte('\n')
		} else if i > 0 {
			b.WriteByte(' ')
		}
		a = strings.ReplaceAll(a, dir, "$T")
		if q := strconv.Quote(a); q != `"`+a+`"` || a == "" {
			a = q
		}
		b.WriteString(a)
	}
	return b.String() + "\n"
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		write(t, file, got)
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make it with -update", err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", file, got)
	}
}
