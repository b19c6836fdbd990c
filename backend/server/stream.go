package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"worksite/backend/domain"
	"worksite/backend/service"
)

// signOfLife is how often a quiet stream sends a ping, so that a page can tell a
// quiet backend from one that is gone.
const signOfLife = 20 * time.Second

// stream sends frames as lines of JSON. The window's asset server does not cancel
// a request when the page lets go of it, so a page ends its stream by name.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	cursor, err := number(r, "cursor", 0)
	if err != nil {
		fail(w, err)
		return
	}
	wait, err := number(r, "wait", 0)
	if err != nil {
		fail(w, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if id := r.FormValue("id"); id != "" {
		s.mu.Lock()
		if old := s.streams[id]; old != nil {
			old()
		}
		s.streams[id] = cancel
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			delete(s.streams, id)
			s.mu.Unlock()
		}()
	}
	sub := s.svc.Subscribe(cursor)
	w.Header().Set("Content-Type", "application/x-ndjson")
	rc := http.NewResponseController(w)
	enc := json.NewEncoder(w)
	send := func(frames []service.Frame) bool {
		for i := range frames {
			if enc.Encode(&frames[i]) != nil {
				return false
			}
		}
		_ = rc.Flush() // a writer that cannot flush still delivers at the end
		return true
	}
	if wait > 0 { // long poll: one batch
		once, stop := context.WithTimeout(ctx, time.Duration(min(wait, 60))*time.Second)
		defer stop()
		frames, err := sub.Next(once)
		if err != nil {
			fail(w, err)
			return
		}
		send(append(frames, service.Frame{Type: "ping", Cursor: sub.Cursor()}))
		return
	}
	if !send([]service.Frame{{Type: "ping", Cursor: cursor}}) {
		return
	}
	for {
		quiet, stop := context.WithTimeout(ctx, signOfLife)
		frames, err := sub.Next(quiet)
		stop()
		if err != nil || ctx.Err() != nil || s.svc.Closing() {
			return
		}
		if len(frames) == 0 {
			frames = []service.Frame{{Type: "ping", Cursor: sub.Cursor()}}
		}
		if !send(frames) {
			return
		}
	}
}

func (s *Server) endStream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	end := s.streams[r.PathValue("stream")]
	s.mu.Unlock()
	if end == nil {
		fail(w, domain.Errorf(domain.CodeNotFound, "there is no stream %q", r.PathValue("stream")))
		return
	}
	end()
	write(w, nothing{}, nil)
}
