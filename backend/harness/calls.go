package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
)

// readyCall is a call whose `executing` is in the ledger, or about to be.
type readyCall struct {
	call      *call
	prepared  *domain.PreparedCall
	attempt   int
	executing domain.EventID
}

// group is the next calls to carry out together: any number of reads, or one
// call of another class. Its drafts must be durable before ready is executed.
type group struct {
	drafts []domain.Draft
	ready  []readyCall
	taken  int  // how many calls of the list were dealt with
	asks   bool // the last call dealt with waits for a person
}

// nextGroup decides on the first calls of the list.
func (h *Harness) nextGroup(ctx context.Context, st *state, calls []*call) group {
	var g group
	for _, c := range calls {
		reading := h.class(c.name) == domain.EffectRead
		if len(g.ready) > 0 && !(reading && h.class(g.ready[len(g.ready)-1].call.name) == domain.EffectRead) {
			break
		}
		drafts, ready, asks := h.decide(ctx, st, c, int64(len(g.ready)))
		g.drafts = append(g.drafts, drafts...)
		g.taken++
		if ready != nil {
			g.ready = append(g.ready, *ready)
		}
		if asks {
			g.asks = true
			break
		}
	}
	if g.asks && len(g.ready) > 0 {
		g.asks = false // carry out what may run first; the open question is met again afterwards
	}
	return g
}

// decide takes one call through preparation and gate. It returns the facts to
// record and, when the call may run, how. beside is how many calls of its group
// were let through already: they count as spent, so that together they never
// exceed the budget.
func (h *Harness) decide(ctx context.Context, st *state, c *call, beside int64) (drafts []domain.Draft, ready *readyCall, asks bool) {
	cause := c.lastID
	add := func(p domain.Payload) {
		d := domain.Draft{ID: domain.NewEventID(), CausedBy: cause, Payload: p}
		cause = d.ID
		drafts = append(drafts, d)
	}
	fail := func(code domain.Code, message, hint string) ([]domain.Draft, *readyCall, bool) {
		add(domain.ToolCallFailed{V: 1, CallID: c.id, Attempt: c.attempt, Code: code, Message: message, Hint: hint})
		return drafts, nil, false
	}
	if c.state == callDenied {
		reason := "The person said no."
		if c.note != "" {
			reason += " They wrote: " + c.note
		}
		add(domain.ToolCallRefused{V: 1, CallID: c.id, Layer: domain.LayerApproval, Rule: "denied", Reason: reason})
		return drafts, nil, false
	}
	input, malformed := arguments(c.input)
	if malformed != "" {
		return fail(domain.CodeInvalid, malformed, "")
	}
	spec, ok := h.spec(c.name)
	if !ok {
		return fail(domain.CodeInvalid, fmt.Sprintf("There is no tool named %q.", c.name), "The tools are: "+h.names()+".")
	}
	attempt := c.attempt + 1
	hc := h.handCall(st, c, input, attempt)
	prepared, err := h.Hands.Prepare(ctx, c.name, hc)
	if err != nil {
		return fail(domain.CodeOf(err), err.Error(), domain.HintOf(err))
	}
	if c.state == callGranted && prepared.Digest != c.digest {
		return fail(domain.CodeConflict, "What this call would do has changed since it was approved, so it was not carried out.", "Look again and request it anew.")
	}
	spent := st.run.spent
	spent.Calls += beside
	spent.Seconds = int64(h.Now().Sub(st.run.started).Seconds())
	decision := h.Gate.Decide(GateRequest{
		Spec: spec, Prepared: prepared, Ceiling: st.run.ceiling, Mode: st.mode,
		Budget: st.run.budget, Spent: spent, Grants: st.grants, Consented: st.consented,
	})
	if c.state == callGranted && decision.Verdict == domain.VerdictAsk {
		decision.Verdict = domain.VerdictAllow
		decision.Layers[len(decision.Layers)-1] = domain.LayerDecision{
			Layer: domain.LayerApproval, Verdict: domain.VerdictAllow, Rule: "granted", Reason: "The person granted exactly this.",
		}
	}
	add(domain.GateDecided{V: 1, CallID: c.id, Digest: prepared.Digest, Layers: decision.Layers})
	last := domain.LayerDecision{Layer: domain.LayerCeiling, Rule: "empty", Reason: "No layer of the gate answered."}
	if n := len(decision.Layers); n > 0 {
		last = decision.Layers[n-1]
	}
	switch decision.Verdict {
	case domain.VerdictAllow:
	case domain.VerdictAsk:
		add(domain.ApprovalRequested{
			V: 1, ApprovalID: domain.NewApprovalID(), CallID: c.id, Digest: prepared.Digest, Tool: c.name,
			Title: prepared.Title, Shown: prepared.Shown, ShownKind: prepared.ShownKind,
			Layer: last.Layer, Rule: last.Rule, Reason: last.Reason, Touches: prepared.Touches, Scopes: prepared.Scopes,
		})
		return drafts, nil, true
	default:
		add(domain.ToolCallRefused{V: 1, CallID: c.id, Layer: last.Layer, Rule: last.Rule, Reason: last.Reason})
		return drafts, nil, false
	}
	add(domain.ToolCallIntent{
		V: 1, CallID: c.id, Effect: prepared.Effect, Digest: prepared.Digest, Attempt: attempt,
		IdempotencyKey: domain.HashBytes([]byte(string(st.session) + "/" + string(c.id) + "/" + prepared.Digest.String())).String(),
	})
	add(domain.ToolCallExecuting{V: 1, CallID: c.id, Attempt: attempt, Where: where(spec, prepared)})
	return drafts, &readyCall{call: c, prepared: prepared, attempt: attempt, executing: cause}, false
}

func where(spec domain.HandSpec, p *domain.PreparedCall) string {
	if p.Call.Unsandboxed && len(p.Effect.Argv) > 0 {
		return "unsandboxed on this machine"
	}
	return spec.Where
}

// runCalls carries out the open calls in order. It returns the facts of the last
// group, not yet appended, so that the caller can commit them with what follows.
func (h *Harness) runCalls(ctx context.Context, st *state, lease domain.Lease) ([]domain.Draft, Progress, error) {
	var pend []domain.Draft
	ready := st.ready
	st.ready = nil
	ids := slices.Clone(st.open)
	for len(ids) > 0 {
		if len(ready) > 0 {
			pend = append(pend, h.execute(ctx, st, ready)...)
			ended := endedBy(pend)
			ids = slices.DeleteFunc(ids, func(id domain.CallID) bool { return ended[id] })
			ready = nil
			continue
		}
		if ctx.Err() != nil {
			break
		}
		c := st.calls[ids[0]]
		switch c.state {
		case callUnknown:
			return pend, ProgressUnknown, nil
		case callAsked:
			return pend, ProgressWaits, nil
		case callExecuting:
			found, settled := h.recoverCall(ctx, st, c)
			if settled {
				if err := h.append(ctx, st, lease, st.run.id, append(pend, found...)); err != nil {
					return nil, "", err
				}
				pend = nil
				if c.state == callEnded {
					ids = ids[1:]
				}
				continue
			}
			c.state = callRequested
		case callEnded:
			ids = ids[1:]
			continue
		case callRequested, callGranted, callDenied, callIntended: // decided below
		}
		var rest []*call
		for _, id := range ids {
			if c := st.calls[id]; c.state == callAsked || c.state == callExecuting || c.state == callUnknown {
				break
			}
			rest = append(rest, st.calls[id])
		}
		g := h.nextGroup(ctx, st, rest)
		if err := h.append(ctx, st, lease, st.run.id, append(pend, g.drafts...)); err != nil {
			return nil, "", err
		}
		h.done(st, pend)
		pend, ready = nil, g.ready
		ids = slices.DeleteFunc(ids, func(id domain.CallID) bool { return st.calls[id].state == callEnded })
		if g.asks {
			return nil, ProgressWaits, nil
		}
	}
	return pend, ProgressMore, nil
}

// execute carries out a group, its members at the same time, and returns one
// result for each, in order.
func (h *Harness) execute(ctx context.Context, st *state, ready []readyCall) []domain.Draft {
	results := make([][]domain.Draft, len(ready))
	var wg sync.WaitGroup
	for i, r := range ready {
		wg.Go(func() { results[i] = h.executeOne(ctx, st, r) })
	}
	wg.Wait()
	return slices.Concat(results...)
}

func (h *Harness) executeOne(ctx context.Context, st *state, r readyCall) []domain.Draft {
	if ctx.Err() != nil {
		return []domain.Draft{{CausedBy: r.executing, Payload: domain.ToolCallFailed{
			V: 1, CallID: r.call.id, Attempt: r.attempt, Code: domain.CodeConflict, Message: "Not carried out: stopped before it began.",
		}}}
	}
	begun := h.Now()
	failpoint.Reach(failpoint.HandBeforeEffect)
	result, err := h.Hands.Execute(ctx, r.call.name, r.prepared, func(chunk []byte) { h.Live.Output(st.session, r.call.id, chunk) })
	failpoint.Reach(failpoint.HandAfterEffect)
	took := h.Now().Sub(begun).Milliseconds()
	var drafts []domain.Draft
	for _, p := range result.Drafts {
		drafts = append(drafts, domain.Draft{CausedBy: r.executing, Payload: p})
	}
	var ending domain.Payload
	var unknown *domain.UnknownEffect
	switch {
	case errors.As(err, &unknown) && h.class(r.call.name) != domain.EffectRead:
		ending = domain.ToolCallUnknown{V: 1, CallID: r.call.id, Attempt: r.attempt, Known: unknown.Known}
	case ctx.Err() != nil && err == nil && h.class(r.call.name) != domain.EffectRead:
		ending = domain.ToolCallFailed{
			V: 1, CallID: r.call.id, Attempt: r.attempt, Code: domain.CodeConflict, Files: result.Output.Files,
			Message: fmt.Sprintf("Stopped after %.1f s; a part of its work may be done. Output so far:\n%s", float64(took)/1000, result.Output.Text),
		}
	case err != nil:
		ending = domain.ToolCallFailed{
			V: 1, CallID: r.call.id, Attempt: r.attempt, Code: domain.CodeOf(err),
			Message: err.Error(), Hint: domain.HintOf(err), Files: result.Output.Files,
		}
	default:
		ending = domain.ToolCallCompleted{
			V: 1, CallID: r.call.id, Attempt: r.attempt, OutputHash: outputHash(result.Output),
			Output: result.Output, DurationMS: took,
		}
	}
	return append(drafts, domain.Draft{CausedBy: r.executing, Payload: ending})
}

func outputHash(out domain.ToolOutput) domain.Hash { return domain.HashBytes([]byte(out.Text)) }

func failureText(message, hint string) string {
	if hint == "" {
		return "Error: " + message
	}
	return "Error: " + message + " " + hint
}

func (h *Harness) handCall(st *state, c *call, input json.RawMessage, attempt int) domain.HandCall {
	return domain.HandCall{
		Session: st.session, Run: st.run.id, CallID: c.id, Attempt: attempt,
		Workspace: st.workspace, Input: input, Unsandboxed: st.consented,
	}
}

func (h *Harness) spec(name string) (domain.HandSpec, bool) {
	for _, s := range h.Hands.Specs() {
		if s.Name == name {
			return s, true
		}
	}
	return domain.HandSpec{}, false
}

func (h *Harness) class(name string) domain.EffectClass {
	s, _ := h.spec(name)
	return s.Class
}

func (h *Harness) names() string {
	var out string
	for i, s := range h.Hands.Specs() {
		if i > 0 {
			out += ", "
		}
		out += s.Name
	}
	return out
}
