package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"worksite/backend/domain"
)

// maxModelRetries bounds how often one model call is asked again by itself.
const maxModelRetries = 2

// Step carries out the open tool calls of the session that lease is for, then
// asks the model once and records its answer together with the decisions on the
// first of its calls. It returns how the session stands.
//
// When ctx is cancelled, what was going on is recorded as stopped; a cause of
// [ErrShutdown] leaves the run open, any other ends it as cancelled.
func (h *Harness) Step(ctx context.Context, lease domain.Lease) (Progress, error) {
	st, err := h.load(context.WithoutCancel(ctx), lease.Session)
	if err != nil {
		return "", err
	}
	switch r := st.run; {
	case r == nil:
		return ProgressIdle, nil
	case r.finished:
		return ProgressFinished, nil
	case r.cancel || stopped(ctx):
		return h.finish(ctx, st, lease, nil, domain.OutcomeCancelled, "Stopped by you.")
	}
	pend, progress, err := h.runCalls(ctx, st, lease)
	if err != nil {
		return "", err
	}
	if stopped(ctx) {
		return h.finish(ctx, st, lease, pend, domain.OutcomeCancelled, "Stopped by you.")
	}
	if ctx.Err() != nil || progress != ProgressMore {
		if err := h.append(ctx, st, lease, st.run.id, pend); err != nil {
			return "", err
		}
		h.done(st, pend)
		return progress, ctx.Err()
	}
	answered := len(pend) == 0 && st.answered()
	pend = append(pend, st.takeQueue(answered)...)
	if answered && len(pend) == 0 {
		return h.finish(ctx, st, lease, nil, domain.OutcomeDone, "")
	}
	if reason := h.overBudget(st); reason != "" {
		return h.finish(ctx, st, lease, pend, domain.OutcomeBudget, reason)
	}
	return h.ask(ctx, st, lease, pend)
}

// stopped reports whether ctx was cancelled by a person rather than by the end of the process.
func stopped(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrShutdown)
}

// takeQueue turns queued messages into the conversation: those that steer at
// every step, the others when the model has answered.
func (st *state) takeQueue(answered bool) []domain.Draft {
	var out []domain.Draft
	for _, q := range st.queue {
		if q.Steer || answered {
			out = append(out, domain.Draft{Payload: domain.MessageSent{
				V: 1, MessageID: q.MessageID, Text: q.Text, Attachments: q.Attachments, FromQueue: true,
			}})
		}
	}
	return out
}

func (h *Harness) overBudget(st *state) string {
	b, s := st.run.budget, st.run.spent
	seconds := int64(h.Now().Sub(st.run.started).Seconds())
	for _, l := range []struct {
		limit, used int64
		unit        string
	}{{b.Steps, s.Steps, "steps"}, {b.Tokens, s.Tokens, "tokens"}, {b.Calls, s.Calls, "tool calls"}, {b.Seconds, seconds, "seconds"}} {
		if l.limit > 0 && l.used >= l.limit {
			return fmt.Sprintf("The budget of %d %s is spent (%d used). Send a message with a larger budget to go on.", l.limit, l.unit, l.used)
		}
	}
	return ""
}

// finish ends the run. Questions nobody needs to answer any more expire, and
// calls that were not carried out are said to be so.
func (h *Harness) finish(ctx context.Context, st *state, lease domain.Lease, drafts []domain.Draft, outcome domain.Outcome, reason string) (Progress, error) {
	ended := endedBy(drafts)
	for _, id := range st.open {
		c := st.calls[id]
		if ended[id] {
			continue
		}
		if c.state == callAsked {
			drafts = append(drafts, domain.Draft{CausedBy: c.lastID, Payload: domain.ApprovalExpired{
				V: 1, ApprovalID: c.approval, CallID: id, Reason: "The run ended before it was answered.",
			}})
		}
		if c.state == callUnknown {
			continue // what is not known stays so
		}
		if c.state == callExecuting {
			if found, settled := h.recoverCall(ctx, st, c); settled {
				drafts = append(drafts, found...)
				continue
			}
		}
		drafts = append(drafts, domain.Draft{CausedBy: c.lastID, Payload: domain.ToolCallFailed{
			V: 1, CallID: id, Attempt: c.attempt, Code: domain.CodeConflict, Message: "Not carried out: the run ended first.",
		}})
	}
	drafts = append(drafts, domain.Draft{CausedBy: st.run.event, Payload: domain.RunFinished{
		V: 1, Outcome: outcome, Reason: reason, Steps: st.run.steps, Usage: st.run.usage,
	}})
	var expect *int64
	if outcome == domain.OutcomeDone { // a message that was queued meanwhile is taken first
		seq := st.lastSeq
		expect = &seq
	}
	switch err := h.appendAt(ctx, st, lease, st.run.id, drafts, expect); {
	case expect != nil && domain.CodeOf(err) == domain.CodeConflict:
		return ProgressMore, nil
	case err != nil:
		return "", err
	}
	h.done(st, drafts)
	return ProgressFinished, nil
}

// endedBy lists the calls that drafts give a result to.
func endedBy(drafts []domain.Draft) map[domain.CallID]bool {
	out := map[domain.CallID]bool{}
	for _, d := range drafts {
		switch p := d.Payload.(type) {
		case domain.ToolCallCompleted:
			out[p.CallID] = true
		case domain.ToolCallFailed:
			out[p.CallID] = true
		case domain.ToolCallRefused:
			out[p.CallID] = true
		}
	}
	return out
}

// done tells watchers which live output a committed event has replaced.
func (h *Harness) done(st *state, drafts []domain.Draft) {
	for id := range endedBy(drafts) {
		h.Live.Done(st.session, string(id))
	}
}

// ask makes one model call. pend goes to the ledger in the same transaction as
// model_call.started, so a step costs one commit before its effect and one after.
func (h *Harness) ask(ctx context.Context, st *state, lease domain.Lease, pend []domain.Draft) (Progress, error) {
	limit, err := h.Model.Context(ctx, st.model)
	if err != nil {
		return h.modelFailed(ctx, st, lease, pend, domain.NewMessageID(), err)
	}
	brief, sources, err := h.brief(ctx, st)
	if err != nil {
		return "", err
	}
	tools := h.tools()
	need := st.estimate(brief, tools) + estimateDrafts(pend)
	if room := roomFor(limit); need > room {
		if err := h.append(ctx, st, lease, st.run.id, pend); err != nil {
			return "", err
		}
		h.done(st, pend)
		pend = nil
		compacted, ok := st.compact(brief, tools, room)
		if !ok {
			return h.modelFailed(ctx, st, lease, nil, domain.NewMessageID(), &domain.ModelFailure{
				State:   domain.ModelTooLong,
				Message: fmt.Sprintf("The conversation needs about %d tokens and %s has room for %d. Nothing was sent.", need, st.model.Name, room),
				Hint:    "Choose a larger context or another model, or start a new session for the rest of the task.",
			})
		}
		pend = []domain.Draft{{Payload: compacted}}
		need = compacted.AfterTokens
	}
	id := domain.NewMessageID()
	if limit := st.run.budget.Tokens; limit > 0 {
		if left := limit - st.run.spent.Tokens; int64(need) > left {
			return h.finish(ctx, st, lease, pend, domain.OutcomeBudget, fmt.Sprintf(
				"The next question to the model needs about %d tokens and %d of %d are left. Nothing was sent. Send a message with a larger budget to go on.", need, left, limit))
		}
		pend = append(pend, domain.Draft{CausedBy: st.run.event, Payload: domain.BudgetReserved{V: 1, For: string(id), Tokens: int64(need)}})
	}
	started := domain.Draft{ID: domain.NewEventID(), CausedBy: st.causeOfCall(pend), Payload: domain.ModelCallStarted{
		V: 1, MessageID: id, Model: st.model, Messages: st.messageCount() + len(pend), Tools: len(tools),
		ContextTokens: need, ContextLimit: limit, LastSeq: st.lastSeq + int64(len(pend)), Sources: sources,
	}}
	if err := h.append(ctx, st, lease, st.run.id, append(pend, started)); err != nil {
		return "", err
	}
	h.done(st, pend)
	req := domain.ModelRequest{Model: st.model, Messages: st.messages(brief), Tools: tools}
	answer, err := h.Model.Next(ctx, req, func(d domain.Delta) { h.Live.Delta(st.session, id, d) })
	defer h.Live.Done(st.session, string(id))
	if err != nil {
		return h.modelFailed(ctx, st, lease, nil, id, err)
	}
	return h.record(ctx, st, lease, started.ID, id, answer)
}

// record commits a whole answer and, in the same transaction, the requests of its
// calls and the decisions on the first of them.
func (h *Harness) record(ctx context.Context, st *state, lease domain.Lease, cause domain.EventID, id domain.MessageID, answer domain.ModelAnswer) (Progress, error) {
	message := domain.Draft{ID: domain.NewEventID(), CausedBy: cause}
	var calls []*call
	for i := range answer.ToolCalls {
		rc := &answer.ToolCalls[i]
		rc.CallID = domain.NewCallID()
		calls = append(calls, &call{id: rc.CallID, name: rc.Name, input: rc.Arguments})
	}
	message.Payload = domain.MessageCompleted{
		V: 1, MessageID: id, Text: answer.Text, Thinking: answer.Thinking, ToolCalls: answer.ToolCalls,
		Model: st.model, Finish: answer.Finish, Usage: answer.Usage, Recorded: answer.Recorded,
	}
	drafts := []domain.Draft{message}
	if st.run.budget.Tokens > 0 {
		drafts = append(drafts, domain.Draft{CausedBy: message.ID, Payload: domain.BudgetSettled{
			V: 1, For: string(id), Tokens: int64(answer.Usage.InputTokens + answer.Usage.OutputTokens),
		}})
	}
	for _, c := range calls {
		_, c.malformed = arguments(c.input)
		request := domain.Draft{ID: domain.NewEventID(), CausedBy: message.ID, Payload: domain.ToolCallRequested{
			V: 1, CallID: c.id, Name: c.name, Input: c.input, Malformed: c.malformed,
		}}
		c.requestID, c.lastID = request.ID, request.ID
		drafts = append(drafts, request)
	}
	var group group
	if len(calls) > 0 && ctx.Err() == nil {
		group = h.nextGroup(ctx, st, calls)
		drafts = append(drafts, group.drafts...)
	}
	if err := h.append(ctx, st, lease, st.run.id, drafts); err != nil {
		return "", err
	}
	st.ready = group.ready
	if group.asks {
		return ProgressWaits, nil
	}
	return ProgressMore, nil
}

// modelFailed records in which state the model was found, and asks again when
// that may help.
func (h *Harness) modelFailed(ctx context.Context, st *state, lease domain.Lease, drafts []domain.Draft, id domain.MessageID, err error) (Progress, error) {
	var f *domain.ModelFailure
	if !errors.As(err, &f) {
		f = &domain.ModelFailure{State: domain.ModelError, Message: err.Error(), Err: err}
	}
	again := f.Retryable && st.run.failures < maxModelRetries && ctx.Err() == nil
	failed := domain.ModelCallFailed{V: 1, MessageID: id, State: f.State, Message: f.Message, Hint: f.Hint, Partial: f.Partial, Retry: again}
	if ctx.Err() != nil {
		failed.State, failed.Message, failed.Hint = domain.ModelCutOff, "Stopped while the model was answering.", ""
	}
	drafts = append(drafts, domain.Draft{CausedBy: st.run.modelCall, Payload: failed})
	if st.run.budget.Tokens > 0 {
		drafts = append(drafts, domain.Draft{CausedBy: st.run.modelCall, Payload: domain.BudgetSettled{V: 1, For: string(id)}})
	}
	switch {
	case stopped(ctx):
		return h.finish(ctx, st, lease, drafts, domain.OutcomeCancelled, "Stopped by you.")
	case ctx.Err() != nil:
		if err := h.append(ctx, st, lease, st.run.id, drafts); err != nil {
			return "", err
		}
		return ProgressMore, ctx.Err()
	case !again:
		reason := f.Message
		if f.Hint != "" {
			reason += " " + f.Hint
		}
		return h.finish(ctx, st, lease, drafts, domain.OutcomeFailed, reason)
	}
	if err := h.append(ctx, st, lease, st.run.id, drafts); err != nil {
		return "", err
	}
	timer := time.NewTimer(h.RetryDelay(st.run.failures))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ProgressMore, nil
}
