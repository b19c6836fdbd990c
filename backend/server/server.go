package server

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"worksite/backend/domain"
	"worksite/backend/service"
)

// Config says which face is served.
type Config struct {
	// Window is true inside the desktop window, where no port is open and the
	// page's origin is the window's own.
	Window bool
	// Token guards the API in a browser; "" makes a fresh one.
	Token string
	// Page serves everything outside /api.
	Page http.Handler
}

// Server is the handler.
type Server struct {
	svc     *service.Service
	cfg     Config
	mux     *http.ServeMux
	mu      sync.Mutex
	streams map[string]func()
}

// New returns the handler over svc.
func New(svc *service.Service, cfg Config) *Server {
	if cfg.Token == "" {
		b := make([]byte, 24)
		if _, err := rand.Read(b); err != nil {
			panic("no system randomness: " + err.Error())
		}
		cfg.Token = hex.EncodeToString(b)
	}
	s := &Server{svc: svc, cfg: cfg, mux: http.NewServeMux(), streams: map[string]func(){}}
	s.routes()
	return s
}

// Token returns the secret a browser has to show.
func (s *Server) Token() string { return s.cfg.Token }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.cfg.Window && !localHost(r.Host) {
		http.Error(w, "This server answers on its loopback address only.", http.StatusMisdirectedRequest)
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		if s.cfg.Page == nil {
			http.NotFound(w, r)
			return
		}
		s.cfg.Page.ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if !s.cfg.Window {
		if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
			fail(w, domain.Errorf(domain.CodeForbidden, "requests of another page (%s) are refused", origin))
			return
		}
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(token), []byte(s.cfg.Token)) != 1 {
			fail(w, domain.Errorf(domain.CodeForbidden, "the token is missing or wrong").
				WithHint("Open the address that `worksite serve` printed, with its token."))
			return
		}
	}
	s.mux.ServeHTTP(w, r)
}

// localHost refuses names that a page could have pointed at this machine.
func localHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && u.Host == host
}

func (s *Server) routes() {
	m := s.mux
	m.HandleFunc("GET /api/bootstrap", s.bootstrap)
	m.HandleFunc("GET /api/stream", s.stream)
	m.HandleFunc("DELETE /api/stream/{stream}", s.endStream)

	m.HandleFunc("GET /api/sessions", s.listSessions)
	m.HandleFunc("POST /api/sessions", s.createSession)
	m.HandleFunc("GET /api/sessions/{id}", s.getSession)
	m.HandleFunc("PATCH /api/sessions/{id}", s.patchSession)
	m.HandleFunc("DELETE /api/sessions/{id}", s.deleteSession)
	m.HandleFunc("GET /api/sessions/{id}/events", s.events)
	m.HandleFunc("GET /api/sessions/{id}/export", s.export)
	m.HandleFunc("POST /api/sessions/{id}/messages", s.send)
	m.HandleFunc("DELETE /api/sessions/{id}/queue/{message}", s.unqueue)
	m.HandleFunc("POST /api/sessions/{id}/attachments", s.attach)
	m.HandleFunc("POST /api/sessions/{id}/attachments/paths", s.attachPaths)
	m.HandleFunc("POST /api/sessions/{id}/cancel", s.cancel)
	m.HandleFunc("POST /api/sessions/{id}/continue", s.resume)
	m.HandleFunc("POST /api/sessions/{id}/retry", s.retry)
	m.HandleFunc("POST /api/sessions/{id}/calls/{call}/resolve", s.resolve)
	m.HandleFunc("POST /api/sessions/{id}/consent", s.consent)
	m.HandleFunc("POST /api/sessions/{id}/leaf", s.moveLeaf)
	m.HandleFunc("GET /api/approvals", s.approvals)
	m.HandleFunc("POST /api/approvals/{id}", s.answer)

	m.HandleFunc("GET /api/sessions/{id}/changes", s.changes)
	m.HandleFunc("POST /api/sessions/{id}/changes/accept", s.accept)
	m.HandleFunc("POST /api/sessions/{id}/changes/reject", s.reject)
	m.HandleFunc("POST /api/sessions/{id}/changes/commit", s.commit)
	m.HandleFunc("POST /api/sessions/{id}/restore", s.restore)

	m.HandleFunc("GET /api/workspaces", s.listWorkspaces)
	m.HandleFunc("POST /api/workspaces", s.addWorkspace)
	m.HandleFunc("POST /api/workspaces/task", s.newTask)
	m.HandleFunc("POST /api/workspaces/{id}/trust", s.trust)
	m.HandleFunc("POST /api/workspaces/{id}/relink", s.relink)
	m.HandleFunc("DELETE /api/workspaces/{id}", s.forget)

	m.HandleFunc("GET /api/artifacts", s.listArtifacts)
	m.HandleFunc("POST /api/sessions/{id}/artifacts", s.promote)
	m.HandleFunc("GET /api/artifacts/{id}/{rev}/content", s.artifactContent)
	m.HandleFunc("POST /api/artifacts/{id}/{rev}/{act}", s.actOnArtifact)
	m.HandleFunc("GET /api/blobs/{hash}", s.blob)

	m.HandleFunc("GET /api/models", s.models)
	m.HandleFunc("POST /api/models/choose", s.chooseModel)
	m.HandleFunc("GET /api/settings", s.settings)
	m.HandleFunc("PUT /api/settings", s.saveSettings)
	m.HandleFunc("GET /api/doctor", s.doctor)
	m.HandleFunc("GET /api/search", s.search)
	m.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, domain.Errorf(domain.CodeNotFound, "there is no call %s %s", r.Method, r.URL.Path))
	})
}
