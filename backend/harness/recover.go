package harness

import (
	"context"

	"worksite/backend/domain"
)

// Survey looks at what a crash left in the world: the person's four questions.
type Survey func(ctx context.Context, unknown []domain.CallID) domain.Survival

// Wake rebuilds a session and settles every call that a crash caught executing,
// by its effect class: what the world shows as done is recorded as done, what
// cannot be known is marked unknown, and what may be run again is left to
// [Harness.Step]. When the run is still open it records run.interrupted with the
// survey's findings and returns true.
func (h *Harness) Wake(ctx context.Context, lease domain.Lease, reason string, survey Survey) (bool, error) {
	h.Forget(lease.Session)
	st, err := h.load(ctx, lease.Session)
	if err != nil {
		return false, err
	}
	if st.run == nil || st.run.finished {
		return false, nil
	}
	last := st.lastSeq
	var drafts []domain.Draft
	var unknown []domain.CallID
	for _, id := range st.open {
		c := st.calls[id]
		if c.state == callExecuting {
			if found, settled := h.recoverCall(ctx, st, c); settled {
				drafts = append(drafts, found...)
				if _, ok := found[len(found)-1].Payload.(domain.ToolCallUnknown); ok {
					unknown = append(unknown, id)
				}
			}
		} else if c.state == callUnknown {
			unknown = append(unknown, id)
		}
	}
	interrupted := domain.RunInterrupted{V: 1, Reason: reason, LastSeq: last, Unknown: unknown}
	if survey != nil {
		found := survey(ctx, unknown)
		interrupted.Found = &found
	}
	drafts = append(drafts, domain.Draft{CausedBy: st.run.event, Payload: interrupted})
	return true, h.append(ctx, st, lease, st.run.id, drafts)
}

// recoverCall looks at a call that was executing when its process ended. settled
// is false when it may simply be run again.
func (h *Harness) recoverCall(ctx context.Context, st *state, c *call) (drafts []domain.Draft, settled bool) {
	if c.effect.Class == domain.EffectRead || c.effect.Class == domain.EffectSandboxed {
		return nil, false
	}
	input, _ := arguments(c.input)
	hc := h.handCall(st, c, input, c.attempt)
	probe, evidence := h.Hands.Probe(ctx, c.name, hc, c.effect)
	switch probe {
	case domain.ProbeNotDone:
		return nil, false
	case domain.ProbeDone:
		res, err := h.Hands.Recovered(ctx, c.name, hc, c.effect, evidence)
		if err != nil {
			evidence = "It looks done, but what it left could not be taken in: " + err.Error()
			break
		}
		for _, p := range res.Drafts {
			drafts = append(drafts, domain.Draft{CausedBy: c.lastID, Payload: p})
		}
		return append(drafts, domain.Draft{CausedBy: c.lastID, Payload: domain.ToolCallCompleted{
			V: 1, CallID: c.id, Attempt: c.attempt, OutputHash: outputHash(res.Output), Output: res.Output, Recovered: true,
		}}), true
	case domain.ProbeUnknown:
	}
	return []domain.Draft{{CausedBy: c.lastID, Payload: domain.ToolCallUnknown{V: 1, CallID: c.id, Attempt: c.attempt, Known: evidence}}}, true
}
