package journal

import (
	"time"

	"worksite/backend/domain"
)

// CallState is where a tool call stands.
type CallState string

// The values of CallState.
const (
	CallRequested CallState = "requested"
	CallIntent    CallState = "intent"
	CallExecuting CallState = "executing"
	CallCompleted CallState = "completed"
	CallFailed    CallState = "failed"
	CallRefused   CallState = "refused"
	CallUnknown   CallState = "unknown"
	CallRetry     CallState = "retry"   // a person wants an unknown call tried again
	CallSettled   CallState = "settled" // a person decided that it is over
)

type (
	// Call is the state of one tool call. Attempt is -1 before the first intent.
	Call struct {
		ID      domain.CallID
		State   CallState
		Attempt int
		Decided bool // a gate decision is on record
	}
	// Approval is a request for approval; Answer is the kind of event that closed it, "" while it is open.
	Approval struct {
		ID     domain.ApprovalID
		CallID domain.CallID
		Digest domain.Hash
		Answer domain.Kind
		By     string
		At     time.Time
	}
	// Run is a run; Finished is the seq of its end, 0 while it goes on.
	Run struct {
		ID       domain.RunID
		Started  int64
		Finished int64
	}
)

// Book is the state of one session that the rules read and write. Every call
// belongs to the transaction of one append: reads see earlier writes of it, and
// nothing stays when the append is refused.
type Book interface {
	Call(domain.CallID) (Call, bool, error)
	PutCall(Call) error
	Approval(domain.ApprovalID) (Approval, bool, error)
	PutApproval(Approval) error
	Run(domain.RunID) (Run, bool, error)
	PutRun(Run) error
	// Event tells which session has the event, over the whole ledger.
	Event(domain.EventID) (domain.SessionID, bool, error)
}

// Record writes what event e with payload p means into the book, without asking
// whether it was allowed. Folding a session's events through it rebuilds the book.
func Record(b Book, e *domain.Event, p domain.Payload) error {
	switch p := p.(type) {
	case domain.RunStarted:
		return b.PutRun(Run{ID: e.Run, Started: e.Seq})
	case domain.RunFinished:
		run, _, err := b.Run(e.Run)
		if err != nil {
			return err
		}
		run.ID, run.Finished = e.Run, e.Seq
		return b.PutRun(run)
	case domain.ToolCallRequested:
		return b.PutCall(Call{ID: p.CallID, State: CallRequested, Attempt: -1})
	case domain.GateDecided:
		return move(b, p.CallID, func(c *Call) { c.Decided = true })
	case domain.ToolCallRefused:
		return move(b, p.CallID, func(c *Call) { c.State = CallRefused })
	case domain.ToolCallIntent:
		return move(b, p.CallID, func(c *Call) { c.State, c.Attempt = CallIntent, p.Attempt })
	case domain.ToolCallExecuting:
		return move(b, p.CallID, func(c *Call) { c.State = CallExecuting })
	case domain.ToolCallCompleted:
		return move(b, p.CallID, func(c *Call) { c.State = CallCompleted })
	case domain.ToolCallFailed:
		return move(b, p.CallID, func(c *Call) { c.State = CallFailed })
	case domain.ToolCallUnknown:
		return move(b, p.CallID, func(c *Call) { c.State = CallUnknown })
	case domain.ToolCallResolved:
		return move(b, p.CallID, func(c *Call) {
			c.State = CallSettled
			if p.Resolution == "retry" {
				c.State = CallRetry
			}
		})
	case domain.ApprovalRequested:
		return b.PutApproval(Approval{ID: p.ApprovalID, CallID: p.CallID, Digest: p.Digest})
	case domain.ApprovalGranted:
		return answer(b, e, p.ApprovalID, p.By)
	case domain.ApprovalDenied:
		return answer(b, e, p.ApprovalID, p.By)
	case domain.ApprovalExpired:
		return answer(b, e, p.ApprovalID, "")
	}
	return nil
}

func move(b Book, id domain.CallID, change func(*Call)) error {
	c, ok, err := b.Call(id)
	if err != nil {
		return err
	}
	if !ok {
		c = Call{ID: id, Attempt: -1}
	}
	change(&c)
	return b.PutCall(c)
}

func answer(b Book, e *domain.Event, id domain.ApprovalID, by string) error {
	a, _, err := b.Approval(id)
	if err != nil {
		return err
	}
	a.ID, a.Answer, a.By, a.At = id, e.Kind, by, e.CreatedAt
	return b.PutApproval(a)
}
