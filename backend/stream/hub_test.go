package stream_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"worksite/backend/domain"
	"worksite/backend/stream"
)

// ledger keeps History's contract over a slice.
type ledger struct {
	mu     sync.Mutex
	events []domain.Event
	wake   chan struct{}
}

func (l *ledger) ReadLedger(_ context.Context, after int64, limit int) ([]domain.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.events[min(int(after), len(l.events)):]
	return slices.Clone(out[:min(limit, len(out))]), nil
}

func (l *ledger) Wait(ctx context.Context, after int64) error {
	for {
		l.mu.Lock()
		n, wake := int64(len(l.events)), l.wake
		l.mu.Unlock()
		if n > after {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		}
	}
}

func (l *ledger) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.events = append(l.events, domain.Event{Pos: int64(len(l.events) + 1)})
	}
	close(l.wake)
	l.wake = make(chan struct{})
}

// R121: events come by position, each once and in order, from any cursor.
func TestEventsFromACursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{wake: make(chan struct{})}
		l.add(1200)
		sub := stream.New(l).Subscribe(100)
		want := int64(101)
		for want <= 1200 {
			u, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range u.Events {
				if e.Pos != want {
					t.Fatalf("got position %d, want %d", e.Pos, want)
				}
				want++
			}
		}
		go l.add(3)
		u, err := sub.Next(t.Context())
		if err != nil || len(u.Events) != 3 || sub.Cursor() != 1203 {
			t.Fatalf("after a wait: %d events, cursor %d, %v", len(u.Events), sub.Cursor(), err)
		}
	})
}

// R121: live text arrives as (id, offset), coalesced, whole and valid for every
// reader, also one that comes late.
func TestLiveText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := stream.New(&ledger{wake: make(chan struct{})})
		early := hub.Subscribe(0)
		read := func(s *stream.Subscription) stream.Live {
			t.Helper()
			u, err := s.Next(t.Context())
			if err != nil || len(u.Live) != 1 {
				t.Fatalf("got %+v, %v", u, err)
			}
			return u.Live[0]
		}
		hub.Delta("ses_1", "msg_1", domain.Delta{Text: "gr\xc3"}) // half of "ü"
		if got := read(early); got.Text != "gr" || got.Offset != 0 {
			t.Fatalf("first piece: %+v", got)
		}
		hub.Delta("ses_1", "msg_1", domain.Delta{Text: "\xbcn", Thinking: "hm"})
		hub.Delta("ses_1", "msg_1", domain.Delta{Text: "!"})
		if got := read(early); got.Text != "ün!" || got.Offset != 2 || got.Thinking != "hm" {
			t.Fatalf("second piece: %+v", got)
		}
		if got := read(hub.Subscribe(0)); got.Text != "grün!" || got.Offset != 0 {
			t.Fatalf("late reader: %+v", got)
		}
		hub.Done("ses_1", "msg_1")
		hub.Output("ses_1", "call_1", []byte(strings.Repeat("x", 1<<20)))
		got := read(early)
		if got.ID != "call_1" || got.Offset+int64(len(got.Text)) != 1<<20 || len(got.Text) > 400<<10 {
			t.Fatalf("long output: id %s offset %d len %d", got.ID, got.Offset, len(got.Text))
		}
	})
}

// Equal notices in a row are one; a reader that is told nothing returns when its
// context ends.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := stream.New(&ledger{wake: make(chan struct{})})
		sub := hub.Subscribe(0)
		for range 3 {
			hub.Notify("changes:ses_1")
		}
		u, err := sub.Next(t.Context())
		if err != nil || len(u.Notices) != 1 || u.Notices[0] != "changes:ses_1" {
			t.Fatalf("got %+v, %v", u, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if u, err = sub.Next(ctx); err != nil || len(u.Notices) != 0 {
			t.Fatalf("after the end: %+v, %v", u, err)
		}
	})
}
