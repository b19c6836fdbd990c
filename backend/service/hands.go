package service

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"worksite/backend/artifact"
	"worksite/backend/capability"
	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/bash"
	"worksite/backend/hands/builtin"
	"worksite/backend/hands/saveartifact"
	"worksite/backend/process"
	"worksite/backend/sandbox"
)

// newHands registers the nine hands of every session.
func (s *Service) newHands() *capability.Registry {
	r := capability.New(capability.WithSpill(s.blobs.PutBytes))
	for _, h := range builtin.New(builtin.Config{
		Open: s.openForHands, Seen: s.seen, Sandbox: commands{s}, PutOutput: s.blobs.Put, Artifacts: artifacts{s.artifacts},
	}) {
		r.Register(h)
	}
	return r
}

// toolbox is the registry as the loop sees it: before a session's first call it
// replays what the session has read, and afterwards it tells the workspace which
// states of files are the session's own.
type toolbox struct {
	*capability.Registry
	svc *Service
}

// Prepare implements harness.Hands.
func (t toolbox) Prepare(ctx context.Context, name string, call domain.HandCall) (*domain.PreparedCall, error) {
	if err := t.svc.replaySeen(ctx, call.Session); err != nil {
		return nil, err
	}
	return t.Registry.Prepare(ctx, name, call)
}

// Execute implements harness.Hands.
func (t toolbox) Execute(ctx context.Context, name string, p *domain.PreparedCall, emit func([]byte)) (domain.HandResult, error) {
	res, err := t.Registry.Execute(ctx, name, p, emit)
	var unknown *capability.UnknownError
	if errors.As(err, &unknown) {
		return res, &domain.UnknownEffect{Known: unknown.Known, Err: err}
	}
	t.wrote(ctx, p.Call.Session, res.Output.Files)
	return res, err
}

// Recovered implements harness.Hands.
func (t toolbox) Recovered(ctx context.Context, name string, call domain.HandCall, effect domain.Effect, evidence string) (domain.HandResult, error) {
	res, err := t.Registry.Recovered(ctx, name, call, effect, evidence)
	if err == nil && len(res.Output.Files) > 0 {
		err = t.begun(ctx, call, &res)
	}
	t.wrote(ctx, call.Session, res.Output.Files)
	return res, err
}

// begun adds the session's base snapshot to the facts of a recovered call when the
// crash came before the ledger had it.
func (t toolbox) begun(ctx context.Context, call domain.HandCall, res *domain.HandResult) error {
	if err := t.svc.replaySeen(ctx, call.Session); err != nil {
		return err
	}
	ws, err := t.svc.openForHands(ctx, call.Workspace)
	if err != nil {
		return err
	}
	first, err := hands.Begin(ctx, ws, call.Session)
	res.Drafts = append(first, res.Drafts...)
	return err
}

// wrote tells the workspace which states of files are the session's own.
func (t toolbox) wrote(ctx context.Context, id domain.SessionID, files []domain.FileImage) {
	if len(files) == 0 {
		return
	}
	if err := t.svc.workspaces.RecordImages(context.WithoutCancel(ctx), id, files); err != nil {
		t.svc.log.Warn("remember what the session wrote", "session", id, "error", err)
	}
	t.svc.hub.Notify("changes:" + string(id))
}

// replaySeen rebuilds, once per session and process, which files the session has
// read.
func (s *Service) replaySeen(ctx context.Context, id domain.SessionID) error {
	s.mu.Lock()
	done := s.replayed[id]
	s.mu.Unlock()
	if done {
		return nil
	}
	events, err := s.ledger.Read(ctx, id, domain.Span{})
	if err != nil {
		return err
	}
	based := false
	for _, e := range events {
		s.seen.Apply(e)
		based = based || e.Kind == (domain.WorkspaceBased{}).Kind()
	}
	s.mu.Lock()
	s.replayed[id] = true
	s.based[id] = s.based[id] || based
	s.mu.Unlock()
	return nil
}

// commands is the sandbox as the bash hand sees it.
type commands struct{ svc *Service }

func (c commands) spec(root string, unsandboxed bool) (sandbox.Spec, error) {
	spec, err := c.svc.sandbox.Spec(root)
	// A consent does not outlive its reason: where a sandbox works it is used.
	spec.Unsandboxed = unsandboxed && !c.svc.sandbox.Status(context.Background()).OK
	return spec, err
}

// Plan implements bash.Sandbox.
func (c commands) Plan(root string, unsandboxed bool) (bash.Plan, error) {
	spec, err := c.spec(root, unsandboxed)
	if err != nil {
		return bash.Plan{}, err
	}
	keys := make([]string, 0, len(spec.Env))
	for k := range spec.Env {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	network := spec.Network
	if spec.Unsandboxed {
		network = "open" // nothing contains it
	}
	return bash.Plan{Hash: spec.Hash(), Network: network, EnvKeys: keys, Recipe: spec}, nil
}

// Run implements bash.Sandbox.
func (c commands) Run(ctx context.Context, p bash.Plan, cmd bash.Command) (bash.Result, error) {
	spec, ok := p.Recipe.(sandbox.Spec)
	if !ok {
		return bash.Result{}, domain.Errorf(domain.CodeInternal, "the plan of a command has no recipe")
	}
	spill, err := os.MkdirTemp(c.svc.scratch(), "spill-")
	if err != nil {
		return bash.Result{}, domain.Errorf(domain.CodeUnavailable, "there is no room for the command's output: %w", err).
			WithHint("Look at the free space of %s.", c.svc.cfg.DataDir)
	}
	var clean process.Cleaner // what a page draws live is as harmless as what is kept
	res, err := c.svc.sandbox.Run(ctx, spec, sandbox.Command{
		Argv: cmd.Argv, Dir: cmd.Dir, Timeout: cmd.Timeout, Head: cmd.Head, Tail: cmd.Tail, SpillDir: spill,
		OnOutput: func(b []byte) { cmd.OnOutput([]byte(clean.Write(b))) },
	})
	if err != nil {
		return bash.Result{}, errors.Join(err, os.RemoveAll(spill))
	}
	out := bash.Result{
		Code: res.Code, Signal: res.Signal, TimedOut: res.TimedOut, Cancelled: res.Cancelled,
		Text: res.Text(), Dropped: res.Dropped, Planted: res.Planted, Left: res.LeftNames, Report: res.Report,
	}
	if res.SpillPath == "" {
		return out, os.RemoveAll(spill)
	}
	f, err := os.Open(res.SpillPath)
	if err != nil {
		return out, errors.Join(err, os.RemoveAll(spill))
	}
	out.Spill = &spilled{File: f, dir: spill}
	return out, nil
}

// Tripwire implements bash.Sandbox.
func (c commands) Tripwire(changed []string) []string { return sandbox.Tripwire(changed) }

// spilled removes its folder when it is closed.
type spilled struct {
	*os.File
	dir string
}

func (s *spilled) Close() error { return errors.Join(s.File.Close(), os.RemoveAll(s.dir)) }

// SandboxExec runs one program in the sandbox of a folder, its output to w, and
// returns its exit code. Without a sandbox it refuses.
func (s *Service) SandboxExec(ctx context.Context, dir string, argv []string, timeout time.Duration, w io.Writer) (int, error) {
	if st := s.sandbox.Status(ctx); !st.OK {
		return 0, domain.Errorf(domain.CodeUnavailable, "%s", st.Detail).WithHint("%s", st.Hint)
	}
	spec, err := s.sandbox.Spec(dir)
	if err != nil {
		return 0, err
	}
	var werr error
	res, err := s.sandbox.Run(ctx, spec, sandbox.Command{Argv: argv, Timeout: timeout, OnOutput: func(b []byte) {
		if werr == nil {
			_, werr = w.Write(b)
		}
	}})
	return res.Code, errors.Join(err, werr)
}

// artifacts is the artifact store as the save_artifact hand sees it.
type artifacts struct{ *artifact.Store }

// Promote implements saveartifact.Store.
func (a artifacts) Promote(ctx context.Context, p saveartifact.Promotion, r io.Reader) (domain.ArtifactRef, error) {
	return a.Store.Promote(ctx, artifact.Promotion(p), r)
}
