package ollama

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var offered = []domain.ToolSpec{
	{Name: "ls", Description: "List a folder.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
	{Name: "read", Description: "Read a file.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
}

// quickly is a configuration whose patience fits a test. No test depends on
// how long these are: what must be waited for is held by a channel.
func quickly(url string) Config {
	return Config{BaseURL: url, Patience: 4 * time.Millisecond, FirstByte: 12 * time.Millisecond, Reading: time.Millisecond, Stall: time.Hour}
}

func start(t *testing.T, script modeltest.Script) (*modeltest.Server, *Provider) {
	t.Helper()
	srv := modeltest.New(t, script)
	return srv, open(t, quickly(srv.URL))
}

func open(t *testing.T, cfg Config) *Provider {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func ask(text string) domain.ModelRequest {
	return domain.ModelRequest{
		Model: domain.ModelRef{Provider: Name, Name: "scripted"},
		Messages: []*domain.Message{
			{Role: domain.RoleSystem, Text: "You work."},
			{Role: domain.RoleUser, Text: text},
		},
	}
}

func withTools(r domain.ModelRequest) domain.ModelRequest { r.Tools = offered; return r }

// heard collects deltas; wait blocks until a status was heard.
type heard struct {
	mu       sync.Mutex
	text     strings.Builder
	thinking strings.Builder
	statuses []string
	first    chan struct{} // closed at the first text
	once     sync.Once
	status   map[string]chan struct{}
}

func listen() *heard {
	return &heard{first: make(chan struct{}), status: map[string]chan struct{}{}}
}

func (h *heard) emit(d domain.Delta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.WriteString(d.Text)
	h.thinking.WriteString(d.Thinking)
	if d.Text != "" {
		h.once.Do(func() { close(h.first) })
	}
	if d.Status != "" {
		h.statuses = append(h.statuses, d.Status)
		if h.status[d.Status] == nil {
			h.status[d.Status] = make(chan struct{})
		}
		select {
		case <-h.status[d.Status]:
		default:
			close(h.status[d.Status])
		}
	}
}

func (h *heard) on(status string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.status[status] == nil {
		h.status[status] = make(chan struct{})
	}
	return h.status[status]
}

// await fails the test when c does not close; the bound only ends a broken test.
func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain for %s", what)
	}
}

func failure(t *testing.T, err error, state domain.ModelState) *domain.ModelFailure {
	t.Helper()
	var f *domain.ModelFailure
	if !errors.As(err, &f) {
		t.Fatalf("got error %v, want a ModelFailure %s", err, state)
	}
	if f.State != state {
		t.Fatalf("got state %s (%s), want %s", f.State, f.Message, state)
	}
	if f.Message == "" {
		t.Errorf("state %s has no message", state)
	}
	return f
}

func mustNext(t *testing.T, p *Provider, req domain.ModelRequest, h *heard) domain.ModelAnswer {
	t.Helper()
	a, err := p.Next(t.Context(), req, h.emit)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// background runs Next and hands over its result.
func background(ctx context.Context, p *Provider, req domain.ModelRequest, h *heard) <-chan result {
	c := make(chan result, 1)
	go func() {
		a, err := p.Next(ctx, req, h.emit)
		c <- result{a, err}
	}()
	return c
}

type result struct {
	answer domain.ModelAnswer
	err    error
}
