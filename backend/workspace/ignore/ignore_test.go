package ignore

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// gitIgnored asks the real git which of the paths it ignores.
func gitIgnored(t fataler, root, file string, paths []string) map[string]bool {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "-C", root, "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent"}
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00"))
	var errb bytes.Buffer
	cmd.Stderr = &errb
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("git check-ignore: %v %s", err, errb.String())
	}
	m := map[string]bool{}
	for p := range strings.SplitSeq(string(out), "\x00") {
		m[p] = true
	}
	return m
}

// ours answers as a walk does: an ignored folder hides everything below it.
func ours(m *Matcher, p string) bool {
	isDir := strings.HasSuffix(p, "/")
	p = strings.TrimSuffix(p, "/")
	for i := range p {
		if p[i] == '/' && m.Match(p[:i], true) {
			return true
		}
	}
	return m.Match(p, isDir)
}

func needGit(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git is not installed")
	}
	root := t.TempDir()
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return root
}

func TestLikeGit(t *testing.T) {
	root := needGit(t)
	paths := []string{
		"a", "b.o", "dir/", "dir/a", "dir/b.o", "dir/sub/", "dir/sub/c.txt", "build/", "build/x", "x/build", "x/build/y",
		"foo/bar", "foo/bar/baz", "a b", "a b ", "#hash", "!bang", "node_modules/", "x/node_modules/q", "doc/a.pdf", "doc/x/a.pdf",
		"log/debug.log", "log/keep.log", "Foo", "foo1", "foo-x", "café.txt", "x/y/z/deep.tmp", "back\\slash", "[x]", "a]b", "ab", "a-b",
	}
	for _, p := range paths {
		if strings.HasSuffix(p, "/") {
			if err := os.MkdirAll(filepath.Join(root, p), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, file := range []string{
		"*.o", "dir/", "/build", "build", "build/", "foo/*", "foo/**", "**/node_modules", "**/sub/**", "doc/*.pdf", "doc/**/*.pdf",
		"log/*\n!log/keep.log", "*.log\n!keep.log", "\\#hash", "\\!bang", "a b", "a b\\ ", "a b   ", "# comment\na", "foo[0-9]", "foo[!0-9]*",
		"[[:upper:]]*", "fo?", "*", "/*\n!/dir", "*.t?t", "caf*", "x/**/deep.tmp", "**", "**/", "a\\", "[", "[a", "[]]", "a[]]b", "[\\]]", "a[--.]b",
		"a**b", "**foo", "foo**bar/baz", "\xef\xbb\xbfa", "a\r\nb.o\r\n", "/", "//", "!", "back\\\\slash", "\\[x\\]", "foo/bar/", "/foo/bar", "foo//bar", "./a",
	} {
		// git looks at the disk to tell folders; with a trailing slash it would
		// match "sub/**" against "sub/" itself
		var bare []string
		for _, p := range paths {
			bare = append(bare, strings.TrimSuffix(p, "/"))
		}
		want := gitIgnored(t, root, file, bare)
		m := (*Matcher)(nil).Enter("", []byte(file))
		for i, p := range paths {
			if got := ours(m, p); got != want[bare[i]] {
				t.Errorf("%q on %q: got %v, git says %v", file, p, got, want[p])
			}
		}
	}
}

func TestNested(t *testing.T) {
	m := (*Matcher)(nil).Enter("", []byte("*.log\n/only"))
	sub := m.Enter("sub", []byte("!keep.log\n/local\n"))
	for p, want := range map[string]bool{
		"sub/keep.log": false, "sub/x.log": true, "sub/local": true, "sub/deep/local": false, "sub/only": false, "sub/deep/keep.log": false,
	} {
		if got := sub.Match(p, false); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
	if m.Match("keep.log", false) != true || m.Match("local", false) {
		t.Error("a nested file reached upwards")
	}
	if (*Matcher)(nil).Match("x", false) {
		t.Error("no patterns ignore nothing")
	}
}

func TestHostilePatternEnds(t *testing.T) {
	m := (*Matcher)(nil).Enter("", []byte(strings.Repeat("*a", 40)+"b/x"))
	done := make(chan bool)
	go func() { done <- m.Match(strings.Repeat("a", 300)+"/x", false) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("matching does not end")
	}
}

// Random patterns over random paths agree with git, many paths per call of it.
func TestRandomLikeGit(t *testing.T) {
	root := needGit(t)
	el := rapid.StringOfN(rapid.RuneFrom([]rune("ab*?[]!-\\.")), 1, 5, -1)
	name := rapid.StringOfN(rapid.RuneFrom([]rune("ab-!.")), 1, 3, -1)
	tried := 0
	rapid.Check(t, func(t *rapid.T) {
		if tried++; tried > 60 {
			return // one git process each
		}
		file := strings.Join(rapid.SliceOfN(el, 1, 3).Draw(t, "pattern"), "/")
		if rapid.Bool().Draw(t, "rooted") {
			file = "/" + file
		}
		var paths []string
		for range 40 {
			p := strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "path"), "/")
			if strings.Contains("/"+p+"/", "/./") || strings.Contains("/"+p+"/", "/../") {
				continue
			}
			paths = append(paths, p)
		}
		if len(paths) == 0 {
			return
		}
		want := gitIgnored(t, root, file, paths)
		m := (*Matcher)(nil).Enter("", []byte(file))
		for _, p := range paths {
			if got := ours(m, p); got != want[p] {
				t.Fatalf("%q on %q: got %v, git says %v", file, p, got, want[p])
			}
		}
	})
}
