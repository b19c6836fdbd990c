package server

import (
	"net/http"

	"worksite/backend/domain"
	"worksite/backend/service"
)

const (
	eventsDefault = 500
	eventsMost    = 2000
	uploadMost    = 256 << 20 // bytes of one dropped file
)

func session(r *http.Request) domain.SessionID { return domain.SessionID(r.PathValue("id")) }

func (s *Server) face() string {
	if s.cfg.Window {
		return "window"
	}
	return "browser"
}

func (s *Server) bootstrap(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Bootstrap(r.Context(), s.face())
	write(w, v, err)
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Sessions(r.Context(), r.FormValue("archived") == "1")
	write(w, v, err)
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) {
	if req, ok := read[service.NewSession](w, r); ok {
		v, err := s.svc.CreateSession(r.Context(), req)
		write(w, v, err)
	}
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Session(r.Context(), session(r))
	write(w, v, err)
}

func (s *Server) patchSession(w http.ResponseWriter, r *http.Request) {
	if req, ok := read[service.SessionPatch](w, r); ok {
		v, err := s.svc.UpdateSession(r.Context(), session(r), req)
		write(w, v, err)
	}
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) {
	write(w, nothing{}, s.svc.DeleteSession(r.Context(), session(r)))
}

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	limit, err := number(r, "limit", eventsDefault)
	if err != nil {
		fail(w, err)
		return
	}
	limit = min(max(limit, 1), eventsMost)
	if r.FormValue("before") != "" {
		before, err := number(r, "before", 0)
		if err != nil {
			fail(w, err)
			return
		}
		v, err := s.svc.EventsBefore(r.Context(), session(r), before, int(limit))
		write(w, v, err)
		return
	}
	after, err := number(r, "after", 0)
	if err != nil {
		fail(w, err)
		return
	}
	v, err := s.svc.Events(r.Context(), session(r), domain.Span{After: after, Limit: int(limit)})
	write(w, v, err)
}

func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	if _, err := s.svc.Session(r.Context(), session(r)); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Disposition", `attachment; filename="session.ndjson"`)
	if err := s.svc.Export(r.Context(), session(r), w); err != nil {
		panic(http.ErrAbortHandler) // half an export must not look whole
	}
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	if req, ok := read[service.NewMessage](w, r); ok {
		v, err := s.svc.Send(r.Context(), session(r), req)
		write(w, v, err)
	}
}

func (s *Server) unqueue(w http.ResponseWriter, r *http.Request) {
	write(w, nothing{}, s.svc.Unqueue(r.Context(), session(r), domain.MessageID(r.PathValue("message"))))
}

func (s *Server) attach(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Attach(r.Context(), session(r), r.FormValue("name"), http.MaxBytesReader(w, r.Body, uploadMost))
	write(w, v, err)
}

func (s *Server) attachPaths(w http.ResponseWriter, r *http.Request) {
	if !s.cfg.Window {
		fail(w, domain.Errorf(domain.CodeForbidden, "paths of this machine are taken from the window only").WithHint("Drop or upload the files themselves."))
		return
	}
	req, ok := read[struct {
		Paths []string `json:"paths"`
	}](w, r)
	if !ok {
		return
	}
	v, err := s.svc.AttachPaths(r.Context(), session(r), req.Paths)
	write(w, v, err)
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	write(w, nothing{}, s.svc.Cancel(r.Context(), session(r)))
}

func (s *Server) resume(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Continue(r.Context(), session(r))
	write(w, v, err)
}

func (s *Server) retry(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Retry(r.Context(), session(r))
	write(w, v, err)
}

func (s *Server) resolve(w http.ResponseWriter, r *http.Request) {
	req, ok := read[struct {
		Resolution string `json:"resolution"`
		Note       string `json:"note"`
	}](w, r)
	if ok {
		write(w, nothing{}, s.svc.Resolve(r.Context(), session(r), domain.CallID(r.PathValue("call")), req.Resolution, req.Note))
	}
}

func (s *Server) consent(w http.ResponseWriter, r *http.Request) {
	req, ok := read[struct {
		Consent bool `json:"consent"`
	}](w, r)
	if ok {
		write(w, nothing{}, s.svc.Consent(r.Context(), session(r), req.Consent))
	}
}

func (s *Server) moveLeaf(w http.ResponseWriter, r *http.Request) {
	req, ok := read[struct {
		To domain.EventID `json:"to"`
	}](w, r)
	if ok {
		write(w, nothing{}, s.svc.MoveLeaf(r.Context(), session(r), req.To))
	}
}

func (s *Server) approvals(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Approvals(r.Context())
	write(w, v, err)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if req, ok := read[service.ApprovalAnswer](w, r); ok {
		write(w, nothing{}, s.svc.Answer(r.Context(), domain.ApprovalID(r.PathValue("id")), req))
	}
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Search(r.Context(), r.FormValue("q"))
	write(w, v, err)
}
