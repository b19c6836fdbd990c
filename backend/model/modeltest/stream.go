package modeltest

import (
	"net/http"
	"time"
)

// stream plays the pieces of an answer.
type stream struct {
	w      *writer
	r      *http.Request
	answer Answer
}

// play writes lines and reports false when the client left.
func (s *stream) play(lines []string, kind string) bool {
	if !s.wait(s.answer.Gate) {
		return false
	}
	whole := s.answer.End == EndWhole
	for i, l := range lines {
		if !whole && s.answer.After > 0 && i >= s.answer.After {
			break
		}
		if s.r.Context().Err() != nil {
			return false
		}
		s.w.line(kind, l)
		if i == 0 && !s.wait(s.answer.Hold) {
			return false
		}
		if s.answer.Pause > 0 && !s.sleep(s.answer.Pause) {
			return false
		}
	}
	if s.answer.End == EndCut && !s.w.started() {
		s.w.line(kind, "")
	}
	if s.answer.End == EndBreak {
		panic(http.ErrAbortHandler) // resets the connection
	}
	return s.r.Context().Err() == nil
}

func (s *stream) wait(gate <-chan struct{}) bool {
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-s.r.Context().Done():
		return false
	}
}

func (s *stream) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.r.Context().Done():
		return false
	}
}

// refuse answers with the script's HTTP error.
func (w *writer) refuse(a Answer) {
	switch {
	case a.Plain && a.Error == "":
		w.WriteHeader(a.Status)
	case a.Plain:
		w.text(a.Status, a.Error)
	case w.rec.Path == "/v1/chat/completions":
		w.failV1(a.Status, a.Error, "")
	default:
		w.fail(a.Status, a.Error)
	}
}
