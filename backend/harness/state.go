package harness

import (
	"encoding/json"
	"slices"
	"time"

	"worksite/backend/domain"
)

// state is a session folded along its conversation path. It holds what the next
// step needs and can always be rebuilt from the events.
type state struct {
	session   domain.SessionID
	lastSeq   int64
	workspace domain.WorkspaceID
	mode      domain.Mode
	model     domain.ModelRef
	consented bool
	grants    []domain.GrantScope
	entries   []*entry
	calls     map[domain.CallID]*call
	open      []domain.CallID // calls of the newest answer without an ending, in order
	queue     []domain.MessageQueued
	run       *run
	lastInput int // tokens the provider counted for the newest answer's context and text
	counted   int // number of entries those tokens cover

	ready     []readyCall // journaled as executing by this process, not carried out yet
	briefed   domain.RunID
	briefText *domain.Message
}

// entry is one user message, or one answer with the results of its calls.
type entry struct {
	event   domain.EventID
	message *domain.Message
	calls   []domain.CallID
	results map[domain.CallID]*domain.Message
	origins map[domain.CallID]domain.EventID
	elided  bool // tool results replaced by a note
	dropped bool
}

type callState int

const (
	callRequested callState = iota
	callAsked               // an approval is open
	callGranted
	callDenied
	callIntended
	callExecuting
	callUnknown
	callEnded
)

type call struct {
	id         domain.CallID
	name       string
	input      string
	malformed  string
	state      callState
	attempt    int
	effect     domain.Effect
	digest     domain.Hash // of the newest intent or approval request
	approval   domain.ApprovalID
	note       string // a denial's note
	requestID  domain.EventID
	lastID     domain.EventID // newest event about this call, for caused_by
	resolution string
	entry      *entry
}

type run struct {
	id        domain.RunID
	started   time.Time
	event     domain.EventID
	budget    domain.Budget
	ceiling   []domain.Capability
	steps     int64
	spent     domain.Budget
	usage     domain.Usage
	cancel    bool
	finished  bool
	failures  int // model calls failed in a row
	modelCall domain.EventID
	messageID domain.MessageID // of a model call that has started and not ended
}

func newState(session domain.SessionID) *state {
	return &state{session: session, calls: map[domain.CallID]*call{}}
}

// rebuild folds events along the path from the last leaf to the root. Answers a
// person gave about permissions hold on every branch.
func rebuild(session domain.SessionID, events []domain.Event) (*state, error) {
	byID := make(map[domain.EventID]int, len(events))
	for i, e := range events {
		byID[e.ID] = i
	}
	onPath := make([]bool, len(events))
	for i := len(events) - 1; i >= 0; {
		onPath[i] = true
		parent, ok := byID[events[i].Parent]
		if !ok {
			break
		}
		i = parent
	}
	st := newState(session)
	for i, e := range events {
		always := e.Kind == (domain.GrantRevoked{}).Kind() || e.Kind == (domain.SandboxConsented{}).Kind() || e.Kind == (domain.RunFinished{}).Kind()
		if !onPath[i] && !always {
			st.lastSeq = e.Seq
			continue
		}
		if err := st.apply(e); err != nil {
			return nil, err
		}
	}
	return st, nil
}

func (st *state) apply(e domain.Event) error {
	p, err := domain.DecodePayload(e.Kind, e.Payload)
	if err != nil {
		return err
	}
	return st.fold(e, p)
}

func (st *state) fold(e domain.Event, p domain.Payload) error {
	if e.Seq <= st.lastSeq {
		return domain.Errorf(domain.CodeInternal, "event %d of %s was folded twice", e.Seq, st.session)
	}
	st.lastSeq = e.Seq
	switch p := p.(type) {
	case domain.SessionCreated:
		st.workspace, st.mode, st.model = p.Workspace, p.Mode, p.Model
	case domain.ModelSelected:
		st.model, st.lastInput, st.counted = p.Model, 0, 0
	case domain.ModeChanged:
		st.mode = p.Mode
	case domain.SandboxConsented:
		st.consented = !p.Revoked
	case domain.GrantRevoked:
		st.grants = slices.DeleteFunc(st.grants, func(g domain.GrantScope) bool { return g.ID == p.Scope })
	case domain.MessageQueued:
		st.queue = append(st.queue, p)
	case domain.MessageUnqueued:
		st.unqueue(p.MessageID)
	case domain.MessageSent:
		st.unqueue(p.MessageID)
		st.entries = append(st.entries, &entry{event: e.ID, message: userMessage(p)})
	case domain.MessageCompleted:
		st.foldAnswer(e, p)
	case domain.ContextCompacted:
		st.foldCompaction(p)
	default:
		st.foldRun(e, p)
		st.foldCall(e, p)
	}
	return nil
}

func (st *state) foldAnswer(e domain.Event, p domain.MessageCompleted) {
	en := &entry{event: e.ID, message: &domain.Message{Role: domain.RoleAssistant, Text: p.Text, Thinking: p.Thinking, ToolCalls: p.ToolCalls}}
	if len(p.ToolCalls) > 0 {
		en.results, en.origins = map[domain.CallID]*domain.Message{}, map[domain.CallID]domain.EventID{}
	}
	st.open = nil
	for _, rc := range p.ToolCalls {
		st.calls[rc.CallID] = &call{id: rc.CallID, name: rc.Name, input: rc.Arguments, requestID: e.ID, lastID: e.ID, entry: en}
		en.calls = append(en.calls, rc.CallID)
		st.open = append(st.open, rc.CallID)
	}
	st.entries = append(st.entries, en)
	st.lastInput, st.counted = p.Usage.InputTokens+p.Usage.OutputTokens, len(st.entries)
	if r := st.run; r != nil && r.id == e.Run {
		r.steps++
		r.failures, r.messageID = 0, ""
		r.usage.InputTokens += p.Usage.InputTokens
		r.usage.OutputTokens += p.Usage.OutputTokens
		r.usage.CachedTokens += p.Usage.CachedTokens
		r.usage.DurationMS += p.Usage.DurationMS
		r.spent.Steps++
		r.spent.Tokens += int64(p.Usage.InputTokens + p.Usage.OutputTokens)
	}
}

func (st *state) foldRun(e domain.Event, p domain.Payload) {
	if p, ok := p.(domain.RunStarted); ok {
		st.run = &run{id: e.Run, started: e.CreatedAt, event: e.ID, budget: p.Budget, ceiling: p.Ceiling}
		st.mode, st.model = p.Mode, p.Model
		// An answer that an earlier run left with calls open is closed by pairing
		// them with a note; they are never carried out later.
		st.open = nil
		return
	}
	r := st.run
	if r == nil || r.id != e.Run {
		return
	}
	switch p := p.(type) {
	case domain.RunCancelRequested:
		r.cancel = true
	case domain.RunFinished:
		r.finished = true
	case domain.BudgetSet:
		r.budget = p.Budget
	case domain.ModelCallStarted:
		r.modelCall, r.messageID = e.ID, p.MessageID
	case domain.ModelCallFailed:
		r.failures++
		r.messageID = ""
	}
}

func (st *state) foldCall(e domain.Event, p domain.Payload) {
	switch p := p.(type) {
	case domain.ToolCallRequested:
		if c := st.touch(p.CallID, e); c != nil {
			c.requestID, c.malformed = e.ID, p.Malformed
		}
	case domain.GateDecided:
		if c := st.touch(p.CallID, e); c != nil {
			c.digest = p.Digest
		}
	case domain.ApprovalRequested:
		if c := st.touch(p.CallID, e); c != nil {
			c.state, c.approval, c.digest = callAsked, p.ApprovalID, p.Digest
		}
	case domain.ApprovalGranted:
		if c := st.touch(p.CallID, e); c != nil && c.state == callAsked && c.approval == p.ApprovalID && c.digest == p.Digest {
			c.state = callGranted
		}
		if p.Scope != nil {
			st.grants = append(st.grants, *p.Scope)
		}
	case domain.ApprovalDenied:
		if c := st.touch(p.CallID, e); c != nil && c.state == callAsked && c.approval == p.ApprovalID {
			c.state, c.note = callDenied, p.Note
		}
	case domain.ApprovalExpired:
		if c := st.touch(p.CallID, e); c != nil && c.state == callAsked {
			c.state, c.note = callDenied, p.Reason
		}
	case domain.ToolCallIntent:
		if c := st.touch(p.CallID, e); c != nil {
			c.state, c.attempt, c.effect, c.digest = callIntended, p.Attempt, p.Effect, p.Digest
		}
	case domain.ToolCallExecuting:
		if c := st.touch(p.CallID, e); c != nil {
			c.state = callExecuting
			if r := st.run; r != nil {
				r.spent.Calls++
			}
		}
	case domain.ToolCallCompleted:
		st.end(p.CallID, e, p.Output.Text)
	case domain.ToolCallFailed:
		st.end(p.CallID, e, failureText(p.Message, p.Hint))
	case domain.ToolCallRefused:
		st.end(p.CallID, e, "Refused ("+string(p.Layer)+": "+p.Rule+"). "+p.Reason)
	case domain.ToolCallUnknown:
		if c := st.touch(p.CallID, e); c != nil {
			c.state = callUnknown
		}
	case domain.ToolCallResolved:
		st.resolve(p, e)
	}
}

func (st *state) resolve(p domain.ToolCallResolved, e domain.Event) {
	c := st.touch(p.CallID, e)
	if c == nil || c.state != callUnknown {
		return
	}
	switch p.Resolution {
	case "retry":
		c.state, c.resolution = callRequested, p.Resolution
	case "done":
		st.end(p.CallID, e, "The app stopped in the middle of this call. The person checked: it was carried out. "+p.Note)
	default:
		st.end(p.CallID, e, "The app stopped in the middle of this call. Whether it took effect is not known; the person chose to go on without it. "+p.Note)
	}
}

// touch returns the call that e is about, remembering e as its newest event.
func (st *state) touch(id domain.CallID, e domain.Event) *call {
	c := st.calls[id]
	if c != nil {
		c.lastID = e.ID
	}
	return c
}

// end gives a call its one result.
func (st *state) end(id domain.CallID, e domain.Event, text string) {
	c := st.touch(id, e)
	if c == nil || c.state == callEnded {
		return
	}
	c.state = callEnded
	c.entry.results[id] = toolMessage(c, text)
	c.entry.origins[id] = e.ID
	st.open = slices.DeleteFunc(st.open, func(o domain.CallID) bool { return o == id })
}

func (st *state) unqueue(id domain.MessageID) {
	st.queue = slices.DeleteFunc(st.queue, func(q domain.MessageQueued) bool { return q.MessageID == id })
}

func (st *state) foldCompaction(p domain.ContextCompacted) {
	gone := map[domain.EventID]bool{}
	for _, id := range p.Dropped {
		gone[id] = true
	}
	short := map[domain.EventID]bool{}
	for _, id := range p.Elided {
		short[id] = true
	}
	for _, en := range st.entries {
		en.dropped = en.dropped || gone[en.event]
		en.elided = en.elided || short[en.event]
	}
	st.lastInput, st.counted = 0, 0
}

// answered reports whether the newest entry is an answer without open calls that
// asked for nothing: the model has said what it has to say.
func (st *state) answered() bool {
	if len(st.entries) == 0 {
		return false
	}
	en := st.entries[len(st.entries)-1]
	return en.message.Role == domain.RoleAssistant && len(en.calls) == 0
}

// arguments parses a call's input; the reason is for the model to read.
func arguments(input string) (json.RawMessage, string) {
	if input == "" {
		return json.RawMessage("{}"), ""
	}
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(input), &v); err != nil {
		return nil, "The arguments are not a JSON object: " + err.Error() + ". Send one object with the fields of the tool's schema."
	}
	if v == nil {
		return nil, "The arguments are null. Send one object with the fields of the tool's schema."
	}
	return json.RawMessage(input), ""
}
