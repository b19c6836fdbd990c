package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/backend/server"
	"worksite/backend/service"
)

type site struct {
	t   *testing.T
	svc *service.Service
	h   *server.Server
	ts  *httptest.Server
}

func newSite(t *testing.T, window bool) *site {
	t.Helper()
	svc, err := service.Open(t.Context(), service.Config{DataDir: t.TempDir(), PracticePause: -1})
	if err != nil {
		t.Fatal(err)
	}
	h := server.New(svc, server.Config{Window: window, Page: http.NotFoundHandler()})
	s := &site{t: t, svc: svc, h: h, ts: httptest.NewServer(h)}
	t.Cleanup(func() {
		s.ts.Close()
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reply is an answer whose body the test's cleanup closes.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

func (s *site) request(method, path string, body io.Reader, edit func(*http.Request)) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.ts.URL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.h.Token())
	if edit != nil {
		edit(req)
	}
	resp, err := s.ts.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return reply{resp.StatusCode, resp.Header, resp.Body}
}

// do sends v as JSON and decodes the answer into out; it returns the status.
func (s *site) do(method, path string, v, out any) int {
	s.t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	resp := s.request(method, path, bytes.NewReader(b), nil)
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			s.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return resp.StatusCode
}

func (s *site) session() service.SessionView {
	s.t.Helper()
	var w service.WorkspaceView
	if code := s.do("POST", "/api/workspaces", map[string]any{"sample": true}, &w); code != 200 {
		s.t.Fatalf("sample: %d", code)
	}
	var v service.SessionView
	if code := s.do("POST", "/api/sessions", service.NewSession{Workspace: w.ID, Model: &domain.ModelRef{Provider: "practice", Name: "sample"}, Mode: domain.ModeAuto}, &v); code != 200 {
		s.t.Fatalf("session: %d", code)
	}
	return v
}

// Only this machine's page with its token gets an answer.
func TestWhoMayAsk(t *testing.T) {
	s := newSite(t, false)
	host := strings.TrimPrefix(s.ts.URL, "http://")
	for _, c := range []struct {
		name string
		edit func(*http.Request)
		want int
	}{
		{"the page", nil, 200},
		{"its origin", func(r *http.Request) { r.Header.Set("Origin", "http://"+host) }, 200},
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, 403},
		{"wrong token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer nonsense") }, 403},
		{"another page", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		{"a page of another port", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		{"null origin", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"a rebound name", func(r *http.Request) { r.Host = "evil.example" }, 421},
		{"a name that looks local", func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }, 421},
		{"localhost", func(r *http.Request) { r.Host = "localhost:1" }, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := s.request("GET", "/api/settings", nil, c.edit).StatusCode; got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
		})
	}
}

// Errors are JSON with code, message and hint, and nothing is done half.
func TestErrors(t *testing.T) {
	s := newSite(t, false)
	for _, c := range []struct {
		method, path, body string
		want               int
		code               domain.Code
	}{
		{"GET", "/api/nothing", "", 404, domain.CodeNotFound},
		{"GET", "/api/sessions/ses_none", "", 404, domain.CodeNotFound},
		{"POST", "/api/sessions", "{", 400, domain.CodeInvalid},
		{"POST", "/api/sessions", `{"unheard":1}`, 400, domain.CodeInvalid},
		{"POST", "/api/sessions/ses_none/messages", `{"text":"x"}`, 404, domain.CodeNotFound},
		{"GET", "/api/sessions/ses_none/events?after=-1", "", 400, domain.CodeInvalid},
		{"GET", "/api/stream?cursor=x", "", 400, domain.CodeInvalid},
		{"DELETE", "/api/stream/none", "", 404, domain.CodeNotFound},
		{"POST", "/api/approvals/apr_none", `{"decision":"grant"}`, 409, domain.CodeConflict},
		{"GET", "/api/blobs/xyz", "", 400, domain.CodeInvalid},
		{"POST", "/api/artifacts/art_1/0/save", `{"path":"/etc/x"}`, 403, domain.CodeForbidden},
		{"POST", "/api/sessions/ses_none/attachments/paths", `{"paths":["/etc/passwd"]}`, 403, domain.CodeForbidden},
		{"POST", "/api/workspaces", `{"path":"/"}`, 0, ""},
	} {
		resp := s.request(c.method, c.path, strings.NewReader(c.body), nil)
		var e domain.Error
		if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
			t.Errorf("%s %s: %v", c.method, c.path, err)
			continue
		}
		if c.want != 0 && (resp.StatusCode != c.want || e.Code != c.code) || e.Message == "" || resp.StatusCode < 400 {
			t.Errorf("%s %s: %d %+v", c.method, c.path, resp.StatusCode, e)
		}
	}
}

// R121, R158: the stream delivers the run, a long poll continues from a cursor,
// and a stream is ended by name.
func TestStream(t *testing.T) {
	s := newSite(t, true)
	v := s.session()
	var boot service.Bootstrap
	if code := s.do("GET", "/api/bootstrap", nil, &boot); code != 200 || boot.Face != "window" || len(boot.Sessions) != 1 {
		t.Fatalf("bootstrap %d %+v", code, boot)
	}
	resp := s.request("GET", "/api/stream?cursor=0&id=page1", nil, nil)
	var receipt service.Receipt
	if code := s.do("POST", "/api/sessions/"+string(v.ID)+"/messages", service.NewMessage{Text: "what can you do?"}, &receipt); code != 200 || !receipt.Durable {
		t.Fatalf("send %d %+v", code, receipt)
	}
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<20)
	var seq, cursor int64
	for in.Scan() {
		var f service.Frame
		if err := json.Unmarshal(in.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		if f.Event == nil {
			continue
		}
		if seq++; f.Event.Seq != seq {
			t.Fatalf("seq %d, want %d", f.Event.Seq, seq)
		}
		cursor = f.Event.Pos
		if f.Event.Kind == (domain.RunFinished{}).Kind() {
			break
		}
	}
	if code := s.do("DELETE", "/api/stream/page1", nil, nil); code != 200 {
		t.Fatalf("end the stream: %d", code)
	}
	if in.Scan() && in.Err() == nil {
		for in.Scan() { // what was under way
		}
	}
	if err := in.Err(); err != nil {
		t.Fatalf("the stream broke instead of ending: %v", err)
	}
	title := "renamed"
	if code := s.do("PATCH", "/api/sessions/"+string(v.ID), service.SessionPatch{Title: &title}, nil); code != 200 {
		t.Fatalf("rename: %d", code)
	}
	poll := s.request("GET", "/api/stream?wait=20&cursor="+jsonNumber(cursor), nil, nil)
	b, err := io.ReadAll(poll.Body)
	if err != nil || !strings.Contains(string(b), `"session.renamed"`) {
		t.Fatalf("long poll: %q, %v", b, err)
	}
}

func jsonNumber(n int64) string { b, _ := json.Marshal(n); return string(b) }

// R161: files come in by their bytes under any name, and are never replaced.
func TestAttachments(t *testing.T) {
	s := newSite(t, false)
	v := s.session()
	seen := map[string]bool{}
	for _, name := range []string{"a b.csv", "a b.csv", "ünï 100%.txt", "日本.md", "../../etc/passwd", ".."} {
		resp := s.request("POST", "/api/sessions/"+string(v.ID)+"/attachments?name="+url.QueryEscape(name), strings.NewReader("x,y\n"), nil)
		var a domain.Attachment
		if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 200 {
			if name != ".." && !strings.Contains(name, "/") {
				t.Errorf("%q: %d", name, resp.StatusCode)
			}
			continue
		}
		if seen[a.Path] || strings.Contains(a.Path, "..") || a.Size != 4 || a.SHA256 != domain.HashBytes([]byte("x,y\n")) {
			t.Errorf("%q became %+v", name, a)
		}
		seen[a.Path] = true
	}
}

// Whatever a stored file says it is, a browser gets it as a download in a sandbox.
func TestContentIsNeverAPage(t *testing.T) {
	s := newSite(t, false)
	v := s.session()
	resp := s.request("POST", "/api/sessions/"+string(v.ID)+"/attachments?name=evil.html", strings.NewReader("<script>alert(1)</script>"), nil)
	var a domain.Attachment
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	var art service.ArtifactView
	if code := s.do("POST", "/api/sessions/"+string(v.ID)+"/artifacts", map[string]string{"path": a.Path}, &art); code != 200 {
		t.Fatalf("promote: %d", code)
	}
	resp = s.request("GET", "/api/artifacts/"+string(art.Ref.ID)+"/0/content", nil, nil)
	h := resp.Header
	if !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", h)
	}
}

// A page that goes away leaves nothing behind.
func TestStreamEndsWithItsReader(t *testing.T) {
	s := newSite(t, false)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.ts.URL+"/api/stream?cursor=0&id=x", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.h.Token())
	resp, err := s.ts.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for s.do("DELETE", "/api/stream/x", nil, nil) == 200 {
		if ctx.Err() != nil {
			t.Fatal("the handler did not end")
		}
	}
}
