package capability

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"worksite/backend/domain"
)

// Hand is the implementation of one tool.
type Hand interface {
	// Spec is constant for the life of the hand.
	Spec() domain.HandSpec
	// Prepare validates and resolves the call to its exact effect and performs
	// nothing. The input has passed the hand's schema and is canonical JSON.
	Prepare(ctx context.Context, call domain.HandCall) (*domain.PreparedCall, error)
	// Execute performs exactly the prepared effect, or refuses with CodeConflict
	// when the world no longer matches it. It must return soon after ctx ends.
	// emit takes live output and may be called until Execute returns.
	Execute(ctx context.Context, call *domain.PreparedCall, emit func([]byte)) (domain.HandResult, error)
	// Probe looks, after a crash, whether the effect happened, and says on what
	// evidence. It changes nothing.
	Probe(ctx context.Context, call domain.HandCall, effect domain.Effect) (domain.ProbeResult, string)
}

// Recoverer is a hand that can tell the facts of a call that Probe found done, so
// that the ledger gets the same facts as without the crash.
type Recoverer interface {
	Recovered(ctx context.Context, call domain.HandCall, effect domain.Effect) (domain.HandResult, error)
}

// UnknownError says that the call may or may not have had its effect. Known is
// what can be said about it, in words.
type UnknownError struct {
	Known string
	Err   error
}

// Error implements error.
func (e *UnknownError) Error() string { return e.Known }

// Unwrap returns the cause.
func (e *UnknownError) Unwrap() error { return e.Err }

// Registry holds the hands. Register everything first; after that it is safe
// for use by many goroutines.
type Registry struct {
	hands  map[string]*entry
	order  []string
	grace  time.Duration
	spill  SpillFunc
	active sync.WaitGroup
}

type entry struct {
	hand   Hand
	spec   domain.HandSpec
	schema schema
}

// grace is how long a hand may take to come back once its context ended.
const grace = 5 * time.Second

// SpillFunc keeps a whole text and returns its hash.
type SpillFunc func(ctx context.Context, b []byte) (domain.Hash, error)

// Option changes a new registry.
type Option func(*Registry)

// WithSpill makes the registry keep the whole text of an output it had to cut.
func WithSpill(f SpillFunc) Option { return func(r *Registry) { r.spill = f } }

// New returns an empty registry.
func New(opts ...Option) *Registry {
	r := &Registry{hands: map[string]*entry{}, grace: grace}
	for _, o := range opts {
		o(r)
	}
	return r
}

// Register adds a hand. It panics when the name is empty or taken: that is a
// mistake in the program, not of its user.
func (r *Registry) Register(h Hand) {
	spec := h.Spec()
	if spec.Name == "" || r.hands[spec.Name] != nil {
		panic(fmt.Sprintf("hand %q: empty name or registered twice", spec.Name))
	}
	r.hands[spec.Name] = &entry{hand: h, spec: spec, schema: schema{raw: spec.Schema}}
	r.order = append(r.order, spec.Name)
}

// Close waits for hands that outlived their call.
func (r *Registry) Close() error {
	r.active.Wait()
	return nil
}

// Specs lists what the registry states of each hand, in order of registration.
func (r *Registry) Specs() []domain.HandSpec {
	out := make([]domain.HandSpec, 0, len(r.order))
	for _, name := range r.order {
		out = append(out, r.hands[name].spec)
	}
	return out
}

// Spec returns what the registry states of one hand.
func (r *Registry) Spec(name string) (domain.HandSpec, error) {
	e, err := r.lookup(name)
	if err != nil {
		return domain.HandSpec{}, err
	}
	return e.spec, nil
}

// Tools lists the hands as a model sees them, always in the same order, so that
// the prefix of a request stays cacheable.
func (r *Registry) Tools() []domain.ToolSpec {
	out := make([]domain.ToolSpec, 0, len(r.order))
	for _, name := range r.order {
		s := r.hands[name].spec
		out = append(out, domain.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema})
	}
	return out
}

func (r *Registry) lookup(name string) (*entry, error) {
	if e := r.hands[name]; e != nil {
		return e, nil
	}
	names := slices.Sorted(slices.Values(r.order))
	return nil, domain.Errorf(domain.CodeInvalid, "there is no tool %s; the tools are: %s", quote(name), strings.Join(names, ", "))
}

// Prepare validates call.Input and resolves the call to its exact effect. Nothing
// is performed. Errors are bounded and made for the model to read.
func (r *Registry) Prepare(ctx context.Context, name string, call domain.HandCall) (p *domain.PreparedCall, err error) {
	e, err := r.lookup(name)
	if err != nil {
		return nil, err
	}
	if call.Input, err = e.schema.validate(name, call.Input); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.spec.Timeout)
	defer cancel()
	defer recovered(name, "preparing", &err)
	p, err = e.hand.Prepare(ctx, call)
	if err != nil {
		return nil, bound(err)
	}
	p.Call = call
	p.Effect.Tool = name
	if p.Effect.Class == "" {
		p.Effect.Class = e.spec.Class
	}
	p.Effect.Input = domain.HashBytes(call.Input)
	p.Digest = p.Effect.Digest()
	return p, nil
}

// Probe asks the hand whether an effect that a crash interrupted happened. A
// hand that is no longer there, or breaks, leaves it unknown.
func (r *Registry) Probe(ctx context.Context, name string, call domain.HandCall, effect domain.Effect) (res domain.ProbeResult, evidence string) {
	e, err := r.lookup(name)
	if err != nil {
		return domain.ProbeUnknown, err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, e.spec.Timeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			res, evidence = domain.ProbeUnknown, fmt.Sprintf("looking for the effect of %s broke: %v", name, v)
		}
	}()
	res, evidence = e.hand.Probe(ctx, call, effect)
	return res, clip(evidence, maxMessage)
}

// Recovered returns the result of a call that Probe found done; nothing is
// performed. A hand that is no [Recoverer] answers with the evidence alone.
func (r *Registry) Recovered(ctx context.Context, name string, call domain.HandCall, effect domain.Effect, evidence string) (res domain.HandResult, err error) {
	e, err := r.lookup(name)
	if err != nil {
		return res, err
	}
	if rec, ok := e.hand.(Recoverer); ok {
		ctx, cancel := context.WithTimeout(ctx, e.spec.Timeout)
		defer cancel()
		defer recovered(name, "recovering", &err)
		if res, err = rec.Recovered(ctx, call, effect); err != nil {
			return res, bound(err)
		}
	}
	if res.Output.Text == "" {
		res.Output.Text = "Done before an interruption: " + evidence
	}
	return r.bounded(ctx, e.spec, res)
}

// Execute performs a prepared call within its limits. It refuses a call whose
// effect is not the one its digest was made for (R132). Output is cut to the
// hand's MaxOutput; what came of a hand that does not return is an *UnknownError,
// unless the hand only reads.
func (r *Registry) Execute(ctx context.Context, name string, p *domain.PreparedCall, emit func([]byte)) (domain.HandResult, error) {
	e, err := r.lookup(name)
	if err != nil {
		return domain.HandResult{}, err
	}
	if p == nil || p.Effect.Tool != name || p.Effect.Digest() != p.Digest || p.Effect.Input != domain.HashBytes(p.Call.Input) {
		return domain.HandResult{}, domain.Errorf(domain.CodeConflict, "the call of %s is not the one that was decided on; nothing was done", name)
	}
	ctx, cancel := context.WithTimeout(ctx, e.spec.Timeout)
	defer cancel()

	type outcome struct {
		res domain.HandResult
		err error
	}
	gate := &emitGate{emit: emit}
	defer gate.close()
	done := make(chan outcome, 1)
	r.active.Go(func() {
		var o outcome
		defer func() { done <- o }()
		defer recovered(name, "executing", &o.err)
		o.res, o.err = e.hand.Execute(ctx, p, gate.write)
	})

	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		t := time.NewTimer(r.grace)
		defer t.Stop()
		select {
		case o = <-done:
		case <-t.C:
			return domain.HandResult{}, e.abandoned(ctx)
		}
	}
	if o.err != nil {
		return domain.HandResult{}, e.failed(ctx, bound(o.err))
	}
	return r.bounded(ctx, e.spec, o.res)
}

// abandoned words the end of a hand that did not come back.
func (e *entry) abandoned(ctx context.Context) error {
	msg := fmt.Sprintf("%s did not come back: %s", e.spec.Name, why(ctx, e.spec.Timeout))
	err := domain.Errorf(domain.CodeUnavailable, "%s", msg)
	if e.spec.Class == domain.EffectRead {
		return err
	}
	return &UnknownError{Known: msg + "; whether it had its effect is not known", Err: err}
}

// failed gives a context error its cause in words; a panic of a hand that has
// effects leaves them unknown.
func (e *entry) failed(ctx context.Context, err error) error {
	var broke *panicError
	if asPanic(err, &broke) && e.spec.Class != domain.EffectRead {
		return &UnknownError{Known: broke.Error() + "; whether it had its effect is not known", Err: err}
	}
	if domain.CodeOf(err) == domain.CodeInternal && ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", e.spec.Name, why(ctx, e.spec.Timeout), err)
	}
	return err
}

func why(ctx context.Context, timeout time.Duration) string {
	if ctx.Err() == context.DeadlineExceeded {
		return fmt.Sprintf("stopped after its time limit of %s", timeout)
	}
	return "cancelled"
}

// recovered turns a panic into *err.
func recovered(name, doing string, err *error) {
	if v := recover(); v != nil {
		*err = &panicError{msg: fmt.Sprintf("%s %s broke: %v", doing, name, v), stack: debug.Stack()}
	}
}

type panicError struct {
	msg   string
	stack []byte // for the log: %+v
}

func (e *panicError) Error() string { return clip(e.msg, maxMessage) }

// Format prints the stack for %+v.
func (e *panicError) Format(f fmt.State, verb rune) {
	fmt.Fprint(f, e.Error())
	if verb == 'v' && f.Flag('+') {
		fmt.Fprintf(f, "\n%s", e.stack)
	}
}

// emitGate stops live output of a hand that outlived its call.
type emitGate struct {
	mu   sync.Mutex
	emit func([]byte)
}

func (g *emitGate) write(b []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.emit != nil {
		g.emit(b)
	}
}

func (g *emitGate) close() {
	g.mu.Lock()
	g.emit = nil
	g.mu.Unlock()
}

// canonicalInput is what a hand without arguments gets.
var canonicalInput = json.RawMessage("{}")
