package frontend

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func TestHandler(t *testing.T) {
	built := fstest.MapFS{
		"index.html":         {Data: []byte("<!doctype html><title>page</title>")},
		"assets/app-1a2b.js": {Data: []byte("console.log(1)")},
		"favicon.svg":        {Data: []byte("<svg/>")},
	}
	for _, c := range []struct {
		name, method, path string
		assets             fstest.MapFS
		status             int
		contentType, cache string
	}{
		{"the page", "GET", "/", built, 200, "text/html", "no-store"},
		{"the page by name", "GET", "/index.html", built, 200, "text/html", "no-store"},
		{"a place within the page", "GET", "/sessions/ses_01", built, 200, "text/html", "no-store"},
		{"a hashed asset", "GET", "/assets/app-1a2b.js", built, 200, "text/javascript", "public, max-age=31536000, immutable"},
		{"another asset", "GET", "/favicon.svg", built, 200, "image/svg+xml", ""},
		{"a missing asset", "GET", "/assets/gone.js", built, 404, "text/plain", ""},
		{"climbing out", "GET", "/../embed.go", built, 404, "text/plain", ""},
		{"a write", "POST", "/", built, 405, "text/plain", ""},
		{"only the head", "HEAD", "/", built, 200, "text/html", "no-store"},
		{"not built", "GET", "/", fstest.MapFS{}, 503, "text/html", "no-store"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(c.method, "http://worksite.invalid/", nil)
			r.URL.Path = c.path
			handler(c.assets).ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
			if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, c.contentType) {
				t.Errorf("content type %q, want %q", got, c.contentType)
			}
			if got := w.Header().Get("Cache-Control"); got != c.cache {
				t.Errorf("cache control %q, want %q", got, c.cache)
			}
			if got := w.Header().Get("Content-Security-Policy"); got != Policy {
				t.Errorf("policy %q", got)
			}
		})
	}
}

func TestPolicyAllowsNothingRemote(t *testing.T) {
	for _, part := range []string{"*", "http", "ws:", "wss:", "'unsafe-"} {
		if strings.Contains(Policy, part) {
			t.Errorf("the policy contains %q", part)
		}
	}
	if !strings.HasPrefix(Policy, "default-src 'none';") {
		t.Error("the policy does not start by denying everything")
	}
}
