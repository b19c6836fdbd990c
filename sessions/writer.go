package sessions

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
	"worksite/sessions/internal/journal"
)

const (
	// A commit group takes at most this many operations, so that nobody waits
	// for a queue that never empties.
	maxGroup = 256

	// A head is signed after this many events, or this long after the first
	// event that it would cover.
	headEvery = 256
	headAfter = time.Second

	// maxTails bounds the sessions whose end the writer remembers.
	maxTails = 512
)

const (
	opQueued int32 = iota
	opTaken
	opGone // the caller gave up before the writer took it
)

// op is one operation of a commit group: all of it happens or nothing.
type op struct {
	fn    func(*writer) error
	err   error
	state atomic.Int32
	done  chan error
}

// writer is the one goroutine that writes. What it remembers between groups is
// true as long as no other process wrote, which the data version tells.
type writer struct {
	*conn
	s       *Store
	turn    *turn
	known   bool  // whether the memory below is of any worth
	version int64 // data version that it belongs to
	log     treeLog
	tails   map[domain.SessionID]journal.Tail

	// afterCommit are statements that cannot run within a transaction; they are
	// best effort and run before the group hears its answers.
	afterCommit []string

	headed  int64     // size of the newest signed head
	headAt  time.Time // when it was signed (monotonic)
	headDue *time.Timer
}

func newWriter(s *Store, c *conn) *writer {
	w := &writer{conn: c, s: s, turn: newTurn(s.path), headDue: time.NewTimer(time.Hour)}
	w.headDue.Stop()
	w.forget()
	if s.unsigned { // a process was killed before it signed its last head
		w.headDue.Reset(headAfter)
	}
	return w
}

// forget drops what is remembered; the next group reads it again.
func (w *writer) forget() {
	w.known = false
	w.tails = map[domain.SessionID]journal.Tail{}
}

// run serves operations until the queue is closed and empty. There is no timer
// between an operation and its commit: what has queued up while the last group
// was committing is the next group.
func (w *writer) run() {
	for {
		select {
		case o, ok := <-w.s.ops:
			if !ok {
				w.finish()
				return
			}
			w.group(o)
		case <-w.headDue.C:
			w.signHead()
		}
	}
}

// finish signs the last head.
func (w *writer) finish() {
	w.headDue.Stop()
	if w.known && w.log.size > w.headed {
		w.signHead()
	}
}

// signHead signs a head in a transaction of its own and lets the log's pages
// move into the main file while nobody waits.
func (w *writer) signHead() {
	o := &op{fn: func(w *writer) error { return w.writeHead() }, done: make(chan error, 1)}
	w.commit([]*op{o})
	if err := <-o.done; err != nil {
		w.s.pub.fail(err)
		return
	}
	_ = w.script("PRAGMA wal_checkpoint(PASSIVE)") // an optimisation: the next one does the rest
}

// group commits first together with what waits behind it.
func (w *writer) group(first *op) {
	ops := append(make([]*op, 0, 16), first)
	for len(ops) < maxGroup {
		select {
		case o, ok := <-w.s.ops:
			if ok {
				ops = append(ops, o)
				continue
			}
		default:
		}
		break
	}
	w.commit(ops)
}

// commit runs one transaction. An operation that is refused undoes only itself;
// everybody hears the answer after the commit, because a refusal may rest on
// what an earlier operation of the same group wrote.
func (w *writer) commit(ops []*op) {
	before := w.log.size
	err := w.transact(ops)
	if err != nil {
		w.forget()
		w.afterCommit = nil
	} else if w.known {
		w.s.advance(w.log.size)
		if note := w.log.note; note != "" {
			w.s.pub.publish(note)
			w.log.note = ""
		}
		if w.log.size > w.headed && w.log.size > before {
			w.headDue.Reset(headAfter)
		}
	}
	for _, q := range w.afterCommit {
		_ = w.script(q)
	}
	w.afterCommit = nil
	for _, o := range ops {
		if o.state.Load() == opGone {
			continue
		}
		if err != nil {
			o.err = err
		}
		o.done <- o.err
	}
}

func (w *writer) transact(ops []*op) (err error) {
	defer w.turn.take()()
	if _, err := w.exec(qBegin); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = w.exec(qRollback) // fails when the engine rolled back by itself
		}
	}()
	if err := w.refresh(); err != nil {
		return err
	}
	wrote := false
	for _, o := range ops {
		if !o.state.CompareAndSwap(opQueued, opTaken) {
			continue
		}
		if err := w.attempt(o); err != nil {
			return err
		}
		wrote = wrote || o.err == nil
	}
	if !wrote {
		_, err := w.exec(qRollback)
		return err
	}
	if n := w.log.size - w.headed; n >= headEvery || n > 0 && time.Since(w.headAt) >= headAfter {
		if err := w.writeHead(); err != nil {
			return err
		}
	}
	failpoint.Reach(failpoint.LedgerBeforeCommit)
	if _, err = w.exec(qCommit); err == nil {
		failpoint.Reach(failpoint.LedgerAfterCommit)
	}
	return err
}

// attempt runs one operation within a savepoint. The error it returns ends the
// whole group; the operation's own refusal goes to o.err.
func (w *writer) attempt(o *op) error {
	if _, err := w.exec(qSavepoint); err != nil {
		return err
	}
	log := w.log
	if o.err = o.fn(w); o.err == nil {
		_, err := w.exec(qRelease)
		return err
	}
	w.log = log
	if _, err := w.exec(qUndo); err != nil {
		return errors.Join(o.err, err) // the engine gave the transaction up, e.g. on a full disk
	}
	_, err := w.exec(qRelease)
	return err
}

// refresh makes the memory true for the transaction that just began.
func (w *writer) refresh() error {
	var version int64
	if _, err := w.get(qDataVersion, nil, &version); err != nil {
		return err
	}
	if w.known && version == w.version {
		return nil
	}
	w.forget()
	if err := w.log.load(w.conn); err != nil {
		return fmt.Errorf("read the log's end: %w", err)
	}
	var note string
	w.headed = 0
	if _, err := w.get(qLastHead, nil, &w.headed, &note); err != nil {
		return err
	}
	w.known, w.version = true, version
	return nil
}
