package stream

import (
	"context"
	"errors"
	"time"

	"worksite/backend/domain"
)

// batch is how many events one Next returns at most.
const batch = 500

// gather is how long Next waits for more after the first sign of news, so that a
// burst becomes few frames and a page draws once for it; gatherBusy is that while
// much arrives, when a page has better to do than to draw each piece of it.
const (
	gather     = 12 * time.Millisecond
	gatherBusy = 100 * time.Millisecond
	busy       = 12 // events in one update that count as much
)

// Update is what a reader has not seen yet. Events are in ledger order and
// without a gap after the position the subscription had.
type Update struct {
	Events  []domain.Event
	Live    []Live
	Notices []string
}

// Subscription is one reader's place. It is used by one goroutine.
type Subscription struct {
	hub    *Hub
	cursor int64
	rev    int64
	much   bool                // the last update had many events
	sent   map[string][2]int64 // text and thinking offsets sent, by id
}

// Subscribe starts reading after a ledger position.
func (h *Hub) Subscribe(cursor int64) *Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Subscription{hub: h, cursor: cursor, sent: map[string][2]int64{}}
	if len(h.notes) > 0 {
		s.rev = h.notes[len(h.notes)-1].rev // old notices are no news
	}
	return s
}

// Cursor returns the ledger position up to which events were returned.
func (s *Subscription) Cursor() int64 { return s.cursor }

// Next waits until there is something new and returns it. When ctx ends first it
// returns an empty update and no error, so that a caller can send a sign of life.
func (s *Subscription) Next(ctx context.Context) (Update, error) {
	if s.much {
		pause(ctx, gatherBusy)
	}
	first := true
	for {
		events, err := s.hub.history.ReadLedger(ctx, s.cursor, batch)
		if err != nil {
			if ctx.Err() != nil {
				return Update{}, nil
			}
			return Update{}, err
		}
		u := Update{Events: events}
		wake := s.collect(&u)
		if len(events) > 0 {
			s.cursor = events[len(events)-1].Pos
			s.much = len(events) >= busy && len(events) < batch // a full one is catching up
			return u, nil
		}
		if len(u.Live)+len(u.Notices) > 0 {
			return u, nil
		}
		if !first && ctx.Err() != nil {
			return Update{}, nil
		}
		first = false
		if err := s.wait(ctx, wake); err != nil {
			return Update{}, err
		}
		if ctx.Err() != nil {
			return Update{}, nil
		}
	}
}

// wait blocks until the ledger or the hub has news, then a moment longer.
func (s *Subscription) wait(ctx context.Context, wake <-chan struct{}) error {
	waiting, cancel := context.WithCancel(ctx)
	ledger := make(chan error, 1)
	go func() { ledger <- s.hub.history.Wait(waiting, s.cursor) }()
	var err error
	select {
	case err = <-ledger:
		cancel()
	case <-wake:
		cancel()
		err = <-ledger
	}
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	pause(ctx, gather)
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// collect adds what is live and new; it returns the channel that closes at the
// next change.
func (s *Subscription) collect(u *Update) <-chan struct{} {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, l := range h.lives {
		if l.rev <= s.rev {
			if _, known := s.sent[id]; known {
				continue
			}
		}
		at := s.sent[id]
		piece := Live{Session: l.session, ID: id, Output: l.output, Status: l.status}
		piece.Offset, piece.Text = l.text.from(at[0])
		piece.TOffset, piece.Thinking = l.thinking.from(at[1])
		s.sent[id] = [2]int64{piece.Offset + int64(len(piece.Text)), piece.TOffset + int64(len(piece.Thinking))}
		u.Live = append(u.Live, piece)
	}
	for id := range s.sent {
		if h.lives[id] == nil {
			delete(s.sent, id)
		}
	}
	seen := ""
	for _, n := range h.notes {
		if n.rev > s.rev && n.name != seen {
			u.Notices = append(u.Notices, n.name)
			seen = n.name
		}
	}
	s.rev = h.rev
	return h.wake
}
