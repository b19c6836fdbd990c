package sessions

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"worksite/backend/domain"
	"worksite/sessions/internal/chain"
	"worksite/sessions/internal/journal"
)

// rescue copies from a damaged ledger every session's events from the first on,
// as far as they can be read and their chain and signatures hold, into the fresh
// ledger of c. Identifiers, hashes and signatures stay; positions are new.
func (s *Store) rescue(ctx context.Context, c *conn, damaged string) (sum RescueSum, err error) {
	old, err := openConn(ctx, damaged, toRead)
	if err != nil {
		return sum, nil //nolint:nilerr // nothing can be read: that is the result
	}
	defer old.close() //nolint:errcheck // it was only read
	keys, err := cells(ctx, old.conn)
	if err != nil || keys == nil {
		keys = map[domain.CellID]ed25519.PublicKey{}
	}
	keys[s.cell.ID] = ed25519.PublicKey(s.cell.PublicKey)
	r := rescuer{
		w:   &writer{conn: c, s: s, tails: map[domain.SessionID]journal.Tail{}},
		sum: &sum, keys: keys, tails: map[domain.SessionID]journal.Tail{}, cut: map[domain.SessionID]bool{},
	}
	if err := r.w.log.load(c); err != nil {
		return sum, err
	}
	if err := r.w.transaction(func() error { return r.w.addCells(keys) }); err != nil {
		return sum, err
	}
	if err := r.scan(ctx, old); err != nil {
		return sum, err
	}
	for id := range r.tails {
		if r.cut[id] {
			sum.Cut++
		} else {
			sum.Sessions++
		}
	}
	return sum, nil
}

// rescuer carries the state of a rescue.
type rescuer struct {
	w     *writer
	sum   *RescueSum
	keys  map[domain.CellID]ed25519.PublicKey
	tails map[domain.SessionID]journal.Tail
	cut   map[domain.SessionID]bool
}

// scan reads the damaged table in order. Where a page cannot be read it looks
// for the next readable position in growing strides.
func (r *rescuer) scan(ctx context.Context, old *conn) error {
	const page = 500
	after, stride := int64(0), int64(1)
	for {
		var events []domain.Event
		err := eachEvent(ctx, old.conn, qReadLedger, []any{after, page}, func(e domain.Event) error {
			events = append(events, e)
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(events) > 0 {
			after, stride = events[len(events)-1].Pos, 1
			if err := r.take(events); err != nil {
				return err
			}
		}
		switch {
		case err == nil && len(events) < page:
			return nil
		case err == nil:
		case after+stride < after: // no position is left to try
			return nil
		case len(events) == 0:
			after += stride
			stride *= 2
		}
	}
}

// take adopts those of events that continue what was adopted before.
func (r *rescuer) take(events []domain.Event) error {
	return r.w.transaction(func() error {
		touched := map[domain.SessionID]bool{} // true: its row is there already
		for i := range events {
			e := &events[i]
			t := r.tails[e.Session]
			if r.cut[e.Session] || !r.follows(t, e) {
				if !chain.Redacted(e) {
					r.sum.Lost++
				}
				r.cut[e.Session] = true
				continue
			}
			next, err := r.w.adopt(t, e)
			if err != nil {
				return fmt.Errorf("rescue event %d of %s: %w", e.Seq, e.Session, err)
			}
			if _, ok := touched[e.Session]; !ok {
				touched[e.Session] = t.Exists()
			}
			r.tails[e.Session] = next
			r.sum.Events++
		}
		for id, exists := range touched {
			if err := r.w.save(r.tails[id], exists, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// follows proves that e is the next event of the session and what its cell wrote.
func (r *rescuer) follows(t journal.Tail, e *domain.Event) bool {
	if e.Seq != t.Head.LastSeq+1 || e.PrevHash != t.Hash || chain.Redacted(e) || chain.Check(e, r.keys[e.Cell]) != nil {
		return false
	}
	_, err := domain.DecodePayload(e.Kind, e.Payload)
	return err == nil
}

// transaction runs fn in a transaction of its own; only before the writer runs.
func (w *writer) transaction(fn func() error) (err error) {
	if _, err := w.exec(qBegin); err != nil {
		return err
	}
	if err := fn(); err != nil {
		_, undo := w.exec(qRollback)
		return errors.Join(err, undo)
	}
	_, err = w.exec(qCommit)
	return err
}
