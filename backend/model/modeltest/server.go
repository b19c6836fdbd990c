package modeltest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// TB is the part of testing.TB that is used.
type TB interface {
	Helper()
	Cleanup(func())
}

// Server is a running model server on a loopback port.
type Server struct {
	URL string

	script  Script
	http    *httptest.Server
	mu      sync.Mutex
	records []*Request
	runners map[string]*runner // by weights
	unloads int
}

// New starts a server. It is closed at the end of t, or by Close when t is nil.
func New(t TB, script Script) *Server {
	script.fill()
	s := &Server{script: script, runners: map[string]*runner{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	if t != nil {
		t.Helper()
		t.Cleanup(s.Close)
	}
	return s
}

// Close drops every connection and stops the server. It may be called twice.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests returns what was received so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.records))
	for i, r := range s.records {
		out[i] = *r
	}
	return out
}

// Chats returns the requests that asked for an answer.
func (s *Server) Chats() []Request {
	var out []Request
	for _, r := range s.Requests() {
		if r.Messages > 0 {
			out = append(out, r)
		}
	}
	return out
}

// Unloads returns how often a model was asked to be unloaded.
func (s *Server) Unloads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unloads
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, _ := io.ReadAll(r.Body)
	rec := &Request{
		Method: r.Method, Path: r.URL.Path, Size: len(body), At: at,
		Authorized: r.Header.Get("Authorization"),
	}
	if !s.script.DropBodies {
		rec.Body = body
	}
	var head struct {
		Model    string `json:"model"`
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(body, &head)
	rec.Model, rec.Messages = head.Model, len(head.Messages)
	for _, m := range head.Messages {
		if m.Role == "assistant" {
			rec.Assistants++
		}
	}
	s.mu.Lock()
	s.records = append(s.records, rec)
	s.mu.Unlock()

	out := &writer{ResponseWriter: w, server: s, rec: rec}
	defer func() {
		s.mu.Lock()
		rec.EndedAt, rec.Left = time.Now(), r.Context().Err() != nil
		s.mu.Unlock()
	}()
	s.route(out, r, rec, body)
}

func (s *Server) route(w *writer, r *http.Request, rec *Request, body []byte) {
	type route struct {
		method string
		serve  func()
	}
	routes := map[string]route{
		"/":                    {http.MethodGet, func() { w.text(http.StatusOK, "Ollama is running") }},
		"/api/version":         {http.MethodGet, func() { w.json(http.StatusOK, map[string]string{"version": "0.17.4"}) }},
		"/api/tags":            {http.MethodGet, func() { s.tags(w) }},
		"/api/ps":              {http.MethodGet, func() { s.ps(w) }},
		"/api/show":            {http.MethodPost, func() { s.show(w, body) }},
		"/api/chat":            {http.MethodPost, func() { s.chat(w, r, rec, body) }},
		"/api/generate":        {http.MethodPost, func() { s.generate(w, body) }},
		"/v1/models":           {http.MethodGet, func() { s.v1Models(w, r) }},
		"/v1/chat/completions": {http.MethodPost, func() { s.v1Chat(w, r, rec, body) }},
	}
	to, ok := routes[r.URL.Path]
	switch {
	case !ok:
		w.text(http.StatusNotFound, "404 page not found")
	case r.Method != to.method && (r.Method != http.MethodHead || to.method != http.MethodGet):
		w.text(http.StatusMethodNotAllowed, "405 method not allowed")
	default:
		to.serve()
	}
}

// model finds a model by name; ":latest" may be left out.
func (s *Server) model(name string) (Model, bool) {
	for _, m := range s.script.Models {
		if strings.TrimSuffix(m.Name, ":latest") == strings.TrimSuffix(name, ":latest") {
			return m, true
		}
	}
	return Model{}, false
}

// writer notes the first byte and flushes every piece.
type writer struct {
	http.ResponseWriter
	server *Server
	rec    *Request
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	w.server.mu.Lock()
	w.rec.Status, w.rec.FirstAt = status, time.Now()
	w.server.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) text(status int, s string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, s)
}

func (w *writer) json(status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// line writes one piece of a stream, starting the answer with kind if need be.
func (w *writer) line(kind, s string) {
	if w.started() {
		_, _ = io.WriteString(w, s)
	} else {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, s)
	}
	w.ResponseWriter.(http.Flusher).Flush()
}

func (w *writer) started() bool {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	return w.rec.Status != 0
}

// encode is JSON as the real servers write it.
func encode(v any) string {
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(v)
	return strings.TrimSuffix(b.String(), "\n")
}
