package crash_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"worksite/backend/failpoint"
)

// storm keeps count of how often the process was killed at each fail point.
type storm struct {
	mu    sync.Mutex
	kills map[failpoint.Name]int
	each  int // as often as each is to be killed
	r     *rand.Rand
	often map[failpoint.Name]int // how often a run without a kill comes there

	random, unknown, sites int
	reviewed               string // what an undisturbed review leaves
}

func byReview(n failpoint.Name) bool {
	switch n {
	case failpoint.FileBeforeRemove, failpoint.FileAfterRemove, failpoint.ReviewRecorded, failpoint.ReviewPut, failpoint.ReviewApplied,
		failpoint.RestoreRecorded, failpoint.RestoreApplied:
		return true
	default:
		return false
	}
}

func byRenewal(n failpoint.Name) bool {
	return n == failpoint.LeaseBeforeRenew || n == failpoint.LeaseAfterRenew
}

// wanted lists the points that were not killed often enough.
func (st *storm) wanted(of func(failpoint.Name) bool) []failpoint.Name {
	st.mu.Lock()
	defer st.mu.Unlock()
	var out []failpoint.Name
	for _, n := range failpoint.Names {
		if st.kills[n] < st.each && of(n) {
			out = append(out, n)
		}
	}
	return out
}

// pick names a point to kill at, the ones that are wanted first. within is how
// often the process may come there before.
func (st *storm) pick(within int, of func(failpoint.Name) bool) (failpoint.Name, string) {
	list := st.wanted(of)
	if len(list) == 0 {
		return "", ""
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	n := list[st.r.IntN(len(list))]
	return n, fmt.Sprintf("%s:%d", n, 1+st.r.IntN(max(1, min(within, st.often[n]/2))))
}

// killed counts a kill at a point.
func (st *storm) killed(n failpoint.Name) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if n != "" {
		st.kills[n]++
	} else {
		st.random++
	}
}

// pickFunc names the next point to kill at; within is how often it may be passed.
type pickFunc func(within int) (failpoint.Name, string)

// work lets a site's run come to its end through kills, and checks it.
func (st *storm) work(t *testing.T, pause time.Duration, pick pickFunc) *site {
	t.Helper()
	s := newSite(t, pause)
	n, point := pick(6)
	task := []string{"run", "-w", s.dir, "--mode", "auto", "--model", "openai:scripted", "--base-url", s.model.URL + "/v1", "--json", "do the steps"}
	for s.start(point, 0, task...) {
		st.killed(n)
		if s.session != "" {
			break
		}
		n, point = pick(6) // killed before an event was acknowledged: anew
	}
	left := 10 // kills, so that it comes to its end
	for tries := 0; ; tries++ {
		if tries > 60 {
			t.Fatal("the run does not end")
		}
		v := s.view()
		if v.Run.State == "done" {
			break
		}
		n, point = "", ""
		var after time.Duration
		if left > 0 {
			if n, point = pick(3); point == "" && left > 7 {
				after = time.Duration(20+rand.IntN(500)) * time.Millisecond
			}
		}
		var killed bool
		switch v.Run.State {
		case "unknown":
			killed = s.decide(point, v.Run.Unknown[0])
		case "interrupted":
			killed = s.start(point, after, "continue", s.session, "--json")
		case "": // killed before the run began
			killed = s.start(point, after, append(task, "--session", s.session)...)
		default:
			t.Fatalf("the run is %s: %s", v.Run.State, v.Run.Reason)
		}
		if killed {
			st.killed(n)
			left--
		}
	}
	s.check()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.sites++
	st.unknown += s.unknown
	return s
}

// R55, R63, R69, R74, R135, R141: the real binary is killed at every place where
// it writes or has an effect, in the middle of real runs and reviews; each is
// carried on to its end. Nothing acknowledged is lost, no effect happens twice
// unless somebody was asked, every file is as the ledger says.
func TestKillStorm(t *testing.T) {
	st := &storm{kills: map[failpoint.Name]int{}, each: 2, r: rand.New(rand.NewPCG(1, 7)), often: map[failpoint.Name]int{}}
	if os.Getenv("WORKSITE_SOAK") != "" {
		st.each = max(20, 1+1000/len(failpoint.Names))
	}
	none := func(int) (failpoint.Name, string) { return "", "" }
	t.Run("undisturbed", func(t *testing.T) {
		s := st.work(t, 20*time.Millisecond, none)
		st.reviewed = s.review(func(string) (string, func()) { return "", nil })
		raw, err := os.ReadFile(s.log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			st.often[failpoint.Name(strings.TrimSpace(line))]++
		}
		for _, n := range failpoint.Names {
			if st.often[n] == 0 && !byRenewal(n) {
				t.Errorf("a whole run and review never comes to %s", n)
			}
		}
	})
	if t.Failed() {
		return
	}
	t.Run("faults of before", st.before)
	inRun := func(n failpoint.Name) bool { return !byReview(n) && !byRenewal(n) }
	var wg sync.WaitGroup
	for worker := range 3 { // a storm mostly waits: for the disk and for leases
		of, pause, more := inRun, 20*time.Millisecond, func() []failpoint.Name {
			return st.wanted(func(n failpoint.Name) bool { return !byRenewal(n) })
		}
		if worker == 0 { // a lease is renewed every three seconds
			of, pause, more = byRenewal, 3200*time.Millisecond, func() []failpoint.Name { return st.wanted(byRenewal) }
		}
		wg.Go(func() {
			for round := 0; len(more()) > 0 && !t.Failed(); round++ {
				if round > 20*st.each {
					t.Errorf("these are never killed at: %v", more())
					return
				}
				t.Run(fmt.Sprintf("%d-%d", worker, round), func(t *testing.T) { st.round(t, pause, of) })
			}
		})
	}
	wg.Wait()
	total, least := st.random, st.each
	for _, n := range failpoint.Names {
		total += st.kills[n]
		least = min(least, st.kills[n])
	}
	verdict := "0 acknowledged events lost, 0 effects done twice unasked"
	if t.Failed() {
		verdict = "FAILED, see above"
	}
	t.Logf("figure: kill storm | %d kills at %d named places (each at least %d times) in %d runs carried on to their ends: %s, %d unknown effects decided by looking",
		total, len(failpoint.Names), least, st.sites, verdict, st.unknown)
	for _, n := range slices.Sorted(maps.Keys(st.kills)) {
		t.Logf("  %-26s %d", n, st.kills[n])
	}
}

// round is one run and its review.
func (st *storm) round(t *testing.T, pause time.Duration, of func(failpoint.Name) bool) {
	t.Helper()
	s := st.work(t, pause, func(within int) (failpoint.Name, string) { return st.pick(within, of) })
	var armed []failpoint.Name
	seen := s.review(func(command string) (string, func()) {
		n, point := st.pick(1, func(n failpoint.Name) bool {
			switch n {
			case failpoint.RestoreRecorded, failpoint.RestoreApplied:
				return command == "restore" || command == "undo"
			case failpoint.ReviewRecorded, failpoint.ReviewApplied:
				return command == "accept" || command == "reject"
			default:
				return byReview(n)
			}
		})
		return point, func() {
			armed = append(armed, n)
			st.killed(n)
		}
	})
	if seen != st.reviewed {
		t.Errorf("after kills at %v the review left\n%s\nundisturbed it leaves\n%s", armed, seen, st.reviewed)
	}
}

// before kills where faults were found once: what an effect found before it was
// not recorded; placeholders of a sandbox were taken for files; a review did not
// count what it had answered, or called its own work the person's.
func (st *storm) before(t *testing.T) {
	in := []failpoint.Name{failpoint.HandAfterEffect, failpoint.SandboxBeforeStart}
	s := st.work(t, 20*time.Millisecond, func(int) (n failpoint.Name, point string) {
		if len(in) > 0 {
			n, in = in[0], in[1:]
		}
		return n, string(n)
	})
	hit := 0
	seen := s.review(func(command string) (string, func()) {
		point := map[string]failpoint.Name{
			"accept": failpoint.ReviewRecorded, "reject": failpoint.ReviewApplied, "restore": failpoint.RestoreRecorded, "undo": failpoint.ReviewPut,
		}[command]
		return string(point), func() { hit++ }
	})
	if seen != st.reviewed || hit != len(reviews) || len(in) > 0 {
		t.Errorf("%d commands were killed; the review left\n%s\nundisturbed it leaves\n%s", hit, seen, st.reviewed)
	}
}
