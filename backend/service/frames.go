package service

import (
	"context"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/stream"
)

// Subscription is one page's stream of frames.
type Subscription struct {
	svc *Service
	sub *stream.Subscription
}

// Subscribe starts after a ledger position.
func (s *Service) Subscribe(cursor int64) *Subscription {
	return &Subscription{svc: s, sub: s.hub.Subscribe(cursor)}
}

// Cursor returns the ledger position up to which frames were returned.
func (s *Subscription) Cursor() int64 { return s.sub.Cursor() }

// Next waits for news and returns it: events in order, then live text, then what
// to look at again. Nothing until ctx ends is no error.
func (s *Subscription) Next(ctx context.Context) ([]Frame, error) {
	u, err := s.sub.Next(ctx)
	if err != nil {
		return nil, err
	}
	frames := make([]Frame, 0, len(u.Events)+len(u.Live)+len(u.Notices))
	touched := map[domain.SessionID]bool{}
	for i := range u.Events {
		e := &u.Events[i]
		frames = append(frames, Frame{Type: "event", Event: e, Session: e.Session})
		touched[e.Session] = true
	}
	for i := range u.Live {
		kind := "delta"
		if u.Live[i].Output {
			kind = "output"
		}
		frames = append(frames, Frame{Type: kind, Live: &u.Live[i], Session: u.Live[i].Session})
	}
	for _, n := range u.Notices {
		if kind, id, ok := strings.Cut(n, ":"); ok {
			if kind == "session" {
				touched[domain.SessionID(id)] = true
			} else {
				frames = append(frames, Frame{Type: kind, Session: domain.SessionID(id)})
			}
		}
	}
	for id := range touched {
		view, err := s.svc.Session(ctx, id)
		if err != nil {
			if ctx.Err() == nil && domain.CodeOf(err) == domain.CodeNotFound {
				frames = append(frames, Frame{Type: "session", Session: id}) // deleted
			}
			continue
		}
		frames = append(frames, Frame{Type: "session", Session: id, View: &view})
	}
	return frames, nil
}
