package sessions

import (
	"context"
	"sync"
	"time"
)

// pollEvery is how often other processes' appends are looked for while somebody waits.
const pollEvery = 50 * time.Millisecond

// waiter wakes those who wait for the ledger to grow: at once for this process,
// by the file's data version for others.
type waiter struct {
	s    *Store
	poll *conn

	mu      sync.Mutex
	grown   chan struct{} // closed and replaced when the ledger has grown
	waiting int
	wake    chan struct{} // the first waiter wakes the poller
	stop    chan struct{}
	once    sync.Once
}

func newWaiter(s *Store, poll *conn) *waiter {
	return &waiter{s: s, poll: poll, grown: make(chan struct{}), wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

func (w *waiter) close() { w.once.Do(func() { close(w.stop) }) }

// advance notes that everything up to pos is committed and wakes who waits.
func (s *Store) advance(pos int64) {
	for {
		old := s.last.Load()
		if pos <= old {
			return
		}
		if s.last.CompareAndSwap(old, pos) {
			break
		}
	}
	s.wait.mu.Lock()
	close(s.wait.grown)
	s.wait.grown = make(chan struct{})
	s.wait.mu.Unlock()
}

// Wait returns nil when the ledger's last position is beyond afterPos: at once
// for appends of this process, within about 50 ms for those of another. It
// returns ctx's error when that ends first, CodeUnavailable when the store closes.
func (s *Store) Wait(ctx context.Context, afterPos int64) error {
	w := s.wait
	w.mu.Lock()
	w.waiting++
	if w.waiting == 1 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.waiting--
		w.mu.Unlock()
	}()
	for {
		w.mu.Lock()
		grown := w.grown
		w.mu.Unlock()
		if s.last.Load() > afterPos {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.stop:
			return errClosed()
		}
	}
}

// run polls while somebody waits and sleeps otherwise.
func (w *waiter) run() {
	defer w.poll.close() //nolint:errcheck // it was only read
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	tick.Stop()
	version := int64(-1)
	for {
		select {
		case <-w.stop:
			return
		case <-w.wake:
			tick.Reset(pollEvery)
		case <-tick.C:
			w.mu.Lock()
			idle := w.waiting == 0
			w.mu.Unlock()
			if idle {
				tick.Stop()
				continue
			}
		}
		version = w.look(version)
	}
}

// look reads the last position when the file has changed. An error is left to
// the next read, which has somebody to tell it to.
func (w *waiter) look(version int64) int64 {
	var now, last int64
	if _, err := w.poll.get(qDataVersion, nil, &now); err != nil || now == version {
		return version
	}
	if _, err := w.poll.get(qLastPos, nil, &last); err != nil {
		return version
	}
	w.s.advance(last)
	return now
}
