package sessions_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"worksite/backend/domain"
	"worksite/sessions"
	"worksite/sessions/sessionstest"
)

// leaseOp is one operation on the lease of a session, as a history for the
// linearizability checker.
type leaseOp struct {
	kind       string // "acquire", "renew", "release", "append"
	holder     string
	generation int64
}

type leaseState struct {
	holder     string
	generation int64
}

// leaseModel is what a single lease does when everything happens one after the
// other. Time stands still in it: nothing expires unless a step says so.
var leaseModel = porcupine.Model{
	Init: func() any { return leaseState{} },
	Step: func(state, input, output any) (bool, any) {
		st, op, got := state.(leaseState), input.(leaseOp), output.(int64) // got: generation, 0 refused
		switch op.kind {
		case "acquire":
			if st.holder != "" {
				return got == 0, st
			}
			return got == st.generation+1, leaseState{holder: op.holder, generation: st.generation + 1}
		case "release":
			if st.holder != op.holder || st.generation != op.generation {
				return got == 0, st
			}
			return got == op.generation, leaseState{generation: st.generation}
		default: // renew, append
			if st.holder != op.holder || st.generation != op.generation {
				return got == 0, st
			}
			return got == op.generation, st
		}
	},
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v -> %d", input, output)
	},
}

// R73: over two stores of one file, leases and the writes they fence are
// linearizable: there is one order of all of them that a single lease could have.
func TestLeasesAreLinearizable(t *testing.T) {
	dir := t.TempDir()
	stores := []*sessions.Store{openStore(t, dir), openStore(t, dir)}
	id := newSession(t, stores[0])
	run := domain.NewRunID()
	if _, err := stores[0].Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Run: run, Payload: domain.RunStarted{V: 1}}}}); err != nil {
		t.Fatal(err)
	}
	const clients, each = 6, 40
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	began := time.Now()
	for c := range clients {
		wg.Go(func() {
			s := stores[c%len(stores)]
			holder := fmt.Sprintf("holder-%d", c)
			var mine domain.Lease
			record := func(op leaseOp, fn func() (int64, error)) {
				call := time.Since(began).Nanoseconds()
				got, err := fn()
				ret := time.Since(began).Nanoseconds()
				switch domain.CodeOf(err) {
				case "":
				case domain.CodeConflict, domain.CodeStaleLease:
					got = 0
				default:
					t.Errorf("%+v: %v", op, err)
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: c, Input: op, Output: got, Call: call, Return: ret})
				mu.Unlock()
			}
			for n := range each {
				held := leaseOp{holder: holder, generation: mine.Generation}
				step := (n*7 + c*3) % 5
				if n == each-1 {
					step = 4 // nobody keeps it for ever
				}
				switch step {
				case 0, 1:
					record(leaseOp{kind: "acquire", holder: holder}, func() (int64, error) {
						l, err := s.Acquire(t.Context(), id, holder, time.Hour, nil)
						if err == nil {
							mine = l
						}
						return l.Generation, err
					})
				case 2:
					held.kind = "renew"
					record(held, func() (int64, error) {
						_, err := s.Renew(t.Context(), domain.Lease{Session: id, Holder: holder, Generation: held.generation}, time.Hour)
						return held.generation, err
					})
				case 3:
					if held.generation == 0 {
						continue // a person's append is not fenced
					}
					held.kind = "append"
					record(held, func() (int64, error) {
						_, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Generation: held.generation, Drafts: []domain.Draft{{Run: run, Payload: domain.RunContinued{V: 1}}}})
						return held.generation, err
					})
				case 4:
					held.kind = "release"
					record(held, func() (int64, error) {
						return held.generation, s.Release(t.Context(), domain.Lease{Session: id, Holder: holder, Generation: held.generation})
					})
				}
			}
		})
	}
	wg.Wait()
	if result := porcupine.CheckOperationsTimeout(leaseModel, history, 30*time.Second); result != porcupine.Ok {
		t.Errorf("the history of %d operations is %v", len(history), result)
	}
	won := 0
	for _, op := range history {
		if op.Output.(int64) > 0 && op.Input.(leaseOp).kind == "acquire" {
			won++
		}
	}
	if won < 3 {
		t.Errorf("the lease changed hands %d times: the test shows nothing", won)
	}
}

// R73: with expiry: at most one of many holders can write at any time, and the
// generations of what was written never go back.
func TestGenerationsNeverGoBack(t *testing.T) {
	dir := t.TempDir()
	clock := sessionstest.NewClock()
	var stores []*sessions.Store
	for range 2 {
		s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		stores = append(stores, s)
	}
	id := newSession(t, stores[0])
	run := domain.NewRunID()
	if _, err := stores[0].Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Run: run, Payload: domain.RunStarted{V: 1}}}}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			s := stores[c%2]
			for range 60 {
				clock.Add(400 * time.Millisecond)
				l, err := s.Acquire(t.Context(), id, fmt.Sprint(c), time.Second, nil)
				if err != nil {
					if domain.CodeOf(err) != domain.CodeConflict {
						t.Error(err)
					}
					continue
				}
				for range 2 {
					_, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Generation: l.Generation, Drafts: []domain.Draft{{Run: run, Payload: domain.RunContinued{V: 1, Reason: fmt.Sprint(c)}}}})
					if err != nil && domain.CodeOf(err) != domain.CodeStaleLease {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	events, err := stores[0].Read(t.Context(), id, domain.Span{After: 2})
	if err != nil || len(events) < 20 {
		t.Fatal(len(events), err)
	}
	by := map[int64]string{}
	for i, e := range events {
		p, _ := domain.PayloadOf[domain.RunContinued](e)
		if i > 0 && e.Generation < events[i-1].Generation {
			t.Errorf("event %d has generation %d after %d", e.Seq, e.Generation, events[i-1].Generation)
		}
		if was, ok := by[e.Generation]; ok && was != p.Reason {
			t.Errorf("generation %d was used by %s and %s", e.Generation, was, p.Reason)
		}
		by[e.Generation] = p.Reason
	}
	if len(by) < 5 {
		t.Errorf("only %d generations wrote: the test shows nothing", len(by))
	}
}
