package bash

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/handstest"
)

// box keeps the contract of Sandbox without starting anything: run stands for
// what the command does.
type box struct {
	network string
	salt    string
	run     func(ctx context.Context, c Command) (Result, error)
	ran     []Command
}

func (b *box) Plan(root string, unsandboxed bool) (Plan, error) {
	s := root + b.network + b.salt
	if unsandboxed {
		s += "unsandboxed"
	}
	return Plan{Hash: domain.HashBytes([]byte(s)), Network: b.network, EnvKeys: []string{"HOME", "PATH"}}, nil
}

func (b *box) Run(ctx context.Context, _ Plan, c Command) (Result, error) {
	b.ran = append(b.ran, c)
	return b.run(ctx, c)
}

func (b *box) Tripwire(changed []string) (out []string) {
	for _, p := range changed {
		if strings.HasSuffix(p, ".envrc") {
			out = append(out, p+": direnv runs it")
		}
	}
	return out
}

func setup(t *testing.T, files map[string]string) (*handstest.Workspace, *box, *handstest.Caller) {
	t.Helper()
	ws := handstest.New(t, files)
	b := &box{network: "none", run: func(context.Context, Command) (Result, error) { return Result{}, nil }}
	return ws, b, handstest.NewCaller(New(ws.Open, b, nil))
}

// R110 R132 R148
func TestPrepareStatesTheExactEffect(t *testing.T) {
	ws, b, c := setup(t, nil)
	command := "echo '" + strings.Repeat("x", 2000) + "'; rm -rf important # the end\nls"
	p, err := c.Prepare(t.Context(), map[string]any{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	e := p.Effect
	if len(e.Argv) != 3 || e.Argv[0] != "bash" || e.Argv[1] != "-c" || e.Argv[2] != command || e.Cwd != ws.Dir || e.Network != "none" || e.Sandbox.IsZero() || e.Class != domain.EffectEffect {
		t.Fatalf("effect %+v", e)
	}
	if p.Shown != command || p.ShownKind != "command" || len(p.Title) > 160 {
		t.Fatalf("shown %d of %d bytes, title %q", len(p.Shown), len(command), p.Title)
	}
	if len(p.Scopes) != 1 || !strings.Contains(p.Scopes[0].Words, "exactly this command again in this session, in the same folder and sandbox, without network: "+command) {
		t.Fatalf("scopes %+v", p.Scopes)
	}
	if len(b.ran) != 0 || ws.Bases != 0 {
		t.Fatal("prepare performed something")
	}
	// A later call of the same command has the same scope; anything else has not.
	again, _ := c.Prepare(t.Context(), map[string]any{"command": command, "timeout": 5})
	if again.Scopes[0].ID != p.Scopes[0].ID || again.Digest == p.Digest {
		t.Error("the scope must not depend on the call, the digest must")
	}
	other, _ := c.Prepare(t.Context(), map[string]any{"command": command + " "})
	b.network = "api.example"
	net, _ := c.Prepare(t.Context(), map[string]any{"command": command})
	b.network, b.salt = "none", "writable cache"
	salted, _ := c.Prepare(t.Context(), map[string]any{"command": command})
	for name, q := range map[string]*domain.PreparedCall{"command": other, "network": net, "sandbox": salted} {
		if q.Scopes[0].ID == p.Scopes[0].ID {
			t.Errorf("another %s has the same scope", name)
		}
	}
	c.Unsandboxed = true
	bare, _ := c.Prepare(t.Context(), map[string]any{"command": "ls"})
	if len(bare.Scopes) != 0 || !strings.Contains(bare.Touches[0], "everything that your account can reach") {
		t.Errorf("unsandboxed: %+v %q", bare.Scopes, bare.Touches)
	}
}

// R7
func TestResultNamesExitFilesAndPlants(t *testing.T) {
	ws, b, c := setup(t, map[string]string{"a.txt": "1", "gone.txt": "1"})
	b.run = func(_ context.Context, cmd Command) (Result, error) {
		cmd.OnOutput([]byte("live"))
		ws.Put(t, "a.txt", "2")
		ws.Put(t, "sub/.envrc", "evil")
		return Result{Code: 3, Text: "2 failed", Report: domain.ExitReport{DurationMS: 7}}, ws.Remove("gone.txt")
	}
	res, err := c.Do(t.Context(), map[string]any{"command": "make test", "timeout": 30})
	if err != nil {
		t.Fatal(err)
	}
	out := res.Output
	want := "2 failed\n[exit code 3]\n[changed: a.txt, -gone.txt, +sub/.envrc]\n[would act on the person's machine later: sub/.envrc: direnv runs it]\n"
	if out.Text != want || *out.ExitCode != 3 || out.Summary != "exit 3 · 3 files changed · look at sub/.envrc" || out.Report.DurationMS != 7 {
		t.Fatalf("got %q %q", out.Text, out.Summary)
	}
	changed := res.Drafts[1].(domain.FilesChanged)
	if len(changed.Files) != 3 || changed.BeforeTree.IsZero() || changed.BeforeTree == changed.AfterTree || c.Live.String() != "live" {
		t.Fatalf("%+v, live %q", changed, c.Live.String())
	}
	if _, ok := res.Drafts[0].(domain.WorkspaceBased); !ok || b.ran[0].Timeout != 30*time.Second {
		t.Fatalf("%+v", res.Drafts)
	}
	b.run = func(context.Context, Command) (Result, error) { return Result{}, nil }
	res, err = c.Do(t.Context(), map[string]any{"command": "true"})
	if err != nil || res.Output.Text != "(no output)\n[exit code 0]\n" || res.Output.Summary != "exit 0" || b.ran[1].Timeout != 120*time.Second {
		t.Fatalf("%+v %v", res.Output, err)
	}
	if f := res.Drafts[0].(domain.FilesChanged); len(f.Files) != 0 || f.BeforeTree != f.AfterTree {
		t.Fatalf("%+v", f)
	}
}

// R132
func TestExecuteRefusesAnotherSandbox(t *testing.T) {
	for name, change := range map[string]func(*box, *domain.PreparedCall){
		"sandbox": func(b *box, _ *domain.PreparedCall) { b.salt = "x" },
		"network": func(b *box, _ *domain.PreparedCall) { b.network = "host" },
		"argv": func(_ *box, p *domain.PreparedCall) {
			p.Effect.Argv = []string{"bash", "-c", "rm -rf /"}
			p.Digest = p.Effect.Digest() // as if the registry had been fooled
		},
		"consent": func(_ *box, p *domain.PreparedCall) { p.Call.Unsandboxed = true },
	} {
		ws, b, c := setup(t, nil)
		p, err := c.Prepare(t.Context(), map[string]any{"command": "ls"})
		if err != nil {
			t.Fatal(err)
		}
		change(b, p)
		if _, err := c.Execute(t.Context(), p); domain.CodeOf(err) != domain.CodeConflict || len(b.ran) != 0 || ws.Bases != 0 {
			t.Errorf("%s: %v, ran %d", name, err, len(b.ran))
		}
	}
}

// R149 R150
func TestStoppedCommands(t *testing.T) {
	ws, b, _ := setup(t, nil)
	var kept string
	h := New(ws.Open, b, func(_ context.Context, r io.Reader) (domain.Hash, int64, error) {
		all, err := io.ReadAll(r)
		kept = string(all)
		return domain.HashBytes(all), int64(len(all)), err
	})
	c := handstest.NewCaller(h)
	b.run = func(context.Context, Command) (Result, error) {
		return Result{Code: 137, Signal: "SIGKILL", TimedOut: true, Text: "head\n… 5 bytes left out …\ntail", Dropped: 5, Spill: io.NopCloser(strings.NewReader("head12345tail"))}, nil
	}
	res, err := c.Do(t.Context(), map[string]any{"command": "sleep 9", "timeout": 1})
	if err != nil || !strings.Contains(res.Output.Text, "[stopped after its time limit of 1s") || !res.Output.TimedOut || res.Output.Spill != domain.HashBytes([]byte("head12345tail")) || kept == "" || res.Output.Dropped != 5 {
		t.Fatalf("%+v %v", res.Output, err)
	}
	b.run = func(context.Context, Command) (Result, error) {
		return Result{Left: []string{"server"}, Report: domain.ExitReport{Left: 1}}, nil
	}
	res, err = c.Do(t.Context(), map[string]any{"command": "server &"})
	if err != nil || !strings.Contains(res.Output.Text, "[1 process left behind in the background, stopped: server]") {
		t.Fatalf("%q %v", res.Output.Text, err)
	}
	// Cancelled: what it changed until then is still recorded.
	ctx, cancel := context.WithCancel(t.Context())
	b.run = func(context.Context, Command) (Result, error) {
		ws.Put(t, "half", "x")
		cancel()
		return Result{Code: 143, Signal: "SIGTERM", Cancelled: true}, nil
	}
	res, err = c.Do(ctx, map[string]any{"command": "make"})
	if err != nil || len(res.Output.Files) != 1 || res.Output.Summary != "cancelled · 1 file changed" {
		t.Fatalf("%+v %v", res.Output, err)
	}
}

// A workspace that takes too long to compare must not hold up a stop.
func TestCancelDoesNotWaitForALongScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ws, b, _ := setup(t, nil)
		slow := &slowScan{Workspace: ws}
		c := handstest.NewCaller(New(func(context.Context, domain.WorkspaceID) (hands.Workspace, error) { return slow, nil }, b, nil))
		ctx, cancel := context.WithCancel(t.Context())
		b.run = func(context.Context, Command) (Result, error) {
			slow.slow = true
			cancel()
			return Result{Cancelled: true}, nil
		}
		begin := time.Now()
		res, err := c.Do(ctx, map[string]any{"command": "make"})
		if d := time.Since(begin); err != nil || d != afterStop || !strings.Contains(res.Output.Text, "could not be found out") {
			t.Fatalf("%s, %q, %v", d, res.Output.Text, err)
		}
	})
}

type slowScan struct {
	*handstest.Workspace
	slow bool
}

func (s *slowScan) Scan(ctx context.Context) (hands.Tree, error) {
	if s.slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Workspace.Scan(ctx)
}

func TestCommandThatCannotStart(t *testing.T) {
	_, b, c := setup(t, nil)
	b.run = func(context.Context, Command) (Result, error) {
		return Result{}, domain.Errorf(domain.CodeUnavailable, "no sandbox").WithHint("install bubblewrap")
	}
	if _, err := c.Do(t.Context(), map[string]any{"command": "ls"}); domain.CodeOf(err) != domain.CodeUnavailable || domain.HintOf(err) == "" {
		t.Fatal(err)
	}
	for _, bad := range []string{"a\x00b", "  \n"} {
		if _, err := c.Prepare(t.Context(), map[string]any{"command": bad}); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := c.Prepare(t.Context(), map[string]any{"command": "ls", "timeout": 120000}); err == nil || !strings.Contains(err.Error(), "at most 600") {
		t.Errorf("milliseconds: %v", err)
	}
}

// R9 R55
func TestProbeSaysWhatIsKnown(t *testing.T) {
	_, _, c := setup(t, nil)
	p, err := c.Prepare(t.Context(), map[string]any{"command": "make deploy"})
	if err != nil {
		t.Fatal(err)
	}
	got, known := c.Registry.Probe(t.Context(), "bash", p.Call, p.Effect)
	if got != domain.ProbeUnknown || !strings.Contains(known, `"make deploy"`) || !strings.Contains(known, p.Effect.Cwd) {
		t.Fatalf("%s %s", got, known)
	}
}

var errDisk = errors.New("disk is full")

func TestOutputThatCannotBeKeptIsSaid(t *testing.T) {
	ws, b, _ := setup(t, nil)
	c := handstest.NewCaller(New(ws.Open, b, func(context.Context, io.Reader) (domain.Hash, int64, error) { return domain.Hash{}, 0, errDisk }))
	b.run = func(context.Context, Command) (Result, error) {
		return Result{Text: "x", Spill: io.NopCloser(strings.NewReader("x"))}, nil
	}
	res, err := c.Do(t.Context(), map[string]any{"command": "ls"})
	if err != nil || !strings.Contains(res.Output.Text, "not kept: disk is full") || !res.Output.Spill.IsZero() {
		t.Fatalf("%q %v", res.Output.Text, err)
	}
}
