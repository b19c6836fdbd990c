// Package bash is the hand that runs a command. The command enters the sandbox as
// the argv `bash -c TEXT`; nothing on the host interprets it. What it changed is
// found by comparing the workspace before and after.
package bash

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/hands"
)

//go:embed bash.md
var description string

const schema = `{"type":"object","properties":{"command":{"type":"string","minLength":1},"timeout":{"type":"integer","minimum":1,"maximum":600,"description":"seconds, default 120"}},"required":["command"],"additionalProperties":false}`

// Times and sizes of one call.
const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 600 * time.Second // the schema says the same
	headBytes      = 8 << 10
	tailBytes      = 16 << 10
	// afterStop is how long looking for changes may take once the call was
	// cancelled: a stop must be through within a few seconds.
	afterStop = 2500 * time.Millisecond
)

// Sandbox runs commands. Implementations clean what they return: valid UTF-8, no
// control sequences.
type Sandbox interface {
	// Plan says exactly what a command in the workspace at root would run in. It
	// starts nothing and also answers where no sandbox can be had.
	Plan(root string, unsandboxed bool) (Plan, error)
	// Run returns an error only when the command was not started.
	Run(ctx context.Context, p Plan, c Command) (Result, error)
	// Tripwire names those of the changed paths that would run on the host later.
	Tripwire(changed []string) []string
}

// Plan is a sandbox before it is made.
type Plan struct {
	Hash    domain.Hash // of the whole recipe
	Network string      // "none" unless granted
	EnvKeys []string    // names of the variables that are set
	Recipe  any         // the sandbox's own
}

// Command is what to run in it.
type Command struct {
	Argv       []string
	Dir        string
	Timeout    time.Duration
	Head, Tail int // bytes of output kept
	OnOutput   func([]byte)
}

// Result is how it ended.
type Result struct {
	Code      int
	Signal    string
	TimedOut  bool
	Cancelled bool
	Text      string // head and tail of the output
	Dropped   int64  // bytes left out of Text
	// Spill, when not nil, is the whole output; the hand reads and closes it.
	Spill   io.ReadCloser
	Planted []string // what it left that would run on the host later
	Left    []string // names of processes that were still there and were stopped
	Report  domain.ExitReport
}

// PutFunc keeps the whole output and returns its hash.
type PutFunc func(ctx context.Context, r io.Reader) (domain.Hash, int64, error)

// Hand implements capability.Hand.
type Hand struct {
	open    hands.OpenFunc
	sandbox Sandbox
	put     PutFunc
}

// New returns the hand. With a nil put, output past its bounds is not kept.
func New(open hands.OpenFunc, sandbox Sandbox, put PutFunc) *Hand {
	return &Hand{open, sandbox, put}
}

type input struct {
	Command string
	Timeout int
}

// Spec implements capability.Hand.
func (h *Hand) Spec() domain.HandSpec {
	return domain.HandSpec{
		Name: "bash", Description: strings.TrimSpace(description), Schema: []byte(schema),
		Class: domain.EffectEffect, Capabilities: []domain.Capability{domain.CapRun},
		// The margin is for comparing the workspace before and after.
		Timeout: maxTimeout + time.Minute, MaxOutput: headBytes + tailBytes + 8<<10, Where: "sandbox on this machine",
	}
}

// Prepare implements capability.Hand.
func (h *Hand) Prepare(ctx context.Context, call domain.HandCall) (*domain.PreparedCall, error) {
	in, err := hands.Decode[input](call)
	if err != nil {
		return nil, err
	}
	if strings.IndexByte(in.Command, 0) >= 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "the command contains a NUL character, which no program can be given")
	}
	if strings.TrimSpace(in.Command) == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the command is empty")
	}
	ws, err := h.open(ctx, call.Workspace)
	if err != nil {
		return nil, err
	}
	plan, err := h.sandbox.Plan(ws.Root(), call.Unsandboxed)
	if err != nil {
		return nil, err
	}
	p := &domain.PreparedCall{
		Call: call,
		Effect: domain.Effect{
			Class: domain.EffectEffect, Argv: argv(in.Command), Cwd: ws.Root(),
			EnvKeys: plan.EnvKeys, Sandbox: plan.Hash, Network: plan.Network,
		},
		Title:     "Run " + title(in.Command),
		Shown:     in.Command,
		ShownKind: "command",
		Touches:   append(touches(call.Unsandboxed, plan.Network), hands.HiddenCharacters([]byte(in.Command), nil)...),
		Opaque:    plan,
	}
	if !call.Unsandboxed {
		p.Scopes = []domain.GrantScope{scope(in.Command, p.Effect)}
	}
	return p, nil
}

func argv(command string) []string { return []string{"bash", "-c", command} }

// title is the first line of a command, short.
func title(command string) string {
	first, rest, more := strings.Cut(strings.TrimSpace(command), "\n")
	if more && strings.TrimSpace(rest) != "" {
		first += " …"
	}
	return hands.Clip(first, 100)
}

func touches(unsandboxed bool, network string) []string {
	if unsandboxed {
		return []string{"everything that your account can reach: all files, processes and the network", "no sandbox"}
	}
	if network == "none" || network == "" {
		return []string{"files in the workspace", "no network"}
	}
	return []string{"files in the workspace", "network: " + network}
}

// scope is the standing permission for exactly this command. Its id names the
// sandbox, network and folder too, so that it never holds in another one.
func scope(command string, e domain.Effect) domain.GrantScope {
	only := domain.Effect{Argv: e.Argv, Cwd: e.Cwd, EnvKeys: e.EnvKeys, Sandbox: e.Sandbox, Network: e.Network}
	network := "without network"
	if e.Network != "none" && e.Network != "" {
		network = "with network " + e.Network
	}
	return domain.GrantScope{
		ID:    fmt.Sprintf("session:bash:%.16s:%s", only.Digest(), title(command)),
		Words: fmt.Sprintf("run exactly this command again in this session, in the same folder and sandbox, %s: %s", network, command),
	}
}

// Execute implements capability.Hand.
func (h *Hand) Execute(ctx context.Context, p *domain.PreparedCall, emit func([]byte)) (domain.HandResult, error) {
	var res domain.HandResult
	in, err := hands.Decode[input](p.Call)
	if err != nil {
		return res, err
	}
	ws, err := h.open(ctx, p.Call.Workspace)
	if err != nil {
		return res, err
	}
	plan, err := h.sandbox.Plan(ws.Root(), p.Call.Unsandboxed)
	if err != nil {
		return res, err
	}
	e := p.Effect
	if !slices.Equal(e.Argv, argv(in.Command)) || e.Cwd != ws.Root() || e.Sandbox != plan.Hash || e.Network != plan.Network || !slices.Equal(e.EnvKeys, plan.EnvKeys) {
		return res, domain.Errorf(domain.CodeConflict, "the sandbox or the folder is no longer the one that was decided on; the command was not run")
	}
	if res.Drafts, err = hands.Begin(ctx, ws, p.Call.Session); err != nil {
		return res, fmt.Errorf("take base snapshot: %w", err)
	}
	before, err := ws.Scan(ctx)
	if err != nil {
		return res, fmt.Errorf("scan workspace: %w", err)
	}
	timeout := defaultTimeout
	if in.Timeout > 0 {
		timeout = time.Duration(in.Timeout) * time.Second
	}
	r, err := h.sandbox.Run(ctx, plan, Command{
		Argv: e.Argv, Dir: e.Cwd, Timeout: timeout, Head: headBytes, Tail: tailBytes, OnOutput: emit,
	})
	if err != nil {
		return res, err
	}
	h.record(ctx, &res, ws, p.Call, before, r, timeout)
	return res, nil
}

// record turns the end of a command into the result of the call. Nothing in it
// fails: the command has run, and whatever cannot be found out is said.
func (h *Hand) record(ctx context.Context, res *domain.HandResult, ws hands.Workspace, call domain.HandCall, before hands.Tree, r Result, timeout time.Duration) {
	var after hands.Tree
	var scanErr error
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), afterStop)
		defer cancel()
	}
	out := &res.Output
	out.ExitCode, out.Signal, out.TimedOut, out.Dropped, out.Report = &r.Code, r.Signal, r.TimedOut, r.Dropped, &r.Report
	var notes []string
	if after, scanErr = ws.Scan(ctx); scanErr == nil {
		out.Files = before.Changes(after)
		res.Drafts = append(res.Drafts, domain.FilesChanged{
			V: 1, CallID: call.CallID, Files: out.Files, BeforeTree: before.Hash(), AfterTree: after.Hash(),
		})
	} else {
		notes = append(notes, "which files it changed could not be found out: "+hands.Clip(scanErr.Error(), 200))
	}
	if r.Spill != nil {
		notes = append(notes, h.keep(ctx, out, r.Spill)...)
	}
	planted := h.planted(r, out.Files)
	out.Text = text(r, out.Files, planted, notes, timeout)
	out.Summary = summary(r, out.Files, planted)
}

// keep stores the whole output.
func (h *Hand) keep(ctx context.Context, out *domain.ToolOutput, spill io.ReadCloser) []string {
	defer spill.Close()
	if h.put == nil {
		return []string{"the whole output was not kept"}
	}
	hash, size, err := h.put(ctx, spill)
	if err != nil {
		return []string{"the whole output was not kept: " + hands.Clip(err.Error(), 200)}
	}
	out.Spill = hash
	return []string{fmt.Sprintf("the whole output is kept, %s", hands.Size(size))}
}

func (h *Hand) planted(r Result, files []domain.FileImage) []string {
	var paths []string
	for _, f := range files {
		if !f.Post.IsZero() {
			paths = append(paths, f.Path)
		}
	}
	all := slices.Concat(r.Planted, h.sandbox.Tripwire(paths))
	slices.Sort(all)
	return slices.Compact(all)
}

// Probe implements capability.Hand.
func (h *Hand) Probe(_ context.Context, call domain.HandCall, effect domain.Effect) (domain.ProbeResult, string) {
	in, err := hands.Decode[input](call)
	if err != nil {
		return domain.ProbeUnknown, "the recorded command cannot be read"
	}
	where := "in a sandbox on this machine, which ended with its process"
	if call.Unsandboxed {
		where = "unsandboxed on this machine; parts of it may still run"
	}
	return domain.ProbeUnknown, fmt.Sprintf(
		"the command %q was about to start or had started in %s, %s; it is not recorded how far it came. Look at the changes of the workspace before it runs again.",
		hands.Clip(in.Command, 200), effect.Cwd, where)
}
