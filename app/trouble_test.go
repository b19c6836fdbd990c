package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"worksite/backend/domain"
)

func TestTroubleSaysWhyAndWhat(t *testing.T) {
	err := domain.Errorf(domain.CodeUnavailable, "no room <on> the disk").WithHint("make room")
	w := httptest.NewRecorder()
	Trouble(err).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	for _, want := range []string{"could not start", "no room &lt;on&gt; the disk", "make room"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(w.Body.String(), "<script") || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error("the page could run scripts")
	}
	if got := Words(err); got != "worksite-desktop: no room <on> the disk\n  make room" {
		t.Errorf("on a terminal: %q", got)
	}
}
