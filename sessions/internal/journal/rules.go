package journal

import (
	"fmt"
	"slices"

	"worksite/backend/domain"
	"worksite/sessions/projection"
)

// Check decides whether event e with payload p may follow what the book and the
// session's head say. The error is a *domain.Error.
func Check(b Book, head projection.Session, e *domain.Event, p domain.Payload) error {
	if err := checkRun(b, head, e, p); err != nil {
		return err
	}
	switch p := p.(type) {
	case domain.LeafMoved:
		return checkLeaf(b, e, p)
	case domain.MessageQueued:
		if head.Run == nil || head.Run.State.Ended() {
			return domain.Errorf(domain.CodeConflict, "no run is going on that could take a queued message").
				WithHint("Send the message; it starts a new run.")
		}
	case domain.MessageUnqueued:
		return checkQueued(head, p.MessageID)
	case domain.MessageSent:
		if p.FromQueue {
			return checkQueued(head, p.MessageID)
		}
	case domain.ApprovalRequested:
		if _, ok, err := b.Approval(p.ApprovalID); ok || err != nil {
			return wrap(err, domain.CodeConflict, "approval %s was requested before", p.ApprovalID)
		}
		return checkLive(b, p.CallID)
	case domain.ApprovalGranted:
		return checkAnswer(b, p.ApprovalID, p.CallID, &p.Digest)
	case domain.ApprovalDenied:
		return checkAnswer(b, p.ApprovalID, p.CallID, nil)
	case domain.ApprovalExpired:
		return checkAnswer(b, p.ApprovalID, p.CallID, nil)
	}
	return checkCall(b, p)
}

// wrap returns err, or when it is nil the refusal.
func wrap(err error, code domain.Code, format string, args ...any) error {
	if err != nil {
		return err
	}
	return domain.Errorf(code, format, args...)
}

// checkRun keeps runs in order: one at a time, each with a beginning, nothing
// of its work after its end.
func checkRun(b Book, head projection.Session, e *domain.Event, p domain.Payload) error {
	if _, ok := p.(domain.RunStarted); ok {
		switch {
		case e.Run == "":
			return domain.Errorf(domain.CodeInvalid, "run.started names no run")
		case head.Run != nil && !head.Run.State.Ended():
			return domain.Errorf(domain.CodeConflict, "run %s of this session is still going on", head.Run.ID).
				WithHint("Queue the message, or stop the run first.")
		}
		_, ok, err := b.Run(e.Run)
		if ok || err != nil {
			return wrap(err, domain.CodeConflict, "run %s was started before", e.Run)
		}
		return nil
	}
	if e.Run == "" {
		if domain.RunnerOnly(e.Kind) || e.Kind == (domain.RunCancelRequested{}).Kind() {
			return domain.Errorf(domain.CodeInvalid, "%s names no run", e.Kind)
		}
		return nil
	}
	run, ok, err := b.Run(e.Run)
	switch {
	case err != nil:
		return err
	case !ok && !ahead(e.Kind):
		return domain.Errorf(domain.CodeInvalid, "%s names run %s, which was never started in this session", e.Kind, e.Run)
	case run.Finished > 0 && work(e.Kind):
		return domain.Errorf(domain.CodeFinished, "run %s has ended; nothing more can happen in it", e.Run).
			WithHint("Send a new message, or fork the session at an earlier point.")
	}
	if _, ok := p.(domain.RunFinished); ok {
		for _, c := range head.Open {
			if c.Run == e.Run {
				return domain.Errorf(domain.CodeInvalid, "call %s of run %s is still executing: its outcome must be recorded before the run ends", c.CallID, e.Run)
			}
		}
	}
	return nil
}

// work reports whether k is part of a run's work, as opposed to what a person
// says about its results later.
func work(k domain.Kind) bool {
	if domain.RunnerOnly(k) {
		return true
	}
	switch k {
	case domain.RunCancelRequested{}.Kind(), domain.BudgetSet{}.Kind(), domain.MessageSent{}.Kind(), domain.MessageQueued{}.Kind(),
		domain.ApprovalGranted{}.Kind(), domain.ApprovalDenied{}.Kind():
		return true
	}
	return false
}

// ahead reports whether k may name a run that starts only after it: the
// instruction that a run is about to work on, and what opens the session for it.
func ahead(k domain.Kind) bool {
	return k == domain.MessageSent{}.Kind() || k == domain.SessionCreated{}.Kind()
}

func checkLeaf(b Book, e *domain.Event, p domain.LeafMoved) error {
	session, ok, err := b.Event(p.To)
	switch {
	case err != nil:
		return err
	case !ok || session != e.Session:
		return domain.Errorf(domain.CodeInvalid, "the leaf cannot move to %q: this session has no such event", p.To)
	case e.Parent != p.To:
		return domain.Errorf(domain.CodeInvalid, "the parent of leaf.moved is the event it moves to, not %s", e.Parent)
	}
	return nil
}

func checkQueued(head projection.Session, id domain.MessageID) error {
	if slices.ContainsFunc(head.Queue, func(q projection.Queued) bool { return q.Message.MessageID == id }) {
		return nil
	}
	return domain.Errorf(domain.CodeConflict, "message %s is not in the queue any more: it was sent or taken back meanwhile", id)
}

// checkAnswer lets exactly one answer through, and only to what was shown.
func checkAnswer(b Book, id domain.ApprovalID, call domain.CallID, digest *domain.Hash) error {
	a, ok, err := b.Approval(id)
	switch {
	case err != nil:
		return err
	case !ok:
		return domain.Errorf(domain.CodeNotFound, "approval %s was never requested in this session", id)
	case a.Answer != "":
		by := ""
		if a.By != "" {
			by = " by " + a.By
		}
		return domain.Errorf(domain.CodeConflict, "this request was already answered: %s%s at %s", a.Answer, by, a.At.UTC().Format("2006-01-02 15:04:05 UTC"))
	case a.CallID != call:
		return domain.Errorf(domain.CodeInvalid, "approval %s is for call %s, not for %s", id, a.CallID, call)
	case digest != nil && *digest != a.Digest:
		return domain.Errorf(domain.CodeConflict, "what was approved is not what was asked: the effect has changed").
			WithHint("Look at the request again and answer what it says now.")
	}
	return nil
}

// checkLive refuses anything about a call that is over.
func checkLive(b Book, id domain.CallID) error {
	c, ok, err := b.Call(id)
	switch {
	case err != nil:
		return err
	case !ok:
		return domain.Errorf(domain.CodeInvalid, "call %s was never requested in this session", id)
	case c.State != CallRequested && c.State != CallIntent && c.State != CallRetry && c.State != CallExecuting:
		return order(c, "approval.requested")
	}
	return nil
}

func order(c Call, kind domain.Kind) *domain.Error {
	state := string(c.State)
	if c.Attempt >= 0 {
		state = fmt.Sprintf("%s, attempt %d", state, c.Attempt)
	}
	return domain.Errorf(domain.CodeInvalid, "%s cannot follow here: call %s is %s", kind, c.ID, state)
}

// checkCall keeps the journal of a tool call in order:
//
//	requested → gate.decided → intent → executing → completed | failed | unknown → resolved
func checkCall(b Book, p domain.Payload) error {
	var id domain.CallID
	var allowed func(Call) bool
	in := func(states ...CallState) func(Call) bool {
		return func(c Call) bool { return slices.Contains(states, c.State) }
	}
	switch p := p.(type) {
	case domain.ToolCallRequested:
		if p.CallID == "" {
			return domain.Errorf(domain.CodeInvalid, "tool_call.requested names no call")
		}
		_, ok, err := b.Call(p.CallID)
		if ok || err != nil {
			return wrap(err, domain.CodeConflict, "call %s was requested before", p.CallID)
		}
		return nil
	case domain.GateDecided:
		id, allowed = p.CallID, in(CallRequested, CallIntent, CallExecuting, CallRetry)
	case domain.ToolCallRefused:
		id, allowed = p.CallID, in(CallRequested, CallIntent, CallExecuting, CallRetry)
	case domain.ToolCallIntent:
		id = p.CallID
		allowed = func(c Call) bool {
			return c.Decided && p.Attempt > c.Attempt && in(CallRequested, CallIntent, CallExecuting, CallRetry)(c)
		}
	case domain.ToolCallExecuting:
		id = p.CallID
		allowed = func(c Call) bool { return c.State == CallIntent && c.Attempt == p.Attempt }
	case domain.ToolCallCompleted:
		id = p.CallID
		allowed = func(c Call) bool { return c.State == CallExecuting && c.Attempt == p.Attempt }
	case domain.ToolCallFailed:
		id = p.CallID
		allowed = func(c Call) bool {
			return in(CallRequested, CallRetry)(c) || in(CallIntent, CallExecuting)(c) && c.Attempt == p.Attempt
		}
	case domain.ToolCallUnknown:
		id = p.CallID
		allowed = func(c Call) bool { return c.State == CallExecuting && c.Attempt == p.Attempt }
	case domain.ToolCallResolved:
		id, allowed = p.CallID, in(CallUnknown)
		if !slices.Contains([]string{"retry", "done", "skip"}, p.Resolution) {
			return domain.Errorf(domain.CodeInvalid, "a call is resolved by retry, done or skip, not by %q", p.Resolution)
		}
	default:
		return nil
	}
	c, ok, err := b.Call(id)
	switch {
	case err != nil:
		return err
	case !ok:
		return domain.Errorf(domain.CodeInvalid, "%s: call %q was never requested in this session", p.Kind(), id)
	case !allowed(c):
		return refusal(c, p)
	}
	return nil
}

func refusal(c Call, p domain.Payload) error {
	switch p := p.(type) {
	case domain.ToolCallIntent:
		if !c.Decided {
			return domain.Errorf(domain.CodeInvalid, "call %s has no gate decision on record, so it cannot begin", c.ID)
		}
		if p.Attempt <= c.Attempt {
			return domain.Errorf(domain.CodeInvalid, "attempt %d of call %s is not after attempt %d", p.Attempt, c.ID, c.Attempt)
		}
	case domain.ToolCallResolved:
		return domain.Errorf(domain.CodeConflict, "call %s is %s: there is nothing to decide", c.ID, c.State)
	}
	return order(c, p.Kind())
}
