package sessions

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/internal/chain"
)

// Config says where a ledger is and who writes it.
type Config struct {
	// Dir is the data folder; it is made when it is not there.
	Dir string
	// Key is the cell's Ed25519 key; nil loads DIR/cell.key or makes it.
	Key ed25519.PrivateKey
	// Now is the clock of times and leases; nil is time.Now.
	Now func() time.Time
}

// Store is a ledger. It is safe for concurrent use; several processes may have
// the same folder open.
type Store struct {
	dir    string
	path   string // of the database file
	cell   domain.Cell
	key    ed25519.PrivateKey
	now    func() time.Time
	opened OpenReport
	// unsigned is set when the ledger was found with events beyond its last head.
	unsigned bool

	frozen error // why nothing can be written; nil in ordinary life

	read *sql.DB // read-only pool
	w    *writer
	pub  *publisher
	wait *waiter

	mu     sync.RWMutex // held for reading while an operation is handed to the writer
	closed bool
	ops    chan *op
	done   sync.WaitGroup
	last   atomic.Int64 // highest position known to be committed
}

// readers is the size of the read-only pool.
const readers = 4

// Cell returns the identity that this ledger writes under.
func (s *Store) Cell() domain.Cell { return s.cell }

// Opened says what [Open] found and did.
func (s *Store) Opened() OpenReport { return s.opened }

// Report is [Store.Opened] in words, one sentence each; nil when all was well.
func (s *Store) Report() []string { return s.Opened().Words() }

// Now is the clock that leases expire by.
func (s *Store) Now() time.Time { return s.now() }

// Close writes what was accepted, signs the head and returns after the last
// goroutine has ended. Appends made afterwards are refused.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.ops)
	s.mu.Unlock()
	s.wait.close()
	s.done.Wait() // the writer drains its queue, then the publisher and the poller end
	err := errors.Join(s.pub.err(), s.read.Close())
	if s.w != nil {
		err = errors.Join(err, s.w.conn.close())
	}
	return err
}

// start runs the goroutines: the writer (unless c is nil), the publisher of heads
// and the poller that sees other processes' appends.
func (s *Store) start(c *conn, poll *conn) {
	s.ops = make(chan *op, 1024)
	s.pub = newPublisher(filepath.Join(s.dir, headsDir))
	s.wait = newWaiter(s, poll)
	s.done.Go(s.wait.run)
	if c == nil {
		return
	}
	s.w = newWriter(s, c)
	s.done.Go(func() {
		s.w.run()
		s.pub.close()
	})
	s.done.Go(s.pub.run)
}

// cellOf returns the cell that key belongs to.
func cellOf(key ed25519.PrivateKey) domain.Cell {
	public := key.Public().(ed25519.PublicKey)
	return domain.Cell{ID: chain.CellID(public), PublicKey: domain.Hex(public)}
}

// submit hands fn to the writer and returns when its transaction has committed
// or was refused. ctx counts only until the writer has taken it: after that the
// answer is a matter of milliseconds, and it must not be in doubt.
func (s *Store) submit(ctx context.Context, what string, fn func(*writer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.frozen != nil {
		return s.frozen
	}
	o := &op{fn: fn, done: make(chan error, 1)}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return errClosed()
	}
	select {
	case s.ops <- o:
		s.mu.RUnlock()
	case <-ctx.Done():
		s.mu.RUnlock()
		return ctx.Err()
	}
	select {
	case err := <-o.done:
		return s.explain(what, err)
	case <-ctx.Done():
		if o.state.CompareAndSwap(opQueued, opGone) {
			return ctx.Err()
		}
		return s.explain(what, <-o.done)
	}
}
