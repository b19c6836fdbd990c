package local

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

func TestFindHost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: paths of another kind")
	}
	home := filepath.Join(resolve(t.TempDir()), "ada")
	elsewhere := filepath.Join(resolve(t.TempDir()), "x") // temporary folders are never shown
	for _, d := range []string{
		".cargo/bin", ".rustup/toolchains", ".pyenv/shims", ".ssh", "bin", "private/bin", ".local/bin", ".local/share/uv", ".nvm/versions/node/v20/bin", "go/pkg/mod",
		"tools/go1.26/bin", "tools/go1.26/src",
	} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(home, ".cargo", "credentials.toml"), "CANARY")
	write(t, filepath.Join(home, "tools", "go1.26", "VERSION"), "go1.26")
	write(t, filepath.Join(home, "tools", "go1.26", "bin", "go"), "")
	if err := os.Chmod(filepath.Join(home, "tools", "go1.26", "bin", "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(elsewhere, "bin", "tool"), "")
	// A Python that a person put into ~/.local/bin must not open all of ~/.local.
	write(t, filepath.Join(home, ".local", "lib", "python3.12", "x"), "")
	write(t, filepath.Join(home, ".local", "bin", "python3"), "")
	if err := os.Chmod(filepath.Join(home, ".local", "bin", "python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := func(p string) string { return filepath.Join(home, p) }
	h := findHost(machine{
		home:     home,
		path:     at(".cargo/bin") + ":" + at(".pyenv/shims") + ":" + at("bin") + ":" + at("private/bin") + ":" + at(".local/bin") + ":" + at("tools/go1.26/bin") + ":" + home + ":relative:/usr/bin:" + filepath.Join(elsewhere, "bin") + ":" + at(".nvm/versions/node/v20/bin") + ":/no/such:/usr/bin",
		getenv:   func(string) string { return "" },
		readable: func(string) bool { return true },
	})
	want := []string{at(".cargo/bin"), at(".local/bin"), at(".local/share/uv"), at(".nvm/versions"), at(".pyenv"), at(".rustup"), at("tools/go1.26")}
	if !reflect.DeepEqual(h.Tools, want) {
		t.Errorf("tools %q", h.Tools)
	}
	for _, p := range []string{home, at("bin"), at("private/bin"), "relative", filepath.Join(elsewhere, "bin")} {
		if slices.Contains(h.Path, p) {
			t.Errorf("PATH has %s", p)
		}
	}
	for _, p := range []string{at(".cargo/bin"), at(".pyenv/shims"), at("tools/go1.26/bin"), "/usr/bin"} {
		if !slices.Contains(h.Path, p) {
			t.Errorf("PATH lacks %s: %q", p, h.Path)
		}
	}
	if h.Env["RUSTUP_HOME"] != at(".rustup") || h.Env["PYENV_ROOT"] != at(".pyenv") || h.GoModules != at("go/pkg/mod") {
		t.Errorf("environment %v, modules %s", h.Env, h.GoModules)
	}
	for _, tool := range h.Tools {
		if within(home, tool) || within(at(".cargo/credentials.toml"), tool) || within(at(".ssh"), tool) {
			t.Errorf("%s shows what is personal", tool)
		}
	}
}

func TestHidden(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: permissions of another kind")
	}
	root := resolve(t.TempDir())
	for name, mode := range map[string]os.FileMode{
		"passwd": 0o644, "shadow": 0o640, "empty": 0o600, "app/conf": 0o644, "app/key": 0o600,
		"many/a": 0o600, "many/b": 0o600, "many/c": 0o600, "many/d": 0o640, "many/e": 0o644, "closed/x": 0o644,
	} {
		p := filepath.Join(root, name)
		text := "x"
		if name == "empty" {
			text = ""
		}
		write(t, p, text)
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "closed"), 0o750); err != nil {
		t.Fatal(err)
	}
	relink(t, filepath.Join(root, "link"), "shadow")
	got := hidden(machine{readable: func(string) bool { return true }}, root)
	var inside []string
	for _, p := range got {
		if rel, err := filepath.Rel(root, p); err == nil && filepath.IsLocal(rel) {
			if p[len(p)-1] == '/' {
				rel += "/"
			}
			inside = append(inside, rel)
		}
	}
	slices.Sort(inside)
	if want := []string{"app/key", "closed/", "many/", "shadow"}; !slices.Equal(inside, want) {
		t.Errorf("hidden %q", inside)
	}
	if got := hidden(machine{readable: func(string) bool { return false }}, root); len(got) != 0 {
		t.Errorf("hides what this user cannot read anyway: %q", got)
	}
}

func TestSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, "[core] hooksPath = \"a b\" ; c\n\tworktree = ../w\n[Include]\n path = x.inc\n[includeIf \"gitdir:~/\"]\n\tPATH = \\\"q\n[remote \"o\"]\n\tpath = no\n[extensions]\nworktreeConfig\n# [core]\n")
	got := readSettings(file)
	want := settings{paths: []configuredPath{{"a b", true}, {"x.inc", false}, {`"q`, false}}, worktree: "../w", worktreeConfig: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("settings %+v", got)
	}
	if got := readSettings(file + "missing"); !reflect.DeepEqual(got, settings{}) {
		t.Errorf("settings of nothing %+v", got)
	}
}
