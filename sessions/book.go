package sessions

import (
	"time"

	"worksite/backend/domain"
	"worksite/sessions/internal/journal"
)

// book is the state of one session's calls, approvals and runs, within the
// writer's transaction. It implements journal.Book.
type book struct {
	w       *writer
	session domain.SessionID
}

var _ journal.Book = book{}

func (b book) Call(id domain.CallID) (c journal.Call, ok bool, err error) {
	var state string
	ok, err = b.w.get(qGetCall, []any{string(b.session), string(id)}, &state, &c.Attempt, &c.Decided)
	c.ID, c.State = id, journal.CallState(state)
	return c, ok, err
}

func (b book) PutCall(c journal.Call) error {
	var err error
	if c.State == journal.CallRequested && !c.Decided && c.Attempt < 0 {
		_, err = b.w.exec(qNewCall, string(b.session), string(c.ID), string(c.State), c.Attempt, c.Decided)
	} else {
		_, err = b.w.exec(qSetCall, string(c.State), c.Attempt, c.Decided, string(b.session), string(c.ID))
	}
	return err
}

func (b book) Approval(id domain.ApprovalID) (a journal.Approval, ok bool, err error) {
	var call, answer string
	var digest []byte
	var at int64
	ok, err = b.w.get(qGetApproval, []any{string(b.session), string(id)}, &call, &digest, &answer, &a.By, &at)
	a.ID, a.CallID, a.Answer, a.At = id, domain.CallID(call), domain.Kind(answer), time.UnixMicro(at).UTC()
	copy(a.Digest[:], digest)
	return a, ok, err
}

func (b book) PutApproval(a journal.Approval) error {
	at := int64(0)
	if !a.At.IsZero() {
		at = a.At.UnixMicro()
	}
	_, err := b.w.exec(qPutApproval, string(b.session), string(a.ID), string(a.CallID), a.Digest[:], string(a.Answer), a.By, at)
	return err
}

func (b book) Run(id domain.RunID) (r journal.Run, ok bool, err error) {
	ok, err = b.w.get(qGetRun, []any{string(b.session), string(id)}, &r.Started, &r.Finished)
	r.ID = id
	return r, ok, err
}

func (b book) PutRun(r journal.Run) error {
	_, err := b.w.exec(qPutRun, string(b.session), string(r.ID), r.Started, r.Finished)
	return err
}

func (b book) Event(id domain.EventID) (domain.SessionID, bool, error) {
	var session string
	ok, err := b.w.get(qEventOwner, []any{string(id)}, &session)
	return domain.SessionID(session), ok, err
}
