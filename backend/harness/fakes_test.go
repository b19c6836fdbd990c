package harness_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/backend/harness"
	"worksite/sessions"
)

// scripted answers by the number of answers already in the context.
type scripted struct {
	mu       sync.Mutex
	answers  []domain.ModelAnswer
	errs     map[int]error // by call number, from 0
	calls    int
	requests []domain.ModelRequest
	limit    int
	byCall   bool          // choose by the number of calls instead: contexts get shorter
	block    chan struct{} // when set, Next waits for it or ctx
}

func (m *scripted) Context(context.Context, domain.ModelRef) (int, error) {
	if m.limit > 0 {
		return m.limit, nil
	}
	return 32768, nil
}

func (m *scripted) Next(ctx context.Context, req domain.ModelRequest, emit func(domain.Delta)) (domain.ModelAnswer, error) {
	m.mu.Lock()
	n := m.calls
	m.calls++
	m.requests = append(m.requests, req)
	err := m.errs[n]
	m.mu.Unlock()
	if m.block != nil {
		select {
		case <-m.block:
		case <-ctx.Done():
			return domain.ModelAnswer{}, &domain.ModelFailure{State: domain.ModelCutOff, Message: "cancelled", Partial: "half", Err: ctx.Err()}
		}
	}
	if err != nil {
		return domain.ModelAnswer{}, err
	}
	i := 0
	for _, msg := range req.Messages {
		if msg.Role == domain.RoleAssistant {
			i++
		}
	}
	if m.byCall {
		i = n
	}
	if i >= len(m.answers) {
		return domain.ModelAnswer{Text: "done", Finish: domain.FinishStop}, nil
	}
	a := m.answers[i]
	a.ToolCalls = append([]domain.RequestedCall(nil), a.ToolCalls...)
	emit(domain.Delta{Text: a.Text})
	return a, nil
}

func calls(list ...string) domain.ModelAnswer { // name, arguments, name, arguments, …
	a := domain.ModelAnswer{Finish: domain.FinishTools}
	for i := 0; i < len(list); i += 2 {
		a.ToolCalls = append(a.ToolCalls, domain.RequestedCall{Name: list[i], Arguments: list[i+1], WireID: "w"})
	}
	return a
}

// world is hands over a map of values: read, set (idempotent), run (effect).
type world struct {
	mu       sync.Mutex
	values   map[string]string
	executed []string
	before   func(name string) // called before an effect
	during   func(ctx context.Context, name string) error
	salt     string // changes digests, as a world that moved on does
}

func (w *world) Specs() []domain.HandSpec {
	spec := func(name string, class domain.EffectClass, c domain.Capability) domain.HandSpec {
		return domain.HandSpec{Name: name, Class: class, Capabilities: []domain.Capability{c}, Schema: json.RawMessage(`{"type":"object"}`), Where: "this process"}
	}
	return []domain.HandSpec{spec("read", domain.EffectRead, domain.CapRead), spec("set", domain.EffectIdempotent, domain.CapWrite), spec("run", domain.EffectEffect, domain.CapRun)}
}

func (w *world) Prepare(_ context.Context, name string, call domain.HandCall) (*domain.PreparedCall, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := domain.Effect{Tool: name, Input: domain.HashBytes([]byte(string(call.Input) + w.salt))}
	for _, s := range w.Specs() {
		if s.Name == name {
			e.Class = s.Class
		}
	}
	return &domain.PreparedCall{Call: call, Effect: e, Digest: e.Digest(), Title: name, Shown: string(call.Input)}, nil
}

func (w *world) Execute(ctx context.Context, name string, p *domain.PreparedCall, emit func([]byte)) (domain.HandResult, error) {
	if w.before != nil {
		w.before(name)
	}
	emit([]byte("live"))
	var err error
	if w.during != nil {
		err = w.during(ctx, name)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.executed = append(w.executed, name+string(p.Call.Input))
	if name == "set" {
		w.values["set"] = string(p.Call.Input)
	}
	return domain.HandResult{Output: domain.ToolOutput{Text: name + " ok", Summary: "ok"}}, err
}

func (w *world) Probe(_ context.Context, name string, call domain.HandCall, _ domain.Effect) (domain.ProbeResult, string) {
	if name != "set" {
		return domain.ProbeUnknown, "It was started; nothing more is known."
	}
	if w.values["set"] == string(call.Input) {
		return domain.ProbeDone, "The value is there."
	}
	return domain.ProbeNotDone, "The value is not there."
}

func (w *world) Recovered(_ context.Context, name string, _ domain.HandCall, _ domain.Effect, evidence string) (domain.HandResult, error) {
	return domain.HandResult{Output: domain.ToolOutput{Text: name + " was done. " + evidence}}, nil
}

// rules is a gate by tool name.
type rules map[string]domain.Verdict

func (r rules) Decide(req harness.GateRequest) harness.GateDecision {
	v := domain.VerdictAllow
	if x, ok := r[req.Spec.Name]; ok {
		v = x
	}
	if limit := req.Budget.Calls; limit > 0 && req.Spent.Calls >= limit {
		v = domain.VerdictRefuse
	}
	return harness.GateDecision{Verdict: v, Layers: []domain.LayerDecision{
		{Layer: domain.LayerCeiling, Verdict: domain.VerdictAllow, Rule: "in"},
		{Layer: domain.LayerApproval, Verdict: v, Rule: "test", Reason: "by the test"},
	}}
}

type plain struct{}

func (plain) Brief(context.Context, domain.SessionID, domain.WorkspaceID) (string, []domain.ContextSource, error) {
	return "You are under test.", []domain.ContextSource{{Label: "system"}}, nil
}

// journal is the real ledger with a way to break.
type journal struct {
	*sessions.Store
	fail func(domain.AppendRequest) error
}

func (j *journal) Append(ctx context.Context, req domain.AppendRequest) ([]domain.Event, error) {
	if j.fail != nil {
		if err := j.fail(req); err != nil {
			return nil, err
		}
	}
	return j.Store.Append(ctx, req)
}

// bench is a session with a harness over real event folding and fake edges.
type bench struct {
	t      *testing.T
	ledger *journal
	model  *scripted
	world  *world
	gate   rules
	lease  domain.Lease
	run    domain.RunID
	h      *harness.Harness
}

const ses = domain.SessionID("ses_test")

func newBench(t *testing.T, answers ...domain.ModelAnswer) *bench {
	t.Helper()
	store, err := sessions.Open(t.Context(), sessions.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{
		t: t, ledger: &journal{Store: store}, model: &scripted{answers: answers, errs: map[int]error{}},
		world: &world{values: map[string]string{}}, gate: rules{}, run: domain.NewRunID(),
	}
	b.person(domain.SessionCreated{V: 1, Title: "t", Mode: domain.ModeAuto, Model: domain.ModelRef{Provider: "x", Name: "y"}})
	msg := domain.NewMessageID()
	b.person(domain.MessageSent{V: 1, MessageID: msg, Text: "do it"})
	b.person(domain.RunStarted{V: 1, MessageID: msg, Mode: domain.ModeAuto, Model: domain.ModelRef{Provider: "x", Name: "y"}})
	b.takeOver()
	return b
}

// takeOver is what another process does: a new lease and an empty cache.
func (b *bench) takeOver() {
	b.t.Helper()
	lease, err := b.ledger.Acquire(b.t.Context(), ses, domain.NewID("proc_"), time.Minute, func(string) bool { return true })
	if err != nil {
		b.t.Fatal(err)
	}
	b.lease = lease
	b.h, err = harness.New(harness.Config{
		Ledger: b.ledger, Model: b.model, Hands: b.world, Gate: b.gate, Brief: plain{},
		RetryDelay: func(int) time.Duration { return 0 },
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) person(p domain.Payload) domain.Event {
	b.t.Helper()
	events, err := b.ledger.Append(b.t.Context(), domain.AppendRequest{Session: ses, Drafts: []domain.Draft{{Run: b.run, Payload: p}}})
	if err != nil {
		b.t.Fatal(err)
	}
	return events[0]
}

// until steps while there is more to do.
func (b *bench) until(ctx context.Context) harness.Progress {
	b.t.Helper()
	for range 100 {
		p, err := b.h.Step(ctx, b.lease)
		if err != nil && ctx.Err() == nil {
			b.t.Fatal(err)
		}
		if p != harness.ProgressMore || ctx.Err() != nil && err != nil {
			return p
		}
	}
	b.t.Fatal("the run does not end")
	return ""
}

func (b *bench) events() []domain.Event {
	b.t.Helper()
	events, err := b.ledger.Read(b.t.Context(), ses, domain.Span{})
	if err != nil {
		b.t.Fatal(err)
	}
	return events
}

func (b *bench) kinds() []domain.Kind {
	var out []domain.Kind
	for _, e := range b.events() {
		out = append(out, e.Kind)
	}
	return out
}

func last[T domain.Payload](b *bench) (T, bool) {
	events := b.events()
	for i := len(events) - 1; i >= 0; i-- {
		if p, ok := domain.PayloadOf[T](events[i]); ok {
			return p, true
		}
	}
	var zero T
	return zero, false
}

// paired fails unless every context sent pairs each call with exactly one result.
func (b *bench) paired() {
	b.t.Helper()
	for n, req := range b.model.requests {
		want := []domain.CallID{}
		for _, m := range req.Messages {
			if len(want) > 0 {
				if m.Role != domain.RoleTool || m.CallID != want[0] {
					b.t.Fatalf("request %d: %s %q where the result of %s belongs", n, m.Role, m.Text, want[0])
				}
				want = want[1:]
				continue
			}
			if m.Role == domain.RoleTool {
				b.t.Fatalf("request %d: a result without a call: %q", n, m.Text)
			}
			for _, c := range m.ToolCalls {
				want = append(want, c.CallID)
			}
		}
		if len(want) > 0 {
			b.t.Fatalf("request %d: calls without a result: %v", n, want)
		}
	}
}
