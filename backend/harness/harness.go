package harness

import (
	"context"
	"errors"
	"sync"
	"time"

	"worksite/backend/domain"
)

// Ledger is where every fact goes before it is acted on. Append is atomic and
// returns only when the events are durable.
type Ledger interface {
	Append(ctx context.Context, req domain.AppendRequest) ([]domain.Event, error)
	Read(ctx context.Context, session domain.SessionID, span domain.Span) ([]domain.Event, error)
}

// Model answers one request. Its error is a *domain.ModelFailure. Context
// returns the context window, in tokens, that a call of ref will use.
type Model interface {
	Next(ctx context.Context, req domain.ModelRequest, emit func(domain.Delta)) (domain.ModelAnswer, error)
	Context(ctx context.Context, ref domain.ModelRef) (int, error)
}

// Hands are the tools' implementations. Prepare performs nothing; Execute
// refuses when the world no longer fits the prepared digest; Probe says after a
// crash whether the effect happened, with the evidence in words. An error of
// Execute that is a *domain.UnknownEffect marks the call unknown.
type Hands interface {
	Specs() []domain.HandSpec
	Prepare(ctx context.Context, name string, call domain.HandCall) (*domain.PreparedCall, error)
	Execute(ctx context.Context, name string, prepared *domain.PreparedCall, emit func([]byte)) (domain.HandResult, error)
	Probe(ctx context.Context, name string, call domain.HandCall, effect domain.Effect) (domain.ProbeResult, string)
	// Recovered gives the result of a call that Probe found done.
	Recovered(ctx context.Context, name string, call domain.HandCall, effect domain.Effect, evidence string) (domain.HandResult, error)
}

// Gate decides on one prepared call: ceiling, policy, budget, approval, in this
// order. It is pure over its request.
type Gate interface {
	Decide(req GateRequest) GateDecision
}

// GateRequest is what the gate sees of a call.
type GateRequest struct {
	Spec      domain.HandSpec
	Prepared  *domain.PreparedCall
	Ceiling   []domain.Capability
	Mode      domain.Mode
	Budget    domain.Budget
	Spent     domain.Budget // in the same units: tokens, calls, seconds, steps
	Grants    []domain.GrantScope
	Consented bool // commands may run unsandboxed in this session
}

// GateDecision is the verdict of the last layer that spoke, and all that spoke.
type GateDecision struct {
	Verdict domain.Verdict
	Layers  []domain.LayerDecision
}

// Briefer gives the fixed beginning of a session's context: the system text,
// and which sources it was made of. It must not change within a run.
type Briefer interface {
	Brief(ctx context.Context, session domain.SessionID, workspace domain.WorkspaceID) (text string, sources []domain.ContextSource, err error)
}

// Live receives what streams before it is committed. It must not block.
type Live interface {
	Delta(session domain.SessionID, id domain.MessageID, d domain.Delta)
	Output(session domain.SessionID, id domain.CallID, chunk []byte)
	Done(session domain.SessionID, id string) // the committed event has replaced it
}

// Config joins the parts of a harness; all but Live and Now are needed.
type Config struct {
	Ledger Ledger
	Model  Model
	Hands  Hands
	Gate   Gate
	Brief  Briefer
	Live   Live             // nil: nobody watches
	Now    func() time.Time // nil: time.Now
	// RetryDelay is the pause before the n-th retry of a model call (n from 1);
	// nil: 1 s, 4 s.
	RetryDelay func(n int) time.Duration
}

// Harness runs sessions. It is safe for concurrent use with different sessions;
// one session is stepped by one goroutine at a time (its lease sees to that).
type Harness struct {
	Config
	mu     sync.Mutex
	states map[domain.SessionID]*state
}

// New returns a harness over its parts.
func New(c Config) (*Harness, error) {
	if c.Ledger == nil || c.Model == nil || c.Hands == nil || c.Gate == nil || c.Brief == nil {
		return nil, domain.Errorf(domain.CodeInvalid, "a harness needs ledger, model, hands, gate and brief")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.RetryDelay == nil {
		c.RetryDelay = func(n int) time.Duration { return time.Second << (2 * (n - 1)) }
	}
	if c.Live == nil {
		c.Live = nobody{}
	}
	return &Harness{Config: c, states: map[domain.SessionID]*state{}}, nil
}

// Progress says where a session stands after a step.
type Progress string

// The values of Progress.
const (
	ProgressMore     Progress = "more"     // call Step again
	ProgressWaits    Progress = "waits"    // an approval is open
	ProgressUnknown  Progress = "unknown"  // an unknown effect needs a person's decision
	ProgressFinished Progress = "finished" // the run has ended
	ProgressIdle     Progress = "idle"     // there is no run
)

// ErrShutdown, as the cause of a cancelled context, leaves the run open: it is
// interrupted, not cancelled.
var ErrShutdown = errors.New("worksite is closing")

// Forget drops the cached state of a session, e.g. when its lease was lost.
func (h *Harness) Forget(session domain.SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.states, session)
}

// load brings the cached state of a session up to the ledger's end.
func (h *Harness) load(ctx context.Context, session domain.SessionID) (*state, error) {
	h.mu.Lock()
	st := h.states[session]
	if st == nil {
		st = newState(session)
		h.states[session] = st
	}
	h.mu.Unlock()
	events, err := h.Ledger.Read(ctx, session, domain.Span{After: st.lastSeq})
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if e.Kind == (domain.LeafMoved{}).Kind() {
			return h.reload(ctx, session)
		}
		if err := st.apply(e); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// reload rebuilds a state along the path from the leaf to the root.
func (h *Harness) reload(ctx context.Context, session domain.SessionID) (*state, error) {
	events, err := h.Ledger.Read(ctx, session, domain.Span{})
	if err != nil {
		return nil, err
	}
	st, err := rebuild(session, events)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.states[session]; old != nil {
		*old = *st // whoever holds the old one goes on with the fresh
		return old, nil
	}
	h.states[session] = st
	return st, nil
}

// append writes drafts under the lease and folds them into st. It outlives a
// cancelled step: what has happened must be recorded.
func (h *Harness) append(ctx context.Context, st *state, lease domain.Lease, run domain.RunID, drafts []domain.Draft) error {
	return h.appendAt(ctx, st, lease, run, drafts, nil)
}

// appendAt is append under the condition that the session's last seq is still expect.
func (h *Harness) appendAt(ctx context.Context, st *state, lease domain.Lease, run domain.RunID, drafts []domain.Draft, expect *int64) error {
	if len(drafts) == 0 {
		return nil
	}
	for i := range drafts {
		drafts[i].Run = run
		if drafts[i].ID == "" {
			drafts[i].ID = domain.NewEventID()
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	events, err := h.Ledger.Append(ctx, domain.AppendRequest{Session: st.session, Generation: lease.Generation, ExpectSeq: expect, Drafts: drafts})
	if err != nil {
		return err
	}
	if len(events) > 0 && events[0].Seq != st.lastSeq+1 {
		// A person appended meanwhile (a queued message, an answer): catch up in order.
		_, err := h.load(ctx, st.session)
		return err
	}
	for i, e := range events {
		if err := st.fold(e, drafts[i].Payload); err != nil {
			return err
		}
	}
	return nil
}

type nobody struct{}

func (nobody) Delta(domain.SessionID, domain.MessageID, domain.Delta) {}
func (nobody) Output(domain.SessionID, domain.CallID, []byte)         {}
func (nobody) Done(domain.SessionID, string)                          {}
