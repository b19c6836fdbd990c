package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"worksite/backend/domain"
	"worksite/backend/harness"
)

const (
	leaseTTL   = 10 * time.Second
	leaseRenew = 3 * time.Second
)

var (
	errLeaseLost = errors.New("another process runs this session now")
	errCancelled = errors.New("cancelled by the person")
)

// runner steps the sessions whose runs this process carries out, one goroutine
// each, from taking the lease to giving it back.
type runner struct {
	svc    *Service
	mu     sync.Mutex
	active map[domain.SessionID]*running
	closed bool
	wg     sync.WaitGroup
}

type running struct {
	cancel context.CancelCauseFunc
	again  bool // something happened since the last step: look once more before ending
	done   chan struct{}
}

func newRunner(svc *Service) *runner {
	return &runner{svc: svc, active: map[domain.SessionID]*running{}}
}

// kick sees to it that a goroutine of this process steps the session. resumed is
// why an interrupted run goes on; "" for a fresh or waiting one. The returned
// channel closes when the goroutine ends.
func (r *runner) kick(session domain.SessionID, resumed string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.active[session]; a != nil {
		a.again = true
		return a.done
	}
	if r.closed {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &running{cancel: cancel, done: make(chan struct{})}
	r.active[session] = a
	r.wg.Go(func() {
		defer close(a.done)
		defer cancel(nil)
		for {
			err := r.run(ctx, session, resumed)
			if err != nil && !errors.Is(err, harness.ErrShutdown) {
				r.svc.log.Error("run ended by an error", "session", session, "error", err)
				r.svc.setTrouble(session, err)
			}
			if r.leave(session, a, err != nil) {
				return
			}
			resumed = ""
		}
	})
	return a.done
}

// here reports whether this process runs the session.
func (r *runner) here(session domain.SessionID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active[session] != nil
}

// cancel stops what this process does for the session.
func (r *runner) cancel(session domain.SessionID) {
	r.mu.Lock()
	a := r.active[session]
	r.mu.Unlock()
	if a != nil {
		a.cancel(errCancelled)
	}
}

// close stops every run, leaving them to be continued, and waits.
func (r *runner) close() {
	r.mu.Lock()
	r.closed = true
	for _, a := range r.active {
		a.cancel(harness.ErrShutdown)
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// leave ends the goroutine's turn unless something happened meanwhile. The lease
// is given back by then, so whoever comes next can take it.
func (r *runner) leave(session domain.SessionID, a *running, always bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.again && !always {
		a.again = false
		return false
	}
	delete(r.active, session)
	return true
}

// run takes the lease, steps the session until it waits or ends, and gives the
// lease back.
func (r *runner) run(ctx context.Context, session domain.SessionID, resumed string) (err error) {
	svc := r.svc
	if resumed == onlyWake {
		ctx = context.WithoutCancel(ctx) // short, and half of it would hide the crash
	}
	previous, _, err := svc.ledger.LeaseOf(ctx, session)
	if err != nil {
		return err
	}
	lease, err := svc.ledger.Acquire(ctx, session, svc.holder.name, leaseTTL, svc.holder.dead)
	if err != nil {
		return err
	}
	r.svc.setTrouble(session, nil)
	pos, err := svc.ledger.LastPos(ctx)
	if err != nil {
		return errors.Join(err, svc.ledger.Release(ctx, lease))
	}
	ctx, stopKeeping := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { r.keep(ctx, lease, stopKeeping) })
	keeping.Go(func() { r.watchCancel(ctx, session, pos, stopKeeping) })
	defer func() {
		stopKeeping(nil)
		keeping.Wait()
		release, done := context.WithTimeout(context.Background(), 5*time.Second)
		defer done()
		if rerr := svc.ledger.Release(release, lease); rerr != nil && domain.CodeOf(rerr) != domain.CodeStaleLease {
			err = errors.Join(err, rerr)
		}
	}()
	if crashed := previous.Holder != "" && previous.Holder != svc.holder.name; crashed {
		svc.sweepSandbox()
		if _, err := svc.harness.Wake(ctx, lease, "The process that ran it ended without closing it.", svc.survey(session)); err != nil {
			return err
		}
	}
	if resumed == onlyWake {
		return nil
	}
	if resumed != "" {
		if err := svc.appendContinued(ctx, lease, resumed); err != nil {
			return err
		}
	}
	failed := false
	for {
		progress, err := svc.harness.Step(ctx, lease)
		switch {
		case errors.Is(context.Cause(ctx), errLeaseLost):
			svc.harness.Forget(session)
			return errLeaseLost
		case errors.Is(context.Cause(ctx), harness.ErrShutdown):
			_, werr := svc.harness.Wake(context.WithoutCancel(ctx), lease, "Worksite was closed while it worked.", svc.survey(session))
			return errors.Join(harness.ErrShutdown, werr)
		case err != nil && (ctx.Err() == nil || failed):
			return err
		case progress == harness.ProgressFinished, progress == harness.ProgressIdle, progress != harness.ProgressMore && ctx.Err() == nil:
			return nil
		}
		failed = err != nil // cancelled: one more step closes the run
	}
}

// keep renews the lease; when it is lost the run stops at once.
func (r *runner) keep(ctx context.Context, lease domain.Lease, stop context.CancelCauseFunc) {
	tick := time.NewTicker(leaseRenew)
	defer tick.Stop()
	until := time.Now().Add(leaseTTL)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		renewed, err := r.svc.ledger.Renew(ctx, lease, leaseTTL)
		switch {
		case err == nil:
			lease, until = renewed, time.Now().Add(leaseTTL)
		case domain.CodeOf(err) == domain.CodeStaleLease || domain.CodeOf(err) == domain.CodeConflict || time.Now().After(until):
			stop(errLeaseLost)
			return
		}
	}
}

// watchCancel sees a cancel that another process wrote.
func (r *runner) watchCancel(ctx context.Context, session domain.SessionID, pos int64, stop context.CancelCauseFunc) {
	for {
		if err := r.svc.ledger.Wait(ctx, pos); err != nil {
			return
		}
		events, err := r.svc.ledger.ReadLedger(ctx, pos, 500)
		if err != nil {
			return // the step meets the same error and says so
		}
		for _, e := range events {
			pos = e.Pos
			if e.Session == session && e.Kind == (domain.RunCancelRequested{}).Kind() {
				stop(errCancelled)
				return
			}
		}
	}
}
