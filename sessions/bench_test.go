package sessions_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/sessions"
)

// The disk of a test machine is too uneven for absolute figures, so every
// benchmark measures its own floor: how often per second this disk makes a 4 KiB
// append durable. "x-floor" is events per second over that.

// floor measures durable 4 KiB appends per second, in dir, for about a second.
func floor(b *testing.B, dir string) float64 {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 4096)
	began := time.Now()
	n := 0
	for time.Since(began) < time.Second {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := datasync(f); err != nil {
			b.Fatal(err)
		}
		n++
	}
	return float64(n) / time.Since(began).Seconds()
}

// message is an event of about 1 KiB.
func message() domain.Payload {
	return domain.MessageSent{V: 1, MessageID: domain.NewMessageID(), Text: strings.Repeat("Add a region field. ", 48)}
}

func benchStore(b *testing.B) (*sessions.Store, domain.SessionID, string) {
	b.Helper()
	dir := b.TempDir()
	s, err := sessions.Open(b.Context(), sessions.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s, newSession(b, s), dir
}

func report(b *testing.B, events int, floor float64) {
	b.Helper()
	rate := float64(events) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "events/s")
	b.ReportMetric(floor, "floor/s")
	b.ReportMetric(rate/floor, "x-floor")
}

func BenchmarkAppendSerial(b *testing.B) {
	s, id, dir := benchStore(b)
	before := floor(b, dir)
	for b.Loop() {
		add(b, s, id, message())
	}
	b.StopTimer()
	report(b, b.N, (before+floor(b, dir))/2)
}

// BenchmarkAppendStep is what a step of the loop writes: six events at once.
func BenchmarkAppendStep(b *testing.B) {
	s, id, dir := benchStore(b)
	run, lease := newRun(b, s, id)
	before := floor(b, dir)
	for b.Loop() {
		if _, err := s.Append(b.Context(), domain.AppendRequest{Session: id, Generation: lease.Generation, Drafts: stepDrafts(run)}); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	report(b, 6*b.N, (before+floor(b, dir))/2)
}

func stepDrafts(run domain.RunID) []domain.Draft {
	call := domain.NewCallID()
	list := []domain.Payload{
		domain.MessageCompleted{V: 1, MessageID: domain.NewMessageID(), Text: strings.Repeat("I look at it. ", 20)},
		domain.ToolCallRequested{V: 1, CallID: call, Name: "bash", Input: `{"command":"pytest -q"}`},
		domain.GateDecided{V: 1, CallID: call, Layers: []domain.LayerDecision{{Layer: domain.LayerApproval, Verdict: domain.VerdictAllow, Rule: "auto"}}},
		domain.ToolCallIntent{V: 1, CallID: call, Attempt: 1, Effect: domain.Effect{Tool: "bash", Argv: []string{"bash", "-c", "pytest -q"}}},
		domain.ToolCallExecuting{V: 1, CallID: call, Attempt: 1, Where: "sandbox on this machine"},
		domain.ToolCallCompleted{V: 1, CallID: call, Attempt: 1, Output: domain.ToolOutput{Text: strings.Repeat("ok test_clean.py\n", 20)}},
	}
	drafts := make([]domain.Draft, len(list))
	for i, p := range list {
		drafts[i] = domain.Draft{ID: domain.NewEventID(), Run: run, Payload: p}
		if i > 0 {
			drafts[i].CausedBy = drafts[i-1].ID
		}
	}
	return drafts
}

func BenchmarkAppend16Producers(b *testing.B) {
	s, _, dir := benchStore(b)
	const producers = 16
	var ids [producers]domain.SessionID
	for i := range ids {
		ids[i] = newSession(b, s)
	}
	before := floor(b, dir)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := s.Append(b.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: message()}}}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	report(b, b.N, (before+floor(b, dir))/2)
}

func BenchmarkAppendBatch100(b *testing.B) {
	s, id, dir := benchStore(b)
	before := floor(b, dir)
	for b.Loop() {
		list := make([]domain.Payload, 100)
		for i := range list {
			list[i] = message()
		}
		add(b, s, id, list...)
	}
	b.StopTimer()
	report(b, 100*b.N, (before+floor(b, dir))/2)
}

func BenchmarkReadPage200(b *testing.B) {
	s, id, _ := benchStore(b)
	for range 50 {
		list := make([]domain.Payload, 200)
		for i := range list {
			list[i] = message()
		}
		add(b, s, id, list...)
	}
	after := int64(0)
	for b.Loop() {
		page, err := s.Read(b.Context(), id, domain.Span{After: after, Limit: 200})
		if err != nil || len(page) != 200 {
			b.Fatal(len(page), err)
		}
		after = (after + 200) % 9_000
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/page")
}

func BenchmarkVerify(b *testing.B) {
	s, id, _ := benchStore(b)
	for range 10 {
		list := make([]domain.Payload, 100)
		for i := range list {
			list[i] = message()
		}
		add(b, s, id, list...)
	}
	for b.Loop() {
		r, err := s.Verify(b.Context(), "")
		if err != nil || !r.OK() {
			b.Fatal(r.Bad, err)
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
