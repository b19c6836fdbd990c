package sandboxtest

import (
	"context"
	"sync"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

// Fake is a sandbox that runs nothing: it answers with what Do returns, and keeps the
// contract of a real one (no program named, or not available: an error).
type Fake struct {
	// Do is what a command does; nil ends with code 0 and no output.
	Do func(ctx context.Context, s sandbox.Spec, c sandbox.Command) (sandbox.Result, error)
	// Unavailable, when given, is the status of a machine without a sandbox.
	Unavailable *sandbox.Status

	mu       sync.Mutex
	commands []sandbox.Command
}

// Status implements the status of a sandbox.
func (f *Fake) Status(context.Context) sandbox.Status {
	if f.Unavailable != nil {
		return *f.Unavailable
	}
	return sandbox.Status{OK: true, Name: "ok", Detail: "a fake for tests", Checks: []string{"✓ fake"}}
}

// Spec returns the smallest spec of a workspace.
func (f *Fake) Spec(workspace string, _ ...domain.TaskKind) (sandbox.Spec, error) {
	return sandbox.Spec{Workspace: workspace, Network: sandbox.NetworkNone, Env: map[string]string{}}, nil
}

// Run remembers the command and answers.
func (f *Fake) Run(ctx context.Context, s sandbox.Spec, c sandbox.Command) (sandbox.Result, error) {
	if len(c.Argv) == 0 {
		return sandbox.Result{}, domain.Errorf(domain.CodeInvalid, "no program was named")
	}
	if f.Unavailable != nil && !s.Unsandboxed {
		return sandbox.Result{}, domain.Errorf(domain.CodeUnavailable, "no sandbox: %s", f.Unavailable.Detail).WithHint("%s", f.Unavailable.Hint)
	}
	f.mu.Lock()
	f.commands = append(f.commands, c)
	f.mu.Unlock()
	if f.Do == nil {
		return sandbox.Result{Unsandboxed: s.Unsandboxed}, nil
	}
	r, err := f.Do(ctx, s, c)
	r.Unsandboxed = s.Unsandboxed
	return r, err
}

// Commands returns what has been run, in order.
func (f *Fake) Commands() []sandbox.Command {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]sandbox.Command(nil), f.commands...)
}
