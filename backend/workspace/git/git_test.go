package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"worksite/backend/domain"
)

var ctx = context.Background()

// raw runs the real git as a person would, with an empty home.
func raw(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t testing.TB, dir, rel, content string) {
	t.Helper()
	p := filepath.Join(dir, rel)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func folder(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git is not installed")
	}
	d, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ours is a Git whose person has a name.
func ours(t testing.TB) *Git {
	t.Helper()
	home := t.TempDir()
	write(t, home, ".gitconfig", "[user]\n\tname = Ann Example\n\temail = ann@example.org\n")
	return New(Config{Home: home})
}

func repo(t testing.TB) string {
	t.Helper()
	d := folder(t)
	raw(t, d, "init", "-q", "-b", "main")
	write(t, d, "a.txt", "a\n")
	write(t, d, "dir/b.txt", "b\n")
	raw(t, d, "add", "-A")
	raw(t, d, "commit", "-q", "-m", "first")
	return d
}

func status(t testing.TB, g *Git, dir string) *Status {
	t.Helper()
	st, err := g.Status(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// R155
func TestStatusInAllForms(t *testing.T) {
	g := ours(t)
	t.Run("no repository", func(t *testing.T) {
		if st := status(t, g, folder(t)); st != nil {
			t.Fatalf("%+v", st)
		}
		if first, remote := g.Origin(ctx, folder(t)); first != "" || remote != "" {
			t.Fatal("an origin of nothing")
		}
	})
	t.Run("no git", func(t *testing.T) {
		if st, err := New(Config{Path: "/nonexistent"}).Status(ctx, repo(t)); st != nil || err != nil {
			t.Fatalf("%+v %v", st, err)
		}
		_, err := New(Config{Path: "relative:/nonexistent"}).Commit(ctx, repo(t), Commit{Paths: []string{"a.txt"}, Message: "m"})
		if domain.CodeOf(err) != domain.CodeUnavailable || domain.HintOf(err) == "" {
			t.Fatalf("%v", err)
		}
	})
	t.Run("unborn", func(t *testing.T) {
		d := folder(t)
		raw(t, d, "init", "-q", "-b", "start")
		write(t, d, "x", "x")
		if st := status(t, g, d); st.Branch != "start" || !st.Unborn || st.Commit != "" || st.Changed != 1 {
			t.Fatalf("%+v", st)
		}
	})
	t.Run("branch", func(t *testing.T) {
		d := repo(t)
		write(t, d, "a.txt", "A\n")
		write(t, d, "new", "n")
		os.Remove(filepath.Join(d, "dir/b.txt"))
		st := status(t, g, d)
		if st.Branch != "main" || st.Commit != raw(t, d, "rev-parse", "HEAD") || st.Changed != 3 || st.Detached {
			t.Fatalf("%+v", st)
		}
		if first, _ := g.Origin(ctx, d); first != st.Commit {
			t.Fatalf("first commit: %q", first)
		}
		r, err := g.Find(d)
		if err != nil {
			t.Fatal(err)
		}
		if b, c := r.Head(); b != "main" || c != st.Commit {
			t.Fatalf("head: %q %q", b, c)
		}
		raw(t, d, "pack-refs", "--all")
		if b, c := r.Head(); b != "main" || c != st.Commit {
			t.Fatalf("packed head: %q %q", b, c)
		}
	})
	t.Run("detached", func(t *testing.T) {
		d := repo(t)
		raw(t, d, "checkout", "-q", "--detach")
		if st := status(t, g, d); !st.Detached || st.Branch != "" || st.Commit == "" {
			t.Fatalf("%+v", st)
		}
	})
	t.Run("subfolder", func(t *testing.T) {
		d := repo(t)
		write(t, d, "outside", "x")
		write(t, d, "dir/inside", "x")
		if st := status(t, g, filepath.Join(d, "dir")); st.Branch != "main" || st.Changed != 1 {
			t.Fatalf("%+v", st)
		}
	})
	t.Run("worktree", func(t *testing.T) {
		d := repo(t)
		w := filepath.Join(t.TempDir(), "w")
		raw(t, d, "worktree", "add", "-q", "-b", "side", w)
		write(t, w, "a.txt", "changed\n")
		if st := status(t, g, w); st.Branch != "side" || st.Changed != 1 {
			t.Fatalf("%+v", st)
		}
		id, err := g.Commit(ctx, w, Commit{Paths: []string{"a.txt"}, Message: "in the worktree"})
		if err != nil || raw(t, w, "rev-parse", "side") != id || raw(t, d, "rev-parse", "main") == id {
			t.Fatalf("%v", err)
		}
		r, _ := g.Find(w)
		if b, c := r.Head(); b != "side" || c != id {
			t.Fatalf("head: %q %q", b, c)
		}
	})
	t.Run("bare and worktrees", func(t *testing.T) {
		d, top := repo(t), folder(t)
		raw(t, top, "clone", "-q", "--bare", d, ".bare")
		w := filepath.Join(top, "w")
		raw(t, filepath.Join(top, ".bare"), "worktree", "add", "-q", "-b", "side", w)
		write(t, w, "n", "n")
		if st := status(t, g, w); st.Branch != "side" || st.Changed != 1 {
			t.Fatalf("%+v", st)
		}
		if _, err := g.Commit(ctx, w, Commit{Paths: []string{"n"}, Message: "n"}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("submodule", func(t *testing.T) {
		inner, d := repo(t), repo(t)
		raw(t, d, "submodule", "--quiet", "add", inner, "sub")
		raw(t, d, "commit", "-q", "-m", "sub")
		sub := filepath.Join(d, "sub")
		write(t, sub, "a.txt", "changed\n")
		if st := status(t, g, sub); st.Branch != "main" || st.Changed != 1 {
			t.Fatalf("inside: %+v", st)
		}
		if st := status(t, g, d); st.Changed != 0 {
			t.Fatalf("outside: %+v", st)
		}
		if _, err := g.Commit(ctx, sub, Commit{Paths: []string{"a.txt"}, Message: "inside"}); err != nil {
			t.Fatal(err)
		}
		if st := status(t, g, d); st.Changed != 1 {
			t.Fatalf("outside, after the commit inside: %+v", st)
		}
	})
}

func TestCommit(t *testing.T) {
	g := ours(t)
	d := repo(t)
	write(t, d, "a.txt", "A\n")
	write(t, d, "dir/b.txt", "B\n")
	write(t, d, "new/ü %41 'q'.txt", "n\n")
	raw(t, d, "add", "dir/b.txt") // staged by the person, not for us to commit
	os.WriteFile(filepath.Join(d, "x.sh"), []byte("#!/bin/sh\n"), 0o755)
	id, err := g.Commit(ctx, d, Commit{Paths: []string{"a.txt", "new/ü %41 'q'.txt", "x.sh"}, Message: "Change a\n\n# not a comment\nmore\n\n"})
	if err != nil {
		t.Fatal(err)
	}
	if got := raw(t, d, "show", "--no-renames", "--format=%an <%ae>|%cn|%B", "--name-status", "-z", id); !strings.HasPrefix(got, "Ann Example <ann@example.org>|Ann Example|Change a\n\n# not a comment\nmore") ||
		!strings.Contains(got, "M\x00a.txt") || !strings.Contains(got, "A\x00new/ü %41 'q'.txt") || strings.Contains(got, "b.txt") {
		t.Fatalf("%q", got)
	}
	if got := raw(t, d, "ls-tree", id, "x.sh"); !strings.HasPrefix(got, "100755") {
		t.Errorf("mode: %s", got)
	}
	if got := raw(t, d, "status", "--porcelain"); got != "M  dir/b.txt" {
		t.Fatalf("what was staged is not as before: %q", got)
	}
	// a deletion, on a new branch
	os.Remove(filepath.Join(d, "a.txt"))
	id2, err := g.Commit(ctx, d, Commit{Paths: []string{"a.txt"}, Message: "remove", Branch: "side/one"})
	if err != nil {
		t.Fatal(err)
	}
	if got := raw(t, d, "rev-parse", "HEAD", "side/one", "main", "--abbrev-ref", "HEAD"); got != strings.Join([]string{id2, id2, id, "side/one"}, "\n") {
		t.Fatalf("%q", got)
	}
	if got := raw(t, d, "log", "-1", "-g", "--format=%gs", "side/one"); got != "commit: remove" {
		t.Errorf("reflog: %q", got)
	}
	for name, c := range map[string]struct {
		Commit
		code domain.Code
	}{
		"nothing":      {Commit{Paths: []string{"x.sh"}, Message: "m"}, domain.CodeConflict},
		"no paths":     {Commit{Message: "m"}, domain.CodeInvalid},
		"no message":   {Commit{Paths: []string{"x.sh"}, Message: " \n"}, domain.CodeInvalid},
		"outside":      {Commit{Paths: []string{"../x"}, Message: "m"}, domain.CodeInvalid},
		"bad branch":   {Commit{Paths: []string{"dir/b.txt"}, Message: "m", Branch: "a..b"}, domain.CodeInvalid},
		"option":       {Commit{Paths: []string{"dir/b.txt"}, Message: "m", Branch: "-f"}, domain.CodeInvalid},
		"taken branch": {Commit{Paths: []string{"dir/b.txt"}, Message: "m", Branch: "main"}, domain.CodeConflict},
		"git's own":    {Commit{Paths: []string{".git/config"}, Message: "m"}, domain.CodeConflict},
	} {
		before := raw(t, d, "rev-parse", "HEAD")
		if _, err := g.Commit(ctx, d, c.Commit); domain.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if raw(t, d, "rev-parse", "HEAD") != before {
			t.Errorf("%s: something was committed", name)
		}
	}
}

func TestCommitSpecialStates(t *testing.T) {
	g := ours(t)
	t.Run("unborn", func(t *testing.T) {
		d := folder(t)
		raw(t, d, "init", "-q", "-b", "main")
		write(t, d, "x", "x")
		id, err := g.Commit(ctx, d, Commit{Paths: []string{"x"}, Message: "first"})
		if err != nil || raw(t, d, "rev-parse", "main") != id {
			t.Fatalf("%v", err)
		}
	})
	t.Run("detached", func(t *testing.T) {
		d := repo(t)
		raw(t, d, "checkout", "-q", "--detach")
		write(t, d, "x", "x")
		id, err := g.Commit(ctx, d, Commit{Paths: []string{"x"}, Message: "m"})
		if err != nil || raw(t, d, "rev-parse", "HEAD") != id || raw(t, d, "rev-parse", "main") == id {
			t.Fatalf("%v", err)
		}
	})
	t.Run("merge under way", func(t *testing.T) {
		d := repo(t)
		write(t, d, ".git/MERGE_HEAD", raw(t, d, "rev-parse", "HEAD")+"\n")
		write(t, d, "x", "x")
		if _, err := g.Commit(ctx, d, Commit{Paths: []string{"x"}, Message: "m"}); domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "a merge") {
			t.Fatalf("%v", err)
		}
	})
	t.Run("subfolder", func(t *testing.T) {
		d := repo(t)
		write(t, d, "dir/b.txt", "B\n")
		if _, err := g.Commit(ctx, filepath.Join(d, "dir"), Commit{Paths: []string{"b.txt"}, Message: "m"}); err != nil {
			t.Fatal(err)
		}
		if got := raw(t, d, "status", "--porcelain"); got != "" {
			t.Fatalf("%q", got)
		}
	})
	t.Run("no name", func(t *testing.T) {
		d := repo(t)
		write(t, d, "x", "x")
		_, err := New(Config{Home: t.TempDir()}).Commit(ctx, d, Commit{Paths: []string{"x"}, Message: "m"})
		if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(domain.HintOf(err), "user.name") {
			t.Fatalf("%v", err)
		}
	})
	t.Run("line endings as the person set them", func(t *testing.T) {
		home := t.TempDir()
		write(t, home, ".gitconfig", "[user]\nname = A\nemail = a@example.org\n[core]\nautocrlf = input\n")
		d := repo(t)
		write(t, d, "crlf.txt", "1\r\n2\r\n")
		id, err := New(Config{Home: home}).Commit(ctx, d, Commit{Paths: []string{"crlf.txt"}, Message: "m"})
		if err != nil || raw(t, d, "cat-file", "-s", id+":crlf.txt") != "4" {
			t.Fatalf("%v", err)
		}
		if b, _ := os.ReadFile(filepath.Join(d, "crlf.txt")); string(b) != "1\r\n2\r\n" {
			t.Fatal("the file was changed")
		}
	})
	t.Run("large file storage", func(t *testing.T) {
		d := repo(t)
		write(t, d, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
		write(t, d, "big.bin", "content")
		write(t, d, "x", "x")
		_, err := g.Commit(ctx, d, Commit{Paths: []string{"x", "big.bin"}, Message: "m"})
		if domain.CodeOf(err) != domain.CodeForbidden || !strings.Contains(err.Error(), "big.bin") {
			t.Fatalf("%v", err)
		}
		if _, err := g.Commit(ctx, d, Commit{Paths: []string{"x"}, Message: "m"}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("ignored", func(t *testing.T) {
		d := repo(t)
		write(t, d, ".gitignore", ".env\na.txt\n")
		write(t, d, ".env", "secret")
		write(t, d, "a.txt", "tracked before it was ignored")
		if _, err := g.Commit(ctx, d, Commit{Paths: []string{"a.txt", ".env"}, Message: "m"}); domain.CodeOf(err) != domain.CodeForbidden || !strings.Contains(err.Error(), ".env") {
			t.Fatalf("%v", err)
		}
		if _, err := g.Commit(ctx, d, Commit{Paths: []string{"a.txt"}, Message: "m"}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("locked", func(t *testing.T) {
		d := repo(t)
		write(t, d, "x", "x")
		write(t, d, ".git/index.lock", "")
		head := raw(t, d, "rev-parse", "HEAD")
		if _, err := g.Commit(ctx, d, Commit{Paths: []string{"x"}, Message: "m"}); domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "index.lock") {
			t.Fatalf("%v", err)
		}
		if raw(t, d, "rev-parse", "HEAD") != head {
			t.Fatal("committed although the index is locked")
		}
	})
}

// hostile sets every trap we know of. Each would leave a file in the canary folder,
// and control proves that it can.
func hostile(t *testing.T) (dir, canary string, trap func(string) string) {
	t.Helper()
	d := repo(t)
	canary = t.TempDir()
	trap = func(name string) string {
		p := filepath.Join(canary, "bin", name)
		write(t, canary, "bin/"+name, "#!/bin/sh\ntouch "+canary+"/hit-"+name+"\ncat 2>/dev/null\nexit 0\n")
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, h := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc", "fsmonitor-watchman", "post-rewrite"} {
		p := trap("hook-" + h)
		if err := os.Symlink(p, filepath.Join(d, ".git/hooks", h)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	write(t, d, ".gitattributes", "* filter=evil diff=evil merge=evil\n")
	write(t, d, "included.cfg", fmt.Sprintf("[filter \"evil\"]\n\tclean = %s\n\tsmudge = %s\n\tprocess = %s\n\trequired = true\n[filter \"Evil.Two\"]\n\tclean = %s\n",
		trap("clean"), trap("smudge"), trap("process"), trap("clean2")))
	cfg := fmt.Sprintf(`
[core]
	fsmonitor = %[1]s
	hooksPath = %[2]s
	pager = %[3]s
	editor = %[4]s
	sshCommand = %[5]s
	askPass = %[6]s
	gitProxy = %[7]s
	worktree = /
	attributesFile = ../.gitattributes
[include]
	path = ../included.cfg
[diff]
	external = %[8]s
[diff "evil"]
	command = %[9]s
	textconv = %[10]s
[alias]
	status = !%[11]s
	config = !%[11]s
	update-index = !%[11]s
	commit-tree = !%[11]s
[commit]
	gpgSign = true
[gpg]
	program = %[12]s
[user]
	signingKey = x
[credential]
	helper = !%[13]s
[pager]
	status = %[3]s
	config = %[3]s
[merge "evil"]
	driver = %[14]s
[gc]
	auto = 1
	recentObjectsHook = %[15]s
[remote "origin"]
	url = ext::%[16]s
	uploadpack = %[16]s
	promisor = true
	partialclonefilter = blob:none
[extensions]
	partialClone = origin
[protocol "ext"]
	allow = always
[protocol "file"]
	allow = always
[trailer "x"]
	command = %[17]s
[status]
	submoduleSummary = true
`, trap("fsmonitor"), filepath.Join(d, ".git/hooks"), trap("pager"), trap("editor"), trap("ssh"), trap("askpass"), trap("proxy"), trap("diffext"),
		trap("diffcmd"), trap("textconv"), trap("alias"), trap("gpg"), trap("credential"), trap("merge"), trap("gchook"), trap("remote"), trap("trailer"))
	f, err := os.OpenFile(filepath.Join(d, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(cfg); err != nil {
		t.Fatal(err)
	}
	f.Close()
	// a git of its own in the folder, for a PATH that leads there
	write(t, d, "bin/git", "#!/bin/sh\ntouch "+canary+"/hit-git\n")
	os.Chmod(filepath.Join(d, "bin/git"), 0o755)
	write(t, d, "a.txt", "changed\n") // stat-dirty: git wants to run the filter
	return d, canary, trap
}

func hits(t *testing.T, canary string) []string {
	t.Helper()
	m, err := filepath.Glob(filepath.Join(canary, "hit-*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range m {
		m[i] = filepath.Base(m[i])
		os.Remove(filepath.Join(canary, m[i]))
	}
	return m
}

// R156
func TestHostileRepositoryRunsNothing(t *testing.T) {
	d, canary, _ := hostile(t)
	// The control: an ordinary git walks into the traps.
	cmd := exec.Command("git", "--work-tree=.", "status", "--porcelain")
	cmd.Dir = d
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	out, _ := cmd.CombinedOutput()
	if got := hits(t, canary); len(got) < 2 {
		t.Fatalf("the traps do not work, so this proves nothing: %v\n%s", got, out)
	}
	home := t.TempDir()
	write(t, home, ".gitconfig", "[user]\nname = Ann\nemail = ann@example.org\n")
	g := New(Config{Home: home, Path: filepath.Join(d, "bin") + ":" + os.Getenv("PATH")})

	st, err := g.Status(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	if st.Branch != "main" || st.Changed == 0 || st.Changed > 10 {
		t.Errorf("%+v", st) // core.worktree=/ would show the whole disk
	}
	if got := hits(t, canary); got != nil {
		t.Errorf("status ran %v", got)
	}
	g.Origin(ctx, d)
	if got := hits(t, canary); got != nil {
		t.Errorf("origin ran %v", got)
	}
	if _, err := g.Commit(ctx, d, Commit{Paths: []string{"a.txt"}, Message: "m"}); domain.CodeOf(err) != domain.CodeForbidden || !strings.Contains(err.Error(), "evil") {
		t.Errorf("a filtered file was committed: %v", err)
	}
	if got := hits(t, canary); got != nil {
		t.Errorf("the refused commit ran %v", got)
	}
	write(t, d, ".gitattributes", "* diff=evil\n")
	for _, branch := range []string{"", "other"} {
		write(t, d, "a.txt", "for "+branch)
		if _, err := g.Commit(ctx, d, Commit{Paths: []string{"a.txt"}, Message: "m", Branch: branch}); err != nil {
			t.Errorf("commit: %v", err)
		}
		if got := hits(t, canary); got != nil {
			t.Errorf("commit ran %v", got)
		}
	}
}

// R156
// A planted .git file cannot make a commit land in somebody else's repository.
func TestPlantedGitFile(t *testing.T) {
	g := ours(t)
	victim, d := repo(t), folder(t)
	write(t, d, ".git", "gitdir: "+filepath.Join(victim, ".git")+"\n")
	write(t, d, "evil", "x")
	head := raw(t, victim, "rev-parse", "HEAD")
	if _, err := g.Commit(ctx, d, Commit{Paths: []string{"evil"}, Message: "m"}); domain.CodeOf(err) != domain.CodeForbidden {
		t.Fatalf("%v", err)
	}
	if raw(t, victim, "rev-parse", "HEAD") != head || raw(t, victim, "status", "--porcelain") != "" {
		t.Fatal("the other repository was changed")
	}
	link := folder(t)
	if err := os.Symlink(filepath.Join(victim, ".git"), filepath.Join(link, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Status(ctx, link); domain.CodeOf(err) != domain.CodeForbidden {
		t.Fatalf("link: %v", err)
	}
}

func TestOriginWithoutCredentials(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:pw@host.example/r.git": "https://host.example/r.git", "git@host.example:r.git": "git@host.example:r.git", "https://host.example/r@1": "https://host.example/r@1", "/a/b": "/a/b",
	} {
		if got := stripCredentials(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestInit(t *testing.T) {
	d := folder(t)
	write(t, d, "a", "a")
	g := ours(t)
	if err := g.Init(ctx, d, "Sample", "sample@example.org", "Begin"); err != nil {
		t.Fatal(err)
	}
	if st := status(t, g, d); st.Branch != "main" || st.Changed != 0 || st.Commit == "" {
		t.Fatalf("%+v", st)
	}
	if err := g.Init(ctx, d, "Sample", "sample@example.org", "Begin"); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("twice: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	c, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := ours(t).Status(c, repo(t)); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
}
