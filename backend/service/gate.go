package service

import (
	"context"

	"worksite/backend/harness"
	"worksite/backend/policy"
)

// gate is the policy as the loop sees it, with what only the service knows of
// the workspace and of this machine.
type gate struct{ svc *Service }

// Decide implements harness.Gate.
func (g gate) Decide(r harness.GateRequest) harness.GateDecision {
	req := policy.Request{
		Hand: r.Spec, Prepared: r.Prepared, Ceiling: r.Ceiling, Mode: r.Mode,
		Budget: r.Budget, Spent: r.Spent, Grants: r.Grants, Consented: r.Consented,
	}
	ctx := context.Background() // the answers are kept; nothing here waits
	if len(r.Prepared.Effect.Argv) > 0 {
		st := g.svc.sandbox.Status(ctx)
		req.Sandbox = policy.Sandbox{OK: st.OK, Reason: st.Detail, Hint: st.Hint}
	}
	if r.Prepared.Call.Unsandboxed {
		trusted, err := g.svc.workspaces.Trusted(ctx, r.Prepared.Call.Workspace)
		req.Trusted = trusted && err == nil
	}
	if ws, err := g.svc.open(ctx, r.Prepared.Call.Workspace); err == nil {
		req.Protected = ws.Protected
	} else {
		req.Protected = func(string) (bool, string) { return true, "its workspace cannot be opened: " + err.Error() }
	}
	d := policy.Decide(req)
	return harness.GateDecision{Verdict: d.Verdict, Layers: d.Layers}
}
