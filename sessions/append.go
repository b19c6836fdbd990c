package sessions

import (
	"context"
	"encoding/json"
	"fmt"

	"worksite/backend/domain"
	"worksite/sessions/internal/journal"
	"worksite/sessions/projection"
)

// Append adds the request's events to the session's end, all or none, and
// returns them as stored once they are durable.
//
// The parent of a draft defaults to the session's leaf, which is its last event;
// leaf.moved has the event it moves to as parent. A session begins with
// session.created. The refusals, by code: not_found (no such session, or it was
// deleted), stale_lease (a generation that is not the lease's, or a runner's
// kind without one), conflict (ExpectSeq is not the last seq, a second answer to
// an approval, a second run while one goes on, a queued message that is gone),
// finished (work in a run that has ended), invalid (anything out of order) and
// unavailable (the disk: nothing was written).
func (s *Store) Append(ctx context.Context, req domain.AppendRequest) ([]domain.Event, error) {
	drafts, err := journal.Prepare(req)
	if err != nil {
		return nil, s.explain("append event", err)
	}
	folded := make([]string, len(drafts)) // here, so that the writer need not
	for i, d := range drafts {
		folded[i] = projection.Fold(projection.Text(d.Draft.Payload))
	}
	var events []domain.Event
	err = s.submit(ctx, "append event", func(w *writer) (err error) {
		events, err = w.append(req, drafts, folded)
		return err
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

func (w *writer) append(req domain.AppendRequest, drafts []journal.Prepared, folded []string) ([]domain.Event, error) {
	tail, err := w.tail(req.Session)
	if err != nil {
		return nil, err
	}
	if !tail.Exists() {
		if err := w.refuseDeleted(req.Session); err != nil {
			return nil, err
		}
	}
	var lease domain.Lease
	if req.Generation != 0 {
		if lease, _, err = w.lease(req.Session); err != nil {
			return nil, err
		}
	}
	by := journal.Author{Cell: w.s.cell.ID, Key: w.s.key, Now: w.s.now()}
	events, next, err := journal.Admit(book{w: w, session: req.Session}, tail, lease, req, drafts, by)
	if err != nil {
		return nil, err
	}
	waits := !tail.Exists()
	for i := range events {
		if err := w.insert(&events[i], folded[i]); err != nil {
			return nil, err
		}
		waits = waits || touchesWaiting(drafts[i].Draft.Payload)
	}
	if err := w.save(next, tail.Exists(), waits); err != nil {
		return nil, err
	}
	return events, nil
}

// refuseDeleted keeps the name of a deleted session from being used again.
func (w *writer) refuseDeleted(id domain.SessionID) error {
	var n int
	if _, err := w.get(qDeleted, []any{id}, &n); err != nil {
		return err
	}
	if n > 0 {
		return domain.Errorf(domain.CodeNotFound, "session %s was deleted", id)
	}
	return nil
}

// tail returns the end of a session, the zero value when there is none.
func (w *writer) tail(id domain.SessionID) (journal.Tail, error) {
	if t, ok := w.tails[id]; ok {
		return t, nil
	}
	var (
		t             journal.Tail
		seq           int64
		hash          []byte
		head, waiting string
	)
	ok, err := w.get(qTail, []any{id}, &seq, &hash, &head, &waiting)
	if !ok || err != nil {
		return t, err
	}
	if t.Head, err = joinHead(head, waiting); err != nil {
		return t, err
	}
	copy(t.Hash[:], hash)
	w.remember(t)
	return t, nil
}

func (w *writer) remember(t journal.Tail) {
	if len(w.tails) >= maxTails {
		clear(w.tails)
	}
	w.tails[t.Head.ID] = t
}

// insert gives e its position and writes it, its hashes in the log and its folded
// text for the search.
func (w *writer) insert(e *domain.Event, folded string) error {
	hashes := w.log.add(e.Hash)
	e.Pos = w.log.size
	_, err := w.exec(qInsertEvent, e.Pos, string(e.Session), e.Seq, string(e.ID), string(e.Parent), string(e.CausedBy),
		string(e.Run), string(e.Kind), e.CreatedAt.UnixMicro(), string(e.Cell), e.Generation,
		e.PayloadHash[:], e.PrevHash[:], e.Hash[:], []byte(e.Sig), []byte(e.Salt), []byte(e.Payload))
	if isConstraint(err) {
		if _, exists, _ := (book{w: w}).Event(e.ID); exists {
			return journal.Duplicate(e.ID)
		}
	}
	if err != nil {
		return err
	}
	if _, err := w.exec(qInsertTree, e.Pos, hashes); err != nil {
		return err
	}
	return w.index(e.Pos, folded)
}

// index makes the folded text of an event searchable.
func (w *writer) index(pos int64, folded string) error {
	if folded == "" {
		return nil
	}
	_, err := w.exec(qAddSearch, pos, folded)
	return err
}

// save writes the session's row after its newest event was inserted; waits says
// whether what waits may have changed.
func (w *writer) save(t journal.Tail, exists, waits bool) error {
	return w.saveAt(t, w.log.size, exists, waits)
}

func (w *writer) saveAt(t journal.Tail, pos int64, exists, waits bool) error {
	head, waiting, err := splitHead(t.Head, waits)
	if err != nil {
		return err
	}
	h := t.Head
	archived := 0
	if h.Archived {
		archived = 1
	}
	if !exists {
		_, err = w.exec(qNewSession, string(h.ID), h.LastSeq, pos, t.Hash[:], archived, head, waiting)
	} else {
		if _, err = w.exec(qSaveHead, h.LastSeq, pos, t.Hash[:], archived, head, string(h.ID)); err == nil && waits {
			_, err = w.exec(qSaveWaits, waiting, string(h.ID))
		}
	}
	if err != nil {
		return err
	}
	w.remember(t)
	return nil
}

// waitingPart is what a session's head has of unbounded size and what rarely
// changes: it is kept apart so that most appends need not write it again.
type waitingPart struct {
	Approvals []projection.Approval `json:"approvals,omitempty"`
	Queue     []projection.Queued   `json:"queue,omitempty"`
}

// touchesWaiting reports whether p can change the waiting part.
func touchesWaiting(p domain.Payload) bool {
	switch p.(type) {
	case domain.ApprovalRequested, domain.ApprovalGranted, domain.ApprovalDenied, domain.ApprovalExpired,
		domain.MessageQueued, domain.MessageUnqueued, domain.MessageSent, domain.RunFinished:
		return true
	}
	return false
}

func splitHead(h projection.Session, waits bool) (head, waiting string, err error) {
	if waits {
		raw, err := json.Marshal(waitingPart{Approvals: h.Approvals, Queue: h.Queue})
		if err != nil {
			return "", "", fmt.Errorf("encode head: %w", err)
		}
		waiting = string(raw)
	}
	h.Approvals, h.Queue = nil, nil
	raw, err := json.Marshal(h)
	if err != nil {
		return "", "", fmt.Errorf("encode head: %w", err)
	}
	return string(raw), waiting, nil
}

func joinHead(head, waiting string) (h projection.Session, err error) {
	if err := json.Unmarshal([]byte(head), &h); err != nil {
		return h, fmt.Errorf("decode head: %w", err) // the next start derives it again
	}
	var part waitingPart
	if err := json.Unmarshal([]byte(waiting), &part); err != nil {
		return h, fmt.Errorf("decode head: %w", err) // the next start derives it again
	}
	h.Approvals, h.Queue = part.Approvals, part.Queue
	return h, nil
}
