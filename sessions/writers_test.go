package sessions_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/sessions"
)

// R117: eight writers and four readers, over two stores of one folder and a
// process of its own, for as long as there is time: no gap in any numbering, as
// seen by whoever reads meanwhile and at the end, and nobody is told to wait.
func TestWritersAndReaders(t *testing.T) {
	long := 3 * time.Second
	if soaking() {
		long = 10 * time.Minute
	}
	dir := t.TempDir()
	stores := []*sessions.Store{openStore(t, dir), openStore(t, dir)}
	ids := make([]domain.SessionID, 4) // two writers each
	for i := range ids {
		ids[i] = newSession(t, stores[0])
	}
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	var appended, read, gaps, failed, slowest atomic.Int64
	var wg sync.WaitGroup
	for w := range 7 {
		wg.Go(func() {
			s, id := stores[w%2], ids[w%len(ids)]
			for ctx.Err() == nil {
				began := time.Now()
				_, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{
					{Payload: message()}, {Payload: domain.SessionRenamed{V: 1, Title: fmt.Sprint(w)}},
				}})
				if err != nil {
					failed.Add(1)
					t.Errorf("writer %d: %v", w, err)
					return
				}
				appended.Add(2)
				for took := time.Since(began).Nanoseconds(); ; {
					old := slowest.Load()
					if took <= old || slowest.CompareAndSwap(old, took) {
						break
					}
				}
			}
		})
	}
	eighth := start(t, "append", dir, ids[3])
	var other atomic.Int64
	wg.Go(func() {
		for eighth.out.Scan() {
			other.Add(2)
		}
	})
	for n := range 4 {
		wg.Go(func() {
			s := stores[n%2]
			var pos int64
			seqs := map[domain.SessionID]int64{}
			for ctx.Err() == nil {
				if err := s.Wait(ctx, pos); err != nil {
					return // the time is over
				}
				page, err := s.ReadLedger(t.Context(), pos, 200)
				if err != nil {
					failed.Add(1)
					t.Errorf("reader %d: %v", n, err)
					return
				}
				for _, e := range page {
					if e.Pos != pos+1 || e.Seq != seqs[e.Session]+1 {
						gaps.Add(1)
						t.Errorf("reader %d: position %d after %d, seq %d after %d", n, e.Pos, pos, e.Seq, seqs[e.Session])
						return
					}
					pos, seqs[e.Session] = e.Pos, e.Seq
				}
				read.Add(int64(len(page)))
			}
		})
	}
	<-ctx.Done()
	if err := eighth.Process.Kill(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	r, err := stores[0].Verify(t.Context(), "")
	if err != nil || !r.OK() {
		t.Fatalf("%v, %v", r.Bad, err)
	}
	acked := appended.Load() + other.Load() + int64(len(ids))
	if r.Events < acked || r.Events > acked+2 {
		t.Errorf("%d events are there, %d were acknowledged", r.Events, acked)
	}
	if other.Load() == 0 || read.Load() < r.Events/2 {
		t.Errorf("the other process appended %d, the readers read %d: the test shows nothing", other.Load(), read.Load())
	}
	figure(t, "8 writers, 4 readers", "%v: %d events written by three stores (%.0f/s, slowest append %v), %d read meanwhile, %d gaps, %d errors",
		long, r.Events, float64(r.Events)/long.Seconds(), time.Duration(slowest.Load()).Round(time.Millisecond), read.Load(), gaps.Load(), failed.Load())
}
