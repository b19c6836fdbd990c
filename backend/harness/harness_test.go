package harness_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"worksite/backend/domain"
	"worksite/backend/harness"
)

// R117, R119, R120: everything of a step is in the ledger, in order, each event
// with its cause.
func TestOneStep(t *testing.T) {
	b := newBench(t, calls("read", `{"path":"a"}`, "read", `{"path":"b"}`, "set", `{"v":1}`))
	if got := b.until(t.Context()); got != harness.ProgressFinished {
		t.Fatalf("progress %s", got)
	}
	want := "session.created message.sent run.started model_call.started message.completed " +
		"tool_call.requested tool_call.requested tool_call.requested " +
		"gate.decided tool_call.intent tool_call.executing gate.decided tool_call.intent tool_call.executing " +
		"tool_call.completed tool_call.completed gate.decided tool_call.intent tool_call.executing " +
		"tool_call.completed model_call.started message.completed run.finished"
	var got []string
	ids := map[domain.EventID]bool{}
	for i, e := range b.events() {
		got = append(got, string(e.Kind))
		if i > 3 && !ids[e.CausedBy] {
			t.Errorf("event %d (%s) is caused by %q, which is not an earlier event", e.Seq, e.Kind, e.CausedBy)
		}
		ids[e.ID] = true
	}
	if strings.Join(got, " ") != want {
		t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), want)
	}
	b.paired()
}

// R119: an append that fails stops the step before its effect.
func TestWriteAhead(t *testing.T) {
	b := newBench(t, calls("run", `{}`))
	broken := errors.New("disk full")
	b.ledger.fail = func(req domain.AppendRequest) error {
		for _, d := range req.Drafts {
			if d.Payload.Kind() == (domain.ToolCallExecuting{}).Kind() {
				return broken
			}
		}
		return nil
	}
	var err error
	for range 3 {
		if _, err = b.h.Step(t.Context(), b.lease); err != nil {
			break
		}
	}
	if !errors.Is(err, broken) || len(b.world.executed) != 0 {
		t.Fatalf("error %v, executed %v", err, b.world.executed)
	}
}

// R63, R119: what is executed was on disk before.
func TestExecutingIsDurableFirst(t *testing.T) {
	b := newBench(t, calls("run", `{"a":1}`), calls("set", `{"b":2}`))
	b.world.before = func(name string) {
		p, ok := last[domain.ToolCallExecuting](b)
		if !ok || p.Attempt != 1 || b.events()[len(b.events())-1].Kind != p.Kind() {
			t.Errorf("%s runs, but the ledger ends with %s", name, b.kinds()[len(b.kinds())-1])
		}
	}
	b.until(t.Context())
	if len(b.world.executed) != 2 {
		t.Fatalf("executed %v", b.world.executed)
	}
}

// R132: an approval binds the digest; a world that moved on is refused.
func TestApproval(t *testing.T) {
	for _, c := range []struct {
		name     string
		answer   func(b *bench, req domain.ApprovalRequested)
		executed int
		result   string
	}{
		{"granted", func(b *bench, r domain.ApprovalRequested) {
			b.person(domain.ApprovalGranted{V: 1, ApprovalID: r.ApprovalID, CallID: r.CallID, Digest: r.Digest, By: "you"})
		}, 1, "run ok"},
		{"denied", func(b *bench, r domain.ApprovalRequested) {
			b.person(domain.ApprovalDenied{V: 1, ApprovalID: r.ApprovalID, CallID: r.CallID, By: "you", Note: "not now"})
		}, 0, "not now"},
		{"moved on", func(b *bench, r domain.ApprovalRequested) {
			b.world.salt = "x"
			b.person(domain.ApprovalGranted{V: 1, ApprovalID: r.ApprovalID, CallID: r.CallID, Digest: r.Digest, By: "you"})
		}, 0, "has changed since it was approved"},
		{"another digest", func(b *bench, r domain.ApprovalRequested) {
			_, err := b.ledger.Append(b.t.Context(), domain.AppendRequest{Session: ses, Drafts: []domain.Draft{{Run: b.run, Payload: domain.ApprovalGranted{
				V: 1, ApprovalID: r.ApprovalID, CallID: r.CallID, Digest: domain.HashBytes(nil), By: "you",
			}}}})
			if domain.CodeOf(err) != domain.CodeConflict {
				b.t.Errorf("the ledger took a grant of another digest: %v", err)
			}
		}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, calls("run", `{}`))
			b.gate["run"] = domain.VerdictAsk
			if got := b.until(t.Context()); got != harness.ProgressWaits {
				t.Fatalf("progress %s", got)
			}
			req, _ := last[domain.ApprovalRequested](b)
			b.takeOver() // R101: another process goes on after the answer
			b.gate["run"] = domain.VerdictAsk
			c.answer(b, req)
			got := b.until(t.Context())
			if len(b.world.executed) != c.executed {
				t.Fatalf("executed %v", b.world.executed)
			}
			if c.result == "" {
				if got != harness.ProgressWaits {
					t.Fatalf("a grant of another digest was taken: %s", got)
				}
				return
			}
			msgs := b.model.requests[len(b.model.requests)-1].Messages
			if text := msgs[len(msgs)-1].Text; !strings.Contains(text, c.result) {
				t.Errorf("the model reads %q", text)
			}
			b.paired()
		})
	}
}

// R109: a refused call never runs, and the reason reaches the model.
func TestRefused(t *testing.T) {
	b := newBench(t, calls("run", `{}`))
	b.gate["run"] = domain.VerdictRefuse
	b.until(t.Context())
	p, ok := last[domain.ToolCallRefused](b)
	if len(b.world.executed) != 0 || !ok || p.Rule != "test" {
		t.Fatalf("executed %v, refused %+v", b.world.executed, p)
	}
	b.paired()
}

// R153: malformed arguments become error results and the run goes on.
func TestMalformedArguments(t *testing.T) {
	b := newBench(t, calls("read", `{"path":`, "read", `[1]`, "read", "null", "read", "{\"a\":\"\x00\"}", "nosuch", `{}`, "read", strings.Repeat("x", 58000)))
	if got := b.until(t.Context()); got != harness.ProgressFinished {
		t.Fatalf("progress %s", got)
	}
	failed := 0
	for _, k := range b.kinds() {
		if k == (domain.ToolCallFailed{}).Kind() {
			failed++
		}
	}
	if failed != 6 || len(b.world.executed) != 0 {
		t.Fatalf("%d failed, executed %v", failed, b.world.executed)
	}
	b.paired()
}

// R55, R74, R118: a process that dies while a call executes. What the world shows
// as done is not done again; what is unknown waits for the person.
func TestTakeOverWhileExecuting(t *testing.T) {
	for _, c := range []struct {
		name, tool string
		done       bool // the effect happened before the crash
		progress   harness.Progress
		executed   int
	}{
		{"read", "read", false, harness.ProgressFinished, 1},
		{"idempotent, done", "set", true, harness.ProgressFinished, 0},
		{"idempotent, not done", "set", false, harness.ProgressFinished, 1},
		{"effect", "run", true, harness.ProgressUnknown, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, calls(c.tool, `{"v":1}`))
			if _, err := b.h.Step(t.Context(), b.lease); err != nil {
				t.Fatal(err)
			}
			if c.done {
				b.world.values["set"] = `{"v":1}`
			}
			b.takeOver()
			woke, err := b.h.Wake(t.Context(), b.lease, "killed", nil)
			if err != nil || !woke {
				t.Fatalf("woke %v, %v", woke, err)
			}
			if got := b.until(t.Context()); got != c.progress {
				t.Fatalf("progress %s", got)
			}
			if len(b.world.executed) != c.executed {
				t.Fatalf("executed %v", b.world.executed)
			}
			b.paired()
			if c.progress != harness.ProgressUnknown {
				return
			}
			if got := b.until(t.Context()); got != harness.ProgressUnknown {
				t.Fatalf("asked again: %s", got)
			}
			u, _ := last[domain.ToolCallUnknown](b)
			b.person(domain.ToolCallResolved{V: 1, CallID: u.CallID, Resolution: "retry"})
			if got := b.until(t.Context()); got != harness.ProgressFinished || len(b.world.executed) != 1 {
				t.Fatalf("after retry: %s, executed %v", got, b.world.executed)
			}
			if p, _ := last[domain.ToolCallExecuting](b); p.Attempt != 2 {
				t.Errorf("attempt %d", p.Attempt)
			}
		})
	}
}

// R72, R149: cancel in the middle of an effect and of a model call.
func TestCancel(t *testing.T) {
	t.Run("effect", func(t *testing.T) {
		b := newBench(t, calls("run", `{}`, "run", `{"second":true}`))
		ctx, cancel := context.WithCancel(t.Context())
		b.world.during = func(ctx context.Context, _ string) error { cancel(); <-ctx.Done(); return nil }
		b.until(ctx)
		if p, _ := last[domain.RunFinished](b); p.Outcome != domain.OutcomeCancelled || len(b.world.executed) != 1 {
			t.Fatalf("outcome %+v, executed %v", p, b.world.executed)
		}
		if got, err := b.h.Step(t.Context(), b.lease); got != harness.ProgressFinished || err != nil {
			t.Fatalf("a cancelled run went on: %s, %v", got, err)
		}
	})
	t.Run("model", func(t *testing.T) {
		b := newBench(t)
		b.model.block = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		b.until(ctx)
		if p, _ := last[domain.RunFinished](b); p.Outcome != domain.OutcomeCancelled {
			t.Fatalf("outcome %+v", p)
		}
	})
	t.Run("shutdown leaves the run open", func(t *testing.T) {
		b := newBench(t, calls("run", `{}`))
		ctx, cancel := context.WithCancelCause(t.Context())
		b.world.during = func(ctx context.Context, _ string) error {
			cancel(harness.ErrShutdown)
			<-ctx.Done()
			return nil
		}
		b.until(ctx)
		if _, ended := last[domain.RunFinished](b); ended {
			t.Fatal("the run was ended")
		}
		b.takeOver()
		b.world.during = nil
		if got := b.until(t.Context()); got != harness.ProgressFinished {
			t.Fatalf("progress %s", got)
		}
		b.paired()
	})
}

// R159: queued messages steer at the next step or follow at the end.
func TestQueue(t *testing.T) {
	b := newBench(t, calls("read", `{}`), calls("read", `{}`), domain.ModelAnswer{Text: "first"})
	if _, err := b.h.Step(t.Context(), b.lease); err != nil {
		t.Fatal(err)
	}
	b.person(domain.MessageQueued{V: 1, MessageID: "msg_later", Text: "and then this"})
	b.person(domain.MessageQueued{V: 1, MessageID: "msg_steer", Text: "use tabs", Steer: true})
	b.person(domain.MessageQueued{V: 1, MessageID: "msg_gone", Text: "never mind", Steer: true})
	b.person(domain.MessageUnqueued{V: 1, MessageID: "msg_gone"})
	b.until(t.Context())
	var order []string
	for _, e := range b.events() {
		if p, ok := domain.PayloadOf[domain.MessageSent](e); ok {
			order = append(order, p.Text)
		}
		if p, ok := domain.PayloadOf[domain.MessageCompleted](e); ok {
			order = append(order, "answer "+p.Text)
		}
	}
	want := []string{"do it", "answer ", "use tabs", "answer ", "answer first", "and then this", "answer done"}
	if !slices.Equal(order, want) {
		t.Errorf("conversation %q, want %q", order, want)
	}
	b.paired()
}

// A message that is queued while the run is about to end is not left behind.
func TestQueuedAtTheLastMoment(t *testing.T) {
	b := newBench(t, domain.ModelAnswer{Text: "first"})
	once := false
	b.ledger.fail = func(req domain.AppendRequest) error {
		for _, d := range req.Drafts {
			if _, ok := d.Payload.(domain.RunFinished); ok && !once {
				once = true
				b.person(domain.MessageQueued{V: 1, MessageID: "msg_late", Text: "one more thing"})
			}
		}
		return nil
	}
	b.until(t.Context())
	if got, _ := last[domain.MessageSent](b); got.Text != "one more thing" || b.model.calls != 2 {
		t.Errorf("the last message is %q after %d model calls", got.Text, b.model.calls)
	}
}

// R136: failures of the model are told apart and retried only where that may help.
func TestModelFailures(t *testing.T) {
	busy := &domain.ModelFailure{State: domain.ModelBusy, Message: "busy", Retryable: true}
	down := &domain.ModelFailure{State: domain.ModelDown, Message: "nothing answers", Hint: "Start it."}
	for _, c := range []struct {
		name    string
		errs    map[int]error
		outcome domain.Outcome
		calls   int
	}{
		{"once busy", map[int]error{0: busy}, domain.OutcomeDone, 2},
		{"always busy", map[int]error{0: busy, 1: busy, 2: busy, 3: busy}, domain.OutcomeFailed, 3},
		{"down", map[int]error{0: down}, domain.OutcomeFailed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.model.errs = c.errs
			b.until(t.Context())
			p, _ := last[domain.RunFinished](b)
			if p.Outcome != c.outcome || b.model.calls != c.calls {
				t.Fatalf("outcome %s after %d calls: %s", p.Outcome, b.model.calls, p.Reason)
			}
			if c.name == "down" && !strings.Contains(p.Reason, "Start it.") {
				t.Errorf("the reason does not carry the hint: %q", p.Reason)
			}
		})
	}
}

// R67: a spent budget ends the run, and says so.
func TestBudget(t *testing.T) {
	b := newBench(t, calls("read", `{}`), calls("read", `{}`), calls("read", `{}`))
	b.person(domain.BudgetSet{V: 1, Budget: domain.Budget{Steps: 2}})
	b.until(t.Context())
	if p, _ := last[domain.RunFinished](b); p.Outcome != domain.OutcomeBudget || p.Steps != 2 {
		t.Fatalf("%+v", p)
	}
}

// R67: tokens are reserved before a call leaves and settled after; what does not
// fit is not sent. Calls of one group never exceed the budget together.
func TestReservations(t *testing.T) {
	b := newBench(t, calls("read", `{"a":1}`, "read", `{"a":2}`, "read", `{"a":3}`))
	b.model.answers[0].Usage = domain.Usage{InputTokens: 300, OutputTokens: 10}
	b.person(domain.BudgetSet{V: 1, Budget: domain.Budget{Tokens: 500, Calls: 2}})
	b.until(t.Context())
	if len(b.world.executed) != 2 {
		t.Errorf("executed %v with a budget of two calls", b.world.executed)
	}
	r, ok := last[domain.BudgetReserved](b)
	s, settled := last[domain.BudgetSettled](b)
	if !ok || !settled || r.Tokens == 0 || s.Tokens != 310 || s.For != r.For {
		t.Errorf("reserved %+v, settled %+v", r, s)
	}
	if p, _ := last[domain.RunFinished](b); p.Outcome != domain.OutcomeBudget || b.model.calls != 1 {
		t.Errorf("%+v after %d model calls", p, b.model.calls)
	}
}

// R91, R124, R136, R153: a context that grows is shortened visibly, never silently, and
// stays paired; the ledger only grows.
func TestCompaction(t *testing.T) {
	var answers []domain.ModelAnswer
	for range 60 {
		a := calls("read", `{}`)
		a.Text = strings.Repeat("word ", 200)
		answers = append(answers, a)
	}
	b := newBench(t, answers...)
	b.model.limit, b.model.byCall = 4096, true
	if got := b.until(t.Context()); got != harness.ProgressFinished {
		t.Fatalf("progress %s", got)
	}
	p, ok := last[domain.ContextCompacted](b)
	if !ok || len(p.Dropped)+len(p.Elided) == 0 || p.AfterTokens >= p.BeforeTokens {
		t.Fatalf("compaction %+v, %v", p, ok)
	}
	for _, e := range b.events() {
		if s, ok := domain.PayloadOf[domain.ModelCallStarted](e); ok && s.ContextTokens > s.ContextLimit {
			t.Errorf("a context of %d tokens was sent to a limit of %d", s.ContextTokens, s.ContextLimit)
		}
	}
	if first := b.model.requests[len(b.model.requests)-1].Messages[1]; first.Text != "do it" {
		t.Errorf("the first instruction is gone: %q", first.Text)
	}
	b.paired()
}

// R20, R115, R118, R153: at any point another process with an empty harness takes over; the contexts stay
// paired, nothing of class effect runs twice, and the run ends.
func TestRandomInterruptions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tools := rapid.SampledFrom([]string{"read", "set", "run"})
		var answers []domain.ModelAnswer
		n := 0
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			var list []string
			for range rapid.IntRange(1, 3).Draw(rt, "calls") {
				n++
				list = append(list, tools.Draw(rt, "tool"), `{"n":`+string(rune('0'+n%10))+`}`)
			}
			answers = append(answers, calls(list...))
		}
		b := newBench(t, answers...)
		seen := map[string]int{}
		b.world.during = func(_ context.Context, name string) error {
			p, _ := last[domain.ToolCallExecuting](b)
			if name == "run" {
				seen[string(p.CallID)]++
			}
			return nil
		}
		for range 60 {
			got, err := b.h.Step(t.Context(), b.lease)
			if err != nil {
				rt.Fatal(err)
			}
			if got == harness.ProgressFinished {
				break
			}
			if got == harness.ProgressUnknown {
				u, _ := last[domain.ToolCallUnknown](b)
				b.person(domain.ToolCallResolved{V: 1, CallID: u.CallID, Resolution: rapid.SampledFrom([]string{"done", "skip"}).Draw(rt, "resolution")})
			}
			if rapid.Bool().Draw(rt, "take over") {
				b.takeOver()
				if _, err := b.h.Wake(t.Context(), b.lease, "killed", nil); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if _, ok := last[domain.RunFinished](b); !ok {
			rt.Fatal("the run did not end")
		}
		for id, times := range seen {
			if times > 1 {
				rt.Fatalf("effect %s ran %d times", id, times)
			}
		}
		b.paired()
	})
}
