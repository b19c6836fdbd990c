package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"worksite/backend/domain"

	"worksite/backend/process"
	"worksite/backend/sandbox"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestPlaceholdersHoldAndGo(t *testing.T) {
	b := newBench(t)
	initRepository(t, b.ws)
	if err := os.RemoveAll(filepath.Join(b.ws, ".git", "hooks")); err != nil {
		t.Fatal(err)
	}
	r := b.sh("git status --porcelain; for f in AGENTS.md .envrc .vscode/x .worksite/x .git/hooks/x; do (echo x > $f) 2>/dev/null && echo wrote $f; done; true")
	if len(r.Head) != 0 || len(r.Planted) != 0 {
		t.Errorf("%q %v", r.Head, r.Planted)
	}
	if got := names(t, b.ws); got != ".git file" {
		t.Errorf("left in the workspace: %s", got)
	}
	if exists(filepath.Join(b.ws, ".git", "hooks")) {
		t.Error("a placeholder for the hooks is left")
	}
	if s := host(t, b.ws, "git", "status", "--porcelain"); s != "" {
		t.Errorf("status outside: %s", s)
	}
}

func TestPlaceholderThatAPersonTookOver(t *testing.T) {
	b := newBench(t)
	taken := filepath.Join(b.ws, "AGENTS.md")
	folder := filepath.Join(b.ws, ".vscode")
	b.run(sandbox.Command{Argv: []string{"bash", "-c", "echo go; sleep 0.3"}, OnOutput: func([]byte) {
		// A program on the host writes while the command runs.
		if err := os.Chmod(taken, 0o644); err != nil {
			t.Error(err)
		}
		write(t, taken, "mine\n")
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Error(err)
		}
		write(t, filepath.Join(folder, "settings.json"), "{}")
	}})
	if got := names(t, b.ws); got != ".vscode AGENTS.md" {
		t.Fatalf("workspace has %s", got)
	}
	if got, _ := os.ReadFile(taken); string(got) != "mine\n" {
		t.Errorf("the person's file is %q", got)
	}
}

func TestGhostsAreToldFromFiles(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "x")
	check := func(want bool, what string) {
		t.Helper()
		if ghostAt(p) != want {
			t.Errorf("%s: ghost is %v", what, !want)
		}
		if err := removeGhost(p); err != nil {
			t.Error(err)
		}
		if exists(p) == want {
			t.Errorf("%s: removed is %v", what, !want)
		}
		_ = os.RemoveAll(p)
	}
	for range 2 { // one that is there already is as good
		if !makeGhost(Ghost{p, false}) {
			t.Fatal("no ghost")
		}
	}
	check(true, "file")
	makeGhost(Ghost{p, true})
	check(true, "folder")
	makeGhost(Ghost{p, true})
	_ = os.Chmod(p, 0o755)
	check(false, "folder with other permissions")
	makeGhost(Ghost{p, false})
	_ = os.Chtimes(p, time.Now(), time.Now())
	check(false, "touched file")
	write(t, p, "")
	check(false, "a person's empty file")
	write(t, p, "text")
	_ = os.Chmod(p, 0o444)
	_ = os.Chtimes(p, domain.PlaceholderTime, domain.PlaceholderTime)
	check(false, "a file with text and our time")
	if makeGhost(Ghost{filepath.Join(dir, "no", "parent"), false}) {
		t.Error("a ghost without a parent")
	}
	old := syscall.Umask(0o077)
	made := makeGhost(Ghost{p, false})
	syscall.Umask(old)
	if !made {
		t.Error("no ghost under a strict umask")
	}
	check(true, "strict umask")
}

// A process that is killed in the middle of a command leaves placeholders; the next
// start removes them, and does not touch those of commands that run.
func TestSweepAfterACrash(t *testing.T) {
	b := newBench(t)
	other := resolve(t.TempDir())
	running, err := b.l.enter(sandbox.Spec{Workspace: other, Protected: DefaultProtected})
	if err != nil {
		t.Fatal(err)
	}
	crashed, err := b.l.enter(b.spec)
	if err != nil {
		t.Fatal(err)
	}
	crashed.lock.Close() // what the kernel does for a killed process
	if got := names(t, b.ws); !strings.Contains(got, "AGENTS.md") {
		t.Fatalf("no placeholders: %s", got)
	}
	again, err := New(Config{DataDir: b.l.cfg.DataDir, Helper: testHelper})
	if err != nil {
		t.Fatal(err)
	}
	if removed := again.Sweep(); len(removed) != len(DefaultProtected) {
		t.Errorf("removed %v", removed)
	}
	if got := names(t, b.ws); got != "" {
		t.Errorf("left: %s", got)
	}
	if got := names(t, other); !strings.Contains(got, "AGENTS.md") {
		t.Error("the placeholders of a running command were removed")
	}
	running.leave()
	if got := names(t, other); got != "" {
		t.Errorf("left: %s", got)
	}
}

func TestLastOneRemovesThePlaceholders(t *testing.T) {
	b := newBench(t)
	first, err := b.l.enter(b.spec)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.l.enter(b.spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.facts.Ghosts) != len(second.facts.Ghosts) {
		t.Errorf("placeholders %d and %d", len(first.facts.Ghosts), len(second.facts.Ghosts))
	}
	first.leave()
	if got := names(t, b.ws); !strings.Contains(got, "AGENTS.md") {
		t.Error("removed while a command runs")
	}
	second.leave()
	if got := names(t, b.ws); got != "" {
		t.Errorf("left: %s", got)
	}
}

// The common folder of Git cannot be held by a placeholder, so it is put out of action.
func TestPlantedCommonFolderIsRenamed(t *testing.T) {
	b := newBench(t)
	initRepository(t, b.ws)
	r := b.sh("mkdir -p evil/objects evil/refs && cp .git/HEAD evil/ && printf '[core]\\n\\tfsmonitor = touch ran\\n' > evil/config && echo ../evil > .git/commondir")
	if len(r.Planted) != 1 || !strings.HasPrefix(r.Planted[0], ".git/commondir: ") {
		t.Errorf("planted %v", r.Planted)
	}
	host(t, b.ws, "git", "status")
	if exists(filepath.Join(b.ws, "ran")) {
		t.Error("Git outside obeyed the planted settings")
	}
}

func TestPlantedRepositoryIsReported(t *testing.T) {
	b := newBench(t)
	r := b.sh("git init -q .")
	if len(r.Planted) != 1 || !strings.HasPrefix(r.Planted[0], ".git: ") {
		t.Errorf("planted %v", r.Planted)
	}
	if r := b.sh("git config core.fsmonitor id"); r.Code == 0 || len(r.Planted) != 0 {
		t.Errorf("the next command could change its settings: %+v", r)
	}
}

func TestReplacedLinkIsReported(t *testing.T) {
	b := newBench(t)
	write(t, filepath.Join(b.ws, "rules.md"), "x")
	relink(t, filepath.Join(b.ws, "AGENTS.md"), "rules.md")
	r := b.sh("(echo y >> AGENTS.md) 2>/dev/null && echo wrote; rm AGENTS.md; echo y > AGENTS.md")
	if strings.Contains(r.Text(), "wrote") || len(r.Planted) != 1 || !strings.HasPrefix(r.Planted[0], "AGENTS.md: ") {
		t.Errorf("%q %v", r.Text(), r.Planted)
	}
}

// A worktree: commits work, the control files of both repositories do not.
func TestWorktree(t *testing.T) {
	b := newBench(t)
	main := filepath.Join(resolve(t.TempDir()), "main")
	if err := os.Mkdir(main, 0o755); err != nil {
		t.Fatal(err)
	}
	initRepository(t, main)
	wt := filepath.Join(filepath.Dir(main), "wt")
	host(t, main, "git", "worktree", "add", "-q", "-b", "side", wt)
	spec, err := b.l.Spec(wt)
	if err != nil {
		t.Fatal(err)
	}
	b.spec, b.ws = spec, wt
	r := b.sh(`set -e
echo y > new; git add new; git -c user.name=a -c user.email=a@example.com commit -q -m side
c=$(git rev-parse --git-common-dir); g=$(git rev-parse --git-dir)
set +e
for f in $c/config $c/hooks/x $g/commondir $g/gitdir .git $c/worktrees/x; do (echo x > $f) 2>/dev/null && echo wrote $f; done
mv $g $g.2 2>/dev/null && echo moved; ls ` + main + `/file 2>/dev/null && echo saw; true`)
	if r.Code != 0 || len(r.Head) != 0 {
		t.Errorf("code %d: %s", r.Code, r.Text())
	}
	if log := host(t, wt, "git", "log", "--oneline", "main..side"); strings.Count(log, "\n") != 1 {
		t.Errorf("log outside: %s", log)
	}
}

// Links put in the way between look and mount stop the start instead of opening a hole.
func TestExchangedPathIsRefused(t *testing.T) {
	b := newBench(t)
	secret := filepath.Join(resolve(t.TempDir()), "secret")
	write(t, filepath.Join(secret, "key"), "CANARY")
	write(t, filepath.Join(b.ws, "a", "rules"), "x")
	b.spec.Protected = []string{"a/rules"}
	p, err := b.l.enter(b.spec)
	if err != nil {
		t.Fatal(err)
	}
	defer p.leave()
	relink(t, filepath.Join(b.ws, "a"), secret)
	h, err := b.l.machine()
	if err != nil {
		t.Fatal(err)
	}
	if ch, err := b.l.channels(NewPlan(b.spec, h, p.facts)); err == nil {
		ch.close()
		t.Error("a path through a link was opened for mounting")
	}
}

// R55: kill -9 of this program ends the sandbox with it, and the next start cleans up.
func TestKilledProgramLeavesNothing(t *testing.T) {
	if dir := os.Getenv("WORKSITE_TEST_CHILD"); dir != "" {
		l, err := New(Config{DataDir: filepath.Join(dir, "data"), Helper: testHelper})
		if err != nil {
			t.Fatal(err)
		}
		spec, err := l.Spec(filepath.Join(dir, "ws"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = l.Run(t.Context(), spec, sandbox.Command{
			Argv:     []string{"bash", "-c", "setsid sleep 7401 & echo begun; sleep 7401"},
			OnOutput: func([]byte) { write(t, filepath.Join(dir, "begun"), "") },
		})
		return
	}
	b := newBench(t)
	dir := resolve(t.TempDir())
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan process.Result)
	var child int
	started := make(chan struct{})
	go func() {
		r, _ := process.Run(ctx, process.Spec{
			Argv: []string{"sh", "-c", "echo $$; exec \"$0\" -test.run TestKilledProgramLeavesNothing", self}, Dir: wd(t),
			Env: append(os.Environ(), "WORKSITE_TEST_CHILD="+dir), Contained: true,
			OnOutput: func(p []byte) {
				if child == 0 {
					child = atoi(string(p))
					close(started)
				}
			},
		})
		ended <- r
	}()
	<-started
	for !exists(filepath.Join(dir, "begun")) && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	if len(processes("sleep\x007401\x00")) == 0 {
		t.Error("the command does not run")
	}
	_ = syscall.Kill(child, syscall.SIGKILL)
	<-ended
	for end := time.Now().Add(2 * time.Second); len(processes("sleep\x007401\x00")) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the command outlived the program")
		}
	}
	if got := names(t, ws); !strings.Contains(got, "AGENTS.md") {
		t.Fatalf("expected placeholders, found %q", got)
	}
	again, err := New(Config{DataDir: filepath.Join(dir, "data"), Helper: testHelper})
	if err != nil {
		t.Fatal(err)
	}
	again.Sweep()
	if got := names(t, ws); got != "" {
		t.Errorf("left: %s", got)
	}
	_ = b
}

func wd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func atoi(s string) (n int) {
	for _, c := range s {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}
