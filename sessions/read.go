package sessions

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/projection"
)

// queryRow reads one row from the read-only pool; ok is false when there is none.
func (s *Store) queryRow(ctx context.Context, query string, args []any, dest ...any) (ok bool, err error) {
	err = s.read.QueryRowContext(ctx, query, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// querier is a connection, pool or transaction that can be read from.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eachEvent calls fn for every event of a query over eventColumns. The event's
// byte slices are its own.
func eachEvent(ctx context.Context, q querier, query string, args []any, fn func(domain.Event) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var (
		e                                                  domain.Event
		session, id, parent, causedBy, run, kind, cell     string
		created                                            int64
		payloadHash, prevHash, hash, sig, salt, rawPayload []byte
	)
	for rows.Next() {
		err := rows.Scan(&e.Pos, &session, &e.Seq, &id, &parent, &causedBy, &run, &kind, &created, &cell, &e.Generation,
			&payloadHash, &prevHash, &hash, &sig, &salt, &rawPayload)
		if err != nil {
			return err
		}
		e.Session, e.ID, e.Parent, e.CausedBy = domain.SessionID(session), domain.EventID(id), domain.EventID(parent), domain.EventID(causedBy)
		e.Run, e.Kind, e.Cell = domain.RunID(run), domain.Kind(kind), domain.CellID(cell)
		e.CreatedAt = time.UnixMicro(created).UTC()
		copy(e.PayloadHash[:], payloadHash)
		copy(e.PrevHash[:], prevHash)
		copy(e.Hash[:], hash)
		e.Sig, e.Salt, e.Payload = sig, salt, rawPayload
		if err := fn(e); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// page is how many events are read between two looks at the caller's context.
// Within a page it does not count: watching it costs more than the page.
const page = 2000

// events reads limit events in pages; next makes the query's arguments from the
// last event read (nil at first) and how many to read.
func (s *Store) events(ctx context.Context, limit int64, query string, next func(last *domain.Event, n int64) []any) ([]domain.Event, error) {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return nil, s.explain("read events", err)
	}
	defer conn.Close()
	var out []domain.Event
	for int64(len(out)) < limit {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var last *domain.Event
		if len(out) > 0 {
			last = &out[len(out)-1]
		}
		n, before := min(page, limit-int64(len(out))), len(out)
		err := eachEvent(context.WithoutCancel(ctx), conn, query, next(last, n), func(e domain.Event) error {
			out = append(out, e)
			return nil
		})
		if err != nil {
			return nil, s.explain("read events", err)
		}
		if int64(len(out)-before) < n {
			break
		}
	}
	return out, nil
}

// exists refuses what is not there; it is asked only when a read found nothing.
func (s *Store) exists(ctx context.Context, id domain.SessionID) error {
	var n int
	_, err := s.queryRow(ctx, qExists, []any{string(id)}, &n)
	if err != nil {
		return s.explain("read session", err)
	}
	if n == 0 {
		return domain.Errorf(domain.CodeNotFound, "there is no session %s", id)
	}
	return nil
}

// checked returns events unless they are those of a deleted session.
func (s *Store) checked(ctx context.Context, id domain.SessionID, events []domain.Event, err error) ([]domain.Event, error) {
	if err != nil {
		return nil, err
	}
	if len(events) == 0 || events[0].Payload == nil {
		if err := s.exists(ctx, id); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// Read returns the events of a session that span selects, in order.
func (s *Store) Read(ctx context.Context, id domain.SessionID, span domain.Span) ([]domain.Event, error) {
	events, err := s.events(ctx, atMost(span.Limit), qRead, func(last *domain.Event, n int64) []any {
		after := span.After
		if last != nil {
			after = last.Seq
		}
		return []any{string(id), after, n}
	})
	return s.checked(ctx, id, events, err)
}

// ReadBefore returns the limit events before a seq, in order: a page upwards.
func (s *Store) ReadBefore(ctx context.Context, id domain.SessionID, before int64, limit int) ([]domain.Event, error) {
	events, err := s.events(ctx, atMost(limit), qReadBefore, func(last *domain.Event, n int64) []any {
		if last != nil {
			before = last.Seq
		}
		return []any{string(id), before, n}
	})
	slices.Reverse(events)
	return s.checked(ctx, id, events, err)
}

// ReadLedger returns the events of all sessions after a position, in order.
// Those of a session that was deleted for good are there as tombstones: their
// Payload is nil.
func (s *Store) ReadLedger(ctx context.Context, afterPos int64, limit int) ([]domain.Event, error) {
	return s.events(ctx, atMost(limit), qReadLedger, func(last *domain.Event, n int64) []any {
		if last != nil {
			afterPos = last.Pos
		}
		return []any{afterPos, n}
	})
}

// LastPos returns the position of the newest event, 0 when there is none.
func (s *Store) LastPos(ctx context.Context) (int64, error) {
	var pos int64
	if _, err := s.queryRow(ctx, qLastPos, nil, &pos); err != nil {
		return 0, s.explain("read ledger", err)
	}
	s.advance(pos)
	return pos, nil
}

func atMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}

// View returns the head of a session.
func (s *Store) View(ctx context.Context, id domain.SessionID) (projection.Session, error) {
	var head, waiting string
	ok, err := s.queryRow(ctx, qView, []any{string(id)}, &head, &waiting)
	if err != nil {
		return projection.Session{}, s.explain("read session", err)
	}
	if !ok {
		return projection.Session{}, domain.Errorf(domain.CodeNotFound, "there is no session %s", id)
	}
	return joinHead(head, waiting)
}

// Views returns the heads of all sessions, the one written to last first;
// archived ones are left out unless archived is set.
func (s *Store) Views(ctx context.Context, archived bool) ([]projection.Session, error) {
	out, err := s.views(ctx, archived)
	return out, s.explain("list sessions", err)
}

func (s *Store) views(ctx context.Context, archived bool) ([]projection.Session, error) {
	most := 0
	if archived {
		most = 1
	}
	rows, err := s.read.QueryContext(ctx, qViews, most)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []projection.Session
	var head, waiting string
	for rows.Next() {
		if err := rows.Scan(&head, &waiting); err != nil {
			return nil, err
		}
		v, err := joinHead(head, waiting)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}
