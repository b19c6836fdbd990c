package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

type bench struct {
	*testing.T
	l    *Local
	ws   string
	spec sandbox.Spec
}

func newBench(t *testing.T) *bench {
	t.Helper()
	l := newLocal(t)
	ws := resolve(t.TempDir())
	spec, err := l.Spec(ws)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, l, ws, spec}
}

func (b *bench) sh(script string) sandbox.Result {
	b.Helper()
	return b.run(sandbox.Command{Argv: []string{"bash", "-c", script}})
}

func (b *bench) run(c sandbox.Command) sandbox.Result {
	b.Helper()
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	r, err := b.l.Run(b.Context(), b.spec, c)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func TestRunResults(t *testing.T) {
	b := newBench(t)
	for script, want := range map[string]struct {
		code   int
		signal string
	}{
		"exit 0":                               {0, ""},
		"exit 7":                               {7, ""},
		"kill -9 $$":                           {137, "SIGKILL"},
		"kill -SEGV $$":                        {139, "SIGSEGV"},
		"exit 125":                             {125, ""},
		"no-such-program":                      {127, ""},
		"trap 'exit 3' TERM; kill $$; sleep 1": {3, ""},
	} {
		if r := b.sh(script); r.Code != want.code || r.Signal != want.signal || r.Report.KilledBy != "" || r.Unsandboxed {
			t.Errorf("%s: code %d signal %q (%+v)", script, r.Code, r.Signal, r.Report)
		}
	}
	// R110
	if r := b.run(sandbox.Command{Argv: []string{"printf", "%s|", "a;b", "$(id)", "", "x y"}}); string(r.Head) != "a;b|$(id)||x y|" {
		t.Errorf("arguments arrive as %q", r.Head)
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	b := newBench(t)
	write(t, filepath.Join(b.ws, "plain.txt"), "x")
	for name, c := range map[string]sandbox.Command{
		"not found":      {Argv: []string{"no-such-program"}},
		"not executable": {Argv: []string{"./plain.txt"}},
		"missing file":   {Argv: []string{"./missing"}},
		"missing folder": {Argv: []string{"true"}, Dir: filepath.Join(b.ws, "missing")},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.run(c)
			if r.Code != 126 && r.Code != 127 || r.Text() == "" {
				t.Errorf("code %d: %q", r.Code, r.Text())
			}
		})
	}
	if _, err := os.Stat(filepath.Join(b.ws, "missing")); err == nil {
		t.Error("the working directory was made")
	}
}

func TestRefusedSpecs(t *testing.T) {
	b := newBench(t)
	home := b.l.cfg.Home
	link := filepath.Join(t.TempDir(), "link")
	relink(t, link, b.ws)
	for name, c := range map[string]struct {
		change func(*sandbox.Spec, *sandbox.Command)
		want   domain.Code
	}{
		"root":             {func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace = "/" }, domain.CodeForbidden},
		"home":             {func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace = home }, domain.CodeForbidden},
		"above home":       {func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace = filepath.Dir(home) }, domain.CodeForbidden},
		"system":           {func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace = "/etc" }, domain.CodeForbidden},
		"above the data":   {func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace = filepath.Dir(b.l.cfg.DataDir) }, domain.CodeForbidden},
		"missing":          {func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace += "/gone" }, domain.CodeNotFound},
		"became a link":    {func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace = link }, domain.CodeConflict},
		"relative":         {func(s *sandbox.Spec, _ *sandbox.Command) { s.Workspace = "ws" }, domain.CodeInvalid},
		"network":          {func(s *sandbox.Spec, _ *sandbox.Command) { s.Network = "host" }, domain.CodeInvalid},
		"home readable":    {func(s *sandbox.Spec, _ *sandbox.Command) { s.ReadOnly = []string{home} }, domain.CodeForbidden},
		"data writable":    {func(s *sandbox.Spec, _ *sandbox.Command) { s.Writable = []string{b.l.cfg.DataDir} }, domain.CodeForbidden},
		"unclean path":     {func(s *sandbox.Spec, _ *sandbox.Command) { s.ReadOnly = []string{"/usr/../etc"} }, domain.CodeInvalid},
		"environment":      {func(s *sandbox.Spec, _ *sandbox.Command) { s.Env = map[string]string{"A=B": "c"} }, domain.CodeInvalid},
		"folder outside":   {func(_ *sandbox.Spec, c *sandbox.Command) { c.Dir = "/tmp" }, domain.CodeForbidden},
		"nothing to run":   {func(_ *sandbox.Spec, c *sandbox.Command) { c.Argv = nil }, domain.CodeInvalid},
		"NUL in arguments": {func(_ *sandbox.Spec, c *sandbox.Command) { c.Argv = []string{"a\x00b"} }, domain.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			s, cmd := b.spec, sandbox.Command{Argv: []string{"true"}}
			c.change(&s, &cmd)
			if _, err := b.l.Run(t.Context(), s, cmd); domain.CodeOf(err) != c.want {
				t.Errorf("error %v, want code %s", err, c.want)
			}
		})
	}
}

// R111, R126: nothing of this process's environment or of the home folder is inside.
func TestEnvironmentAndHome(t *testing.T) {
	t.Setenv("WORKSITE_CANARY_TOKEN", "CANARY")
	b := newBench(t)
	b.spec.Env["EXTRA"] = "given"
	r := b.sh("env; ls -A ~ | tr '\\n' ' '; cat /proc/1/environ 2>/dev/null | tr '\\0' '\\n'")
	text := r.Text()
	if strings.Contains(text, "CANARY") || !strings.Contains(text, "EXTRA=given") || !strings.Contains(text, "HOME="+b.l.cfg.Home) {
		t.Errorf("environment:\n%s", text)
	}
}

// R111, R149
func TestTimeoutAndCancel(t *testing.T) {
	b := newBench(t)
	for name, script := range map[string]string{
		"plain":      "echo begun; sleep 71",
		"ignores":    "trap '' TERM HUP INT; echo begun; while :; do sleep 71; done",
		"daemon":     "setsid sh -c \"trap '' TERM; sleep 71\" >/dev/null 2>&1 </dev/null & echo begun; sleep 71",
		"stopped":    "echo begun; kill -STOP $$",
		"fork storm": "echo begun; f() { sleep 71 & sleep 71 & }; for i in 1 2 3 4 5 6 7 8; do (f); done; wait; sleep 71",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var once sync.Once
			var at time.Time
			r, err := b.l.Run(ctx, b.spec, sandbox.Command{
				Argv:     []string{"bash", "-c", script},
				OnOutput: func([]byte) { once.Do(func() { at = time.Now(); cancel() }) },
			})
			took := time.Since(at)
			if err != nil || !r.Cancelled || r.TimedOut || r.Report.KilledBy != "cancel" || string(r.Head) != "begun\n" {
				t.Fatalf("%+v %v", r, err)
			}
			if took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			noneLeft(t, "71")
		})
	}
	begin := time.Now()
	r := b.run(sandbox.Command{Argv: []string{"sleep", "71"}, Timeout: 200 * time.Millisecond})
	if !r.TimedOut || r.Cancelled || r.Report.KilledBy != "timeout" || r.Signal != "SIGTERM" {
		t.Errorf("timeout: %+v", r)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	// A command may end itself in good order.
	if r := b.run(sandbox.Command{
		Argv: []string{"bash", "-c", "trap 'echo tidy; exit 4' TERM; while :; do sleep 0.01; done"}, Timeout: 300 * time.Millisecond,
	}); r.Code != 4 || !strings.HasSuffix(string(r.Head), "tidy\n") || !r.TimedOut {
		t.Errorf("graceful end: %+v", r)
	}
}

// noneLeft fails when a process `sleep N` of a sandbox is still alive.
func noneLeft(t *testing.T, n string) {
	t.Helper()
	if found := processes("sleep\x00" + n + "\x00"); len(found) > 0 {
		t.Errorf("still alive: %v", found)
	}
}

func processes(cmdline string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if b, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline"); string(b) == cmdline {
			pids = append(pids, pid)
		}
	}
	return pids
}

// R149
func TestLeftBehind(t *testing.T) {
	b := newBench(t)
	for name, script := range map[string]string{
		"background":  "sleep 72 & echo done",
		"setsid":      "setsid sleep 72 & echo done",
		"double fork": "(setsid sleep 72 >/dev/null 2>&1 </dev/null &) ; echo done",
		"stopped":     "sleep 72 & kill -STOP $!; echo done",
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			r := b.sh(script)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if r.Code != 0 || string(r.Head) != "done\n" || r.Report.Left != 1 || len(r.LeftNames) != 1 {
				t.Errorf("%+v", r)
			}
			noneLeft(t, "72")
		})
	}
}

// R122, R150
func TestOutputAndSpill(t *testing.T) {
	b := newBench(t)
	spill := t.TempDir()
	r := b.run(sandbox.Command{Argv: []string{"bash", "-c", "echo begin; head -c 250011 /dev/zero | tr '\\0' x; echo end"}, Head: 100, Tail: 100, SpillDir: spill})
	whole, err := os.ReadFile(r.SpillPath)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole) != 250011+10 || r.Dropped != int64(len(whole)-200) || r.Report.Stdout != int64(len(whole)) || !strings.HasSuffix(string(r.Tail), "xend\n") {
		t.Errorf("%d bytes spilled, %d dropped", len(whole), r.Dropped)
	}
	if r := b.run(sandbox.Command{Argv: []string{"echo", "small"}, SpillDir: spill}); r.SpillPath != "" {
		t.Error("a file was made for output that fits")
	}
	if entries, _ := os.ReadDir(spill); len(entries) != 1 {
		t.Errorf("%d files in the spill folder", len(entries))
	}
	r = b.run(sandbox.Command{Argv: []string{"yes"}, SpillDir: spill, SpillMax: 1 << 20})
	if r.Report.KilledBy != "output" || r.Spilled != 1<<20 {
		t.Errorf("endless output: %+v", r.Report)
	}
}

func TestReport(t *testing.T) {
	b := newBench(t)
	r := b.sh("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done")
	if r.Report.UserMS <= 0 || r.Report.MaxRSSKiB < 1000 || r.Report.DurationMS <= 0 {
		t.Errorf("%+v", r.Report)
	}
}

// The command's limits; root is not bound by the number of processes.
func TestLimits(t *testing.T) {
	b := newBench(t)
	b.spec.Limits = sandbox.Limits{FileSize: 1 << 20, OpenFiles: 64, Memory: 256 << 20, CPU: time.Second, TmpSize: 1 << 20}
	for name, script := range map[string]string{
		"file size":  "dd if=/dev/zero of=big bs=1M count=2 2>/dev/null",
		"open files": "for i in $(seq 3 80); do eval \"exec $i</dev/null\" 2>/dev/null || exit 1; done",
		"memory":     "python3 -c 'x=bytearray(400<<20)' 2>/dev/null",
		"processor":  "while :; do :; done",
		"tmp":        "dd if=/dev/zero of=/tmp/big bs=64k count=32 2>/dev/null",
		"home":       "dd if=/dev/zero of=~/big bs=64k count=32 2>/dev/null",
		"raise":      "ulimit -f unlimited 2>/dev/null",
	} {
		if r := b.sh(script); r.Code == 0 || r.TimedOut {
			t.Errorf("%s: code %d %s", name, r.Code, r.Text())
		}
	}
}

// R125: the sandbox is made anew from its spec; only the workspace and the caches stay.
func TestNothingStaysBetweenCommands(t *testing.T) {
	b := newBench(t)
	b.sh("echo x > /tmp/x; echo x > ~/x; echo x > kept; mkdir -p $GOCACHE; echo x > $GOCACHE/x")
	if r := b.sh("ls /tmp/x ~/x 2>/dev/null; cat kept $GOCACHE/x; git --version >/dev/null"); string(r.Head) != "x\nx\n" || r.Code != 0 {
		t.Errorf("%q", r.Head)
	}
	again, err := b.l.Spec(b.ws)
	if err != nil || again.Hash() != b.spec.Hash() {
		t.Error("the same workspace has another spec")
	}
	other, err := b.l.Spec(resolve(t.TempDir()))
	if err != nil || other.Writable[0] == b.spec.Writable[0] {
		t.Error("two workspaces share a cache")
	}
	if general, err := b.l.Spec(b.ws, domain.TaskGeneral); err != nil || len(general.Writable) != 0 {
		t.Error("a general task has language caches")
	}
}

// R82: unsandboxed only when asked for, and said.
func TestUnsandboxed(t *testing.T) {
	t.Setenv("WORKSITE_CANARY_TOKEN", "CANARY")
	b := newBench(t)
	broken, err := New(Config{DataDir: filepath.Join(t.TempDir(), "data"), Bwrap: "/nonexistent/bwrap", Helper: testHelper})
	if err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(b.ws, "ran")
	touch := sandbox.Command{Argv: []string{"touch", marker}}
	_, err = broken.Run(t.Context(), b.spec, touch)
	if domain.CodeOf(err) != domain.CodeUnavailable || domain.HintOf(err) == "" {
		t.Errorf("without a sandbox: %v", err)
	}
	if exists(marker) {
		t.Fatal("the command ran without a sandbox")
	}
	b.spec.Unsandboxed = true
	r, err := broken.Run(t.Context(), b.spec, sandbox.Command{Argv: []string{"sh", "-c", "env; readlink /proc/self/ns/pid"}})
	if err != nil || !r.Unsandboxed {
		t.Fatalf("%+v %v", r, err)
	}
	ns, _ := os.Readlink("/proc/self/ns/pid")
	if text := r.Text(); strings.Contains(text, "CANARY") || !strings.Contains(text, ns) {
		t.Errorf("environment of an unsandboxed command:\n%s", text)
	}
}

// Tools that people have must work inside: this is what makes a sandbox bearable.
func TestToolsWork(t *testing.T) {
	b := newBench(t)
	initRepository(t, b.ws)
	write(t, filepath.Join(b.ws, "go.mod"), "module example.com/x\n\ngo 1.21\n")
	write(t, filepath.Join(b.ws, "main.go"), "package x\n\nfunc X() int { return 1 }\n")
	for tool, script := range map[string]string{
		"git":     "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m second && git log --oneline | wc -l | grep -qx 2 && git status --porcelain | grep -q AGENTS && exit 1; git stash list; git branch x && git checkout -q x",
		"go":      "go build ./... && go list -m && [ -d \"$GOCACHE\" ]",
		"python3": "python3 -c 'import tempfile, subprocess, multiprocessing as m; p=m.get_context(\"fork\").Pool(2); print(p.map(abs,[-1])); subprocess.run([\"true\"],check=True)'",
		"node":    "node -e 'require(\"child_process\").execSync(\"true\"); require(\"fs\").writeFileSync(\"n\",\"x\")'",
		"cargo":   "cargo --version",
		"gcc":     "mkdir c && cd c && echo 'int main(){return 0;}' > m.c && gcc m.c -o m && ./m",
		"sort":    "seq 1000 | sort -R | sort -n | tail -1 | grep -qx 1000",
		"pty":     "script -qec true /dev/null >/dev/null",
	} {
		t.Run(tool, func(t *testing.T) {
			if r := b.sh("command -v " + strings.Fields(tool)[0] + " || [ " + tool + " = pty ]"); r.Code != 0 {
				t.Skip("skipped: " + tool + " is not on this machine")
			}
			if r := b.run(sandbox.Command{Argv: []string{"bash", "-ec", script}, Timeout: 5 * time.Minute}); r.Code != 0 {
				t.Errorf("code %d: %s", r.Code, r.Text())
			}
		})
	}
}

func TestManyAtOnce(t *testing.T) {
	b := newBench(t)
	initRepository(t, b.ws)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r, err := b.l.Run(t.Context(), b.spec, sandbox.Command{Argv: []string{"bash", "-c", fmt.Sprintf("echo x > AGENTS.md; echo %d", i)}})
			if err != nil || !strings.Contains(r.Text(), "Read-only") || !strings.HasSuffix(r.Text(), fmt.Sprintln(i)) || len(r.Planted) > 0 {
				t.Errorf("%d: %v %q %v", i, err, r.Text(), r.Planted)
			}
		}()
	}
	wg.Wait()
	if entries, _ := os.ReadDir(b.ws); len(entries) != 2 {
		t.Errorf("placeholders are left: %v", entries)
	}
}

// R84: Worksite's own folder, with its keys and records, is not there, also when the
// workspace lies in it.
func TestDataFolderIsNotInside(t *testing.T) {
	b := newBench(t)
	data := b.l.cfg.DataDir
	write(t, filepath.Join(data, "cell.key"), "CANARY")
	ws := filepath.Join(data, "tasks", "one")
	write(t, filepath.Join(ws, "file"), "x")
	spec, err := b.l.Spec(ws)
	if err != nil {
		t.Fatal(err)
	}
	b.spec = spec
	r := b.sh("cat " + data + "/cell.key 2>/dev/null; ls -A " + data + " " + data + "/tasks; cat file; echo x > " + data + "/planted 2>/dev/null")
	if text := r.Text(); strings.Contains(text, "CANARY") || strings.Contains(text, "sandbox") || !strings.Contains(text, "x") || exists(filepath.Join(data, "planted")) {
		t.Errorf("inside: %s", text)
	}
}

// A toolchain that is removed while Worksite runs does not end all commands.
func TestRemovedToolchain(t *testing.T) {
	home := filepath.Join(resolve(t.TempDir()), "home")
	tool := filepath.Join(home, ".cargo", "bin")
	if err := os.MkdirAll(tool, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{DataDir: filepath.Join(t.TempDir(), "data"), Home: home, Path: tool + ":/usr/bin:/bin", Helper: testHelper})
	if err != nil {
		t.Fatal(err)
	}
	if st := l.Status(t.Context()); !st.OK {
		t.Skipf("skipped: no sandbox here (%s)", st.Name)
	}
	spec, err := l.Spec(resolve(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	ls := sandbox.Command{Argv: []string{"ls", tool}}
	if r, err := l.Run(t.Context(), spec, ls); err != nil || r.Code != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if err := os.RemoveAll(tool); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Run(t.Context(), spec, ls); err != nil || r.Code == 0 {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestStdin(t *testing.T) {
	b := newBench(t)
	if r := b.run(sandbox.Command{Argv: []string{"cat"}, Stdin: strings.NewReader("given")}); string(r.Head) != "given" {
		t.Errorf("%q", r.Head)
	}
	if r := b.run(sandbox.Command{Argv: []string{"cat"}}); len(r.Head) != 0 || r.Code != 0 {
		t.Errorf("%+v", r)
	}
}
