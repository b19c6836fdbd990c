package sessions

import (
	"context"
	"crypto/ed25519"
	"errors"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/internal/chain"
	"worksite/sessions/internal/journal"
	"worksite/sessions/projection"
)

// adopt adds an event that was written before, here or by another cell, with
// everything that is derived from it. Its chain is the caller's to check.
func (w *writer) adopt(t journal.Tail, e *domain.Event) (journal.Tail, error) {
	p, err := domain.DecodePayload(e.Kind, e.Payload)
	if err != nil {
		return t, err
	}
	if err := w.insert(e, projection.Fold(projection.Text(p))); err != nil {
		return t, err
	}
	if err := journal.Record(book{w: w, session: e.Session}, e, p); err != nil {
		return t, err
	}
	return journal.Tail{Head: projection.Apply(t.Head, *e, p), Hash: e.Hash}, nil
}

// addCells makes the keys of other cells known.
func (w *writer) addCells(cells map[domain.CellID]ed25519.PublicKey) error {
	for id, key := range cells {
		if _, err := w.exec(qAddCell, string(id), []byte(key), w.s.now().UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}

// cells reads the known keys. An entry whose name is not derived from its key is
// left out: nothing can be proven with it.
func cells(ctx context.Context, q querier) (map[domain.CellID]ed25519.PublicKey, error) {
	rows, err := q.QueryContext(ctx, qCells)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[domain.CellID]ed25519.PublicKey{}
	for rows.Next() {
		var id string
		var key []byte
		if err := rows.Scan(&id, &key); err != nil {
			return nil, err
		}
		if chain.CellID(key) == domain.CellID(id) {
			out[domain.CellID(id)] = key
		}
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

// rebuild throws everything derived from the events away and derives it again.
// Leases, signed heads and the names of deleted sessions stay.
func (w *writer) rebuild(ctx context.Context) error {
	if err := w.script("PRAGMA defer_foreign_keys = ON"); err != nil {
		return err
	}
	if err := w.script(`DELETE FROM session WHERE deleted_at IS NULL; DELETE FROM run; DELETE FROM call; DELETE FROM approval; DELETE FROM search`); err != nil {
		return err
	}
	w.tails = map[domain.SessionID]journal.Tail{}
	tails := map[domain.SessionID]journal.Tail{}
	ends := map[domain.SessionID]int64{}
	for after := int64(0); after < w.log.size; {
		page := make([]domain.Event, 0, 500)
		err := eachEvent(ctx, w.conn.conn, qReadLedger, []any{after, cap(page)}, func(e domain.Event) error {
			page = append(page, e)
			return nil
		})
		if err != nil {
			return err
		}
		for i := range page {
			e := &page[i]
			after = e.Pos
			if chain.Redacted(e) {
				continue
			}
			t, err := w.derive(tails[e.Session], e)
			if err != nil {
				return err
			}
			tails[e.Session], ends[e.Session] = t, e.Pos
		}
	}
	for id, t := range tails {
		if err := w.saveAt(t, ends[id], false, true); err != nil {
			return err
		}
	}
	return nil
}

// derive writes what follows from an event that is in the table already.
func (w *writer) derive(t journal.Tail, e *domain.Event) (journal.Tail, error) {
	p, err := domain.DecodePayload(e.Kind, e.Payload)
	if err != nil {
		return t, err
	}
	if err := w.index(e.Pos, projection.Fold(projection.Text(p))); err != nil {
		return t, err
	}
	if err := journal.Record(book{w: w, session: e.Session}, e, p); err != nil {
		return t, err
	}
	return journal.Tail{Head: projection.Apply(t.Head, *e, p), Hash: e.Hash}, nil
}

// Delete takes a session's content away for good. Its events stay as
// tombstones: their hashes keep the ledger verifiable, their payloads and salts
// are gone from the file. CodeConflict while somebody holds its lease.
func (s *Store) Delete(ctx context.Context, id domain.SessionID) error {
	err := s.submit(ctx, "delete session", func(w *writer) error { return w.purge(id) })
	if err != nil {
		return err
	}
	// Old pages in the log still have the content until it is folded back.
	return s.submit(ctx, "delete session", func(w *writer) error {
		w.afterCommit = append(w.afterCommit, "PRAGMA wal_checkpoint(TRUNCATE)")
		return nil
	})
}

func (w *writer) purge(id domain.SessionID) error {
	tail, err := w.tail(id)
	if err != nil || !tail.Exists() {
		return orNotFound(err, id)
	}
	lease, ok, err := w.lease(id)
	if err != nil {
		return err
	}
	now := w.s.now()
	if ok && lease.Holder != "" && lease.ExpiresAt.After(now) {
		return domain.Errorf(domain.CodeConflict, "session %s is run by %s until %s", id, lease.Holder, lease.ExpiresAt.Format(time.RFC3339)).
			WithHint("Stop its run first.")
	}
	for _, q := range []string{qPurgeBegin, qPurgeSearch, qPurgeEvents, qPurgeCall, qPurgeAppr, qPurgeLease, qPurgeRun} {
		if _, err := w.exec(q, string(id)); err != nil {
			return err
		}
	}
	if _, err := w.exec(qPurgeHead, now.UnixMicro(), string(id)); err != nil {
		return err
	}
	if _, err := w.exec(qPurgeEnd); err != nil {
		return err
	}
	delete(w.tails, id)
	return nil
}
