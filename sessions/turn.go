package sessions

import (
	"time"

	"worksite/backend/filelock"
)

// turn lets the stores of a folder write one after the other. The engine's own
// lock knows no order: who has just written takes it again before who sleeps has
// looked, so that with several busy stores one may wait beyond any bound. Here the
// next one waits at the lock with the gate behind it closed, and who has just
// written has to pass the gate first.
//
// It keeps order only. When a turn does not come in time, or there can be no lock
// files, the engine's lock decides alone, as it does in any case.
type turn struct {
	gate, lock string
	contended  bool // the last one had to be waited for
}

const (
	turnTimeout = 2 * busyTimeout
	turnPause   = time.Millisecond // between two looks
)

func newTurn(path string) *turn { return &turn{gate: path + "-gate", lock: path + "-turn"} }

// take waits for the turn and returns how to give it back.
func (t *turn) take() (done func()) {
	if t.contended {
		time.Sleep(turnPause) // as those do who wait: nobody is favoured for being awake
	}
	deadline := time.Now().Add(turnTimeout)
	gate, first := waitLock(t.gate, deadline)
	lock, second := waitLock(t.lock, deadline)
	t.contended = first || second
	release(gate)
	return func() { release(lock) }
}

// waitLock polls, because a lock that is waited for cannot be given up on. The lock
// is nil when it was not to be had.
func waitLock(path string, deadline time.Time) (l *filelock.Lock, waited bool) {
	for {
		l, err := filelock.Try(path)
		if l != nil || err != nil || time.Now().After(deadline) {
			return l, waited
		}
		waited = true
		time.Sleep(turnPause)
	}
}

func release(l *filelock.Lock) {
	if l != nil {
		_ = l.Close() // the lock goes with the file whatever it says
	}
}
