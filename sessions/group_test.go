package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"worksite/backend/domain"
	"worksite/sessions"
)

// A refused append undoes only itself, whatever it shares a commit with.
func TestRefusalsOfAGroupUndoOnlyThemselves(t *testing.T) {
	s := openStore(t, t.TempDir())
	id := newSession(t, s)
	taken := add(t, s, id, domain.SessionRenamed{V: 1, Title: "first"})[0].ID
	var good, bad atomic.Int64
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			drafts := []domain.Draft{{Payload: domain.SessionRenamed{V: 1, Title: fmt.Sprint(n)}}, {Payload: domain.ModeChanged{V: 1, Mode: domain.ModeAuto}}}
			if n%3 == 0 {
				drafts[1].ID = taken // refused by the database itself, after the first was written
			}
			if _, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: drafts}); err == nil {
				good.Add(1)
			} else if domain.CodeOf(err) != domain.CodeConflict {
				t.Error(err)
			} else {
				bad.Add(1)
			}
		})
	}
	wg.Wait()
	if bad.Load() != 67 || good.Load() != 133 {
		t.Errorf("%d taken, %d refused", good.Load(), bad.Load())
	}
	r, err := s.Verify(t.Context(), "")
	if err != nil || !r.OK() || r.Events != 2+2*good.Load() {
		t.Errorf("%+v %v %v", r, r.Bad, err)
	}
}

// An append whose caller gave up is either not done or answered, never half.
func TestCancelledAppends(t *testing.T) {
	s := openStore(t, t.TempDir())
	id := newSession(t, s)
	var acked atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			_, err := s.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.SessionRenamed{V: 1, Title: "x"}}}})
			switch {
			case err == nil:
				acked.Add(1)
			case !errors.Is(err, context.Canceled):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if last, err := s.LastPos(t.Context()); err != nil || last != 1+acked.Load() {
		t.Errorf("%d events, %d were acknowledged (%v)", last, 1+acked.Load(), err)
	}
}

// Close answers what was accepted and refuses the rest.
func TestCloseAnswersEverybody(t *testing.T) {
	dir := t.TempDir()
	s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id := newSession(t, s)
	var acked atomic.Int64
	var wg sync.WaitGroup
	begun := make(chan struct{}, 1)
	for range 16 {
		wg.Go(func() {
			for {
				_, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.SessionRenamed{V: 1, Title: "x"}}}})
				if err != nil {
					if domain.CodeOf(err) != domain.CodeUnavailable {
						t.Error(err)
					}
					return
				}
				acked.Add(1)
				select {
				case begun <- struct{}{}:
				default:
				}
			}
		})
	}
	waiting := make(chan error, 1)
	go func() { waiting <- s.Wait(t.Context(), 1<<40) }()
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := <-waiting; domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("who waited was told %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if r := verify(t, dir, ""); !r.OK() || r.Events != 1+acked.Load() || r.Outside != r.Events {
		t.Errorf("%+v %v, %d acknowledged", r, r.Bad, acked.Load())
	}
}

// R142: several first starts at once make one ledger with one identity, and each
// sees what the others append.
func TestManyFirstStarts(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	stores := make([]*sessions.Store, 6)
	for i := range stores {
		wg.Go(func() {
			s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	id := newSession(t, stores[0])
	for _, s := range stores {
		wg.Go(func() {
			for range 20 {
				if _, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.SessionRenamed{V: 1, Title: "x"}}}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range stores {
		if s.Cell().ID != stores[0].Cell().ID {
			t.Error("two identities in one folder")
		}
		if v, err := s.View(t.Context(), id); err != nil || v.LastSeq != 1+20*int64(len(stores)) {
			t.Errorf("%d, %v", v.LastSeq, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if r := verify(t, dir, ""); !r.OK() || r.Cells != 1 {
		t.Errorf("%+v %v", r, r.Bad)
	}
}
