package sessionstest

import (
	"context"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/internal/journal"
)

// Acquire takes the right to run a session while it is free.
func (m *Memory) Acquire(ctx context.Context, id domain.SessionID, holder string, ttl time.Duration, holderDead func(string) bool) (domain.Lease, error) {
	if holder == "" || ttl <= 0 {
		return domain.Lease{}, domain.Errorf(domain.CodeInvalid, "a lease needs a holder and a time to live")
	}
	old, held, err := m.LeaseOf(ctx, id)
	if err != nil {
		return domain.Lease{}, err
	}
	dead := held && holderDead != nil && holderDead(old.Holder)
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.get(id)
	if err != nil {
		return domain.Lease{}, err
	}
	if len(r.book.runs) == 0 {
		return domain.Lease{}, domain.Errorf(domain.CodeConflict, "session %s has no run that could be leased", id)
	}
	now := m.Now().UTC().Truncate(time.Microsecond)
	free := r.lease.Holder == "" || !r.lease.ExpiresAt.After(now) || dead && r.lease.Generation == old.Generation && r.lease.Holder == old.Holder
	if !free {
		return domain.Lease{}, domain.Errorf(domain.CodeConflict, "session %s is run by %s", id, r.lease.Holder)
	}
	r.lease = domain.Lease{Session: id, Holder: holder, Generation: r.lease.Generation + 1, ExpiresAt: now.Add(ttl).Truncate(time.Microsecond)}
	return r.lease, nil
}

// Renew prolongs a lease that nobody has taken.
func (m *Memory) Renew(ctx context.Context, l domain.Lease, ttl time.Duration) (domain.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.mine(l)
	if err != nil {
		return l, err
	}
	l.ExpiresAt = m.Now().UTC().Add(ttl).Truncate(time.Microsecond)
	r.lease = l
	return l, ctx.Err()
}

// Release gives a lease back.
func (m *Memory) Release(ctx context.Context, l domain.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.mine(l)
	if err != nil {
		return err
	}
	r.lease.Holder, r.lease.ExpiresAt = "", time.UnixMicro(0).UTC()
	return ctx.Err()
}

// mine returns the session that l is the current lease of.
func (m *Memory) mine(l domain.Lease) (*record, error) {
	r := m.sessions[l.Session]
	if r == nil {
		return nil, journal.Holds(domain.Lease{}, l.Generation)
	}
	if err := journal.Holds(r.lease, l.Generation); err != nil {
		return nil, err
	}
	if r.lease.Holder != l.Holder {
		return nil, domain.Errorf(domain.CodeStaleLease, "this lease is held by %s", r.lease.Holder)
	}
	return r, nil
}

// LeaseOf returns the newest lease of a session and whether it is held.
func (m *Memory) LeaseOf(ctx context.Context, id domain.SessionID) (domain.Lease, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.sessions[id]
	if r == nil || r.lease.Generation == 0 {
		return domain.Lease{}, false, ctx.Err()
	}
	return r.lease, r.lease.Holder != "" && r.lease.ExpiresAt.After(m.Now()), ctx.Err()
}
