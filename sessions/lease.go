package sessions

import (
	"context"
	"time"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
	"worksite/sessions/internal/journal"
)

// Acquire takes the right to run session for ttl, as long as it is free: never
// held, released, past its time, or held by a process that holderDead (nil:
// never) knows to be gone. It is a compare-and-swap: of several that try at once
// one gets it, and each success has a generation one higher than the last. While
// it is held the error is CodeConflict and names the holder; the holder itself
// is no exception. There is no lease without a run: CodeConflict when none was
// ever started.
func (s *Store) Acquire(ctx context.Context, session domain.SessionID, holder string, ttl time.Duration, holderDead func(string) bool) (domain.Lease, error) {
	if holder == "" || ttl <= 0 {
		return domain.Lease{}, domain.Errorf(domain.CodeInvalid, "a lease needs a holder and a time to live")
	}
	old, _, err := s.LeaseOf(ctx, session)
	if err != nil {
		return domain.Lease{}, err
	}
	// Asked before the transaction: looking at processes may take a while. The
	// swap below holds only for the very holder that was asked about.
	dead := old.Holder != "" && old.ExpiresAt.After(s.now()) && holderDead != nil && holderDead(old.Holder)
	var lease domain.Lease
	err = s.submit(ctx, "acquire lease", func(w *writer) (err error) {
		lease, err = w.acquire(session, holder, ttl, old, dead)
		failpoint.Reach(failpoint.LeaseBeforeAcquire)
		return err
	})
	failpoint.Reach(failpoint.LeaseAfterAcquire)
	return lease, err
}

func (w *writer) acquire(session domain.SessionID, holder string, ttl time.Duration, old domain.Lease, dead bool) (domain.Lease, error) {
	if tail, err := w.tail(session); err != nil || !tail.Exists() {
		return domain.Lease{}, orNotFound(err, session)
	}
	var run string
	if ok, err := w.get(qNewestRun, []any{string(session)}, &run); err != nil || !ok {
		if err != nil {
			return domain.Lease{}, err
		}
		return domain.Lease{}, domain.Errorf(domain.CodeConflict, "session %s has no run that could be leased", session)
	}
	now := w.s.now().UTC().Truncate(time.Microsecond)
	expires := now.Add(ttl).Truncate(time.Microsecond)
	if old.Generation == 0 {
		if n, err := w.exec(qFirstLease, string(session), run, holder, expires.UnixMicro()); err != nil {
			return domain.Lease{}, err
		} else if n == 1 {
			return domain.Lease{Session: session, Holder: holder, Generation: 1, ExpiresAt: expires}, nil
		}
	}
	current, _, err := w.lease(session)
	if err != nil {
		return domain.Lease{}, err
	}
	dead = dead && current.Holder == old.Holder && current.Generation == old.Generation
	n, err := w.exec(qTakeLease, run, holder, expires.UnixMicro(), string(session), current.Generation, current.Holder, now.UnixMicro(), dead)
	if err != nil {
		return domain.Lease{}, err
	}
	if n == 0 {
		return domain.Lease{}, domain.Errorf(domain.CodeConflict, "session %s is run by %s until %s", session, current.Holder, current.ExpiresAt.Format(time.RFC3339)).
			WithHint("Follow it there, or wait until it has ended.")
	}
	return domain.Lease{Session: session, Holder: holder, Generation: current.Generation + 1, ExpiresAt: expires}, nil
}

func orNotFound(err error, session domain.SessionID) error {
	if err != nil {
		return err
	}
	return domain.Errorf(domain.CodeNotFound, "there is no session %s", session)
}

// lease reads the lease of a session inside the writer's transaction.
func (w *writer) lease(session domain.SessionID) (domain.Lease, bool, error) {
	l := domain.Lease{Session: session}
	var run string
	var expires int64
	ok, err := w.get(qLease, []any{string(session)}, &run, &l.Holder, &l.Generation, &expires)
	l.ExpiresAt = time.UnixMicro(expires).UTC()
	return l, ok, err
}

// Renew prolongs l to ttl from now, as long as nobody has taken it: CodeStaleLease then.
func (s *Store) Renew(ctx context.Context, l domain.Lease, ttl time.Duration) (domain.Lease, error) {
	if ttl <= 0 {
		return l, domain.Errorf(domain.CodeInvalid, "a lease needs a time to live")
	}
	err := s.submit(ctx, "renew lease", func(w *writer) error {
		expires := w.s.now().UTC().Add(ttl).Truncate(time.Microsecond)
		n, err := w.exec(qRenewLease, expires.UnixMicro(), string(l.Session), l.Generation, l.Holder)
		if err == nil && n == 0 {
			err = w.lost(l)
		}
		if err == nil {
			l.ExpiresAt = expires
		}
		failpoint.Reach(failpoint.LeaseBeforeRenew)
		return err
	})
	failpoint.Reach(failpoint.LeaseAfterRenew)
	return l, err
}

// Release gives l back; CodeStaleLease when it was not held any more.
func (s *Store) Release(ctx context.Context, l domain.Lease) error {
	err := s.submit(ctx, "release lease", func(w *writer) error {
		n, err := w.exec(qReleaseLease, string(l.Session), l.Generation, l.Holder)
		if err == nil && n == 0 {
			err = w.lost(l)
		}
		failpoint.Reach(failpoint.LeaseBeforeRelease)
		return err
	})
	failpoint.Reach(failpoint.LeaseAfterRelease)
	return err
}

// lost says who has the lease now.
func (w *writer) lost(l domain.Lease) error {
	current, _, err := w.lease(l.Session)
	if err != nil {
		return err
	}
	if err := journal.Holds(current, l.Generation); err != nil {
		return err
	}
	return domain.Errorf(domain.CodeStaleLease, "this lease is held by %s", current.Holder)
}

// LeaseOf returns the newest lease of a session; held tells whether somebody
// holds it and it is not past its time. The zero lease when there never was one.
func (s *Store) LeaseOf(ctx context.Context, session domain.SessionID) (l domain.Lease, held bool, err error) {
	l.Session = session
	var run string
	var expires int64
	ok, err := s.queryRow(ctx, qLease, []any{string(session)}, &run, &l.Holder, &l.Generation, &expires)
	if err != nil || !ok {
		return domain.Lease{}, false, s.explain("read lease", err)
	}
	l.ExpiresAt = time.UnixMicro(expires).UTC()
	return l, l.Holder != "" && l.ExpiresAt.After(s.now()), nil
}
