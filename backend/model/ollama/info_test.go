package ollama

import (
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
)

func TestModels(t *testing.T) {
	srv, p := start(t, modeltest.Script{Models: []modeltest.Model{
		{Name: "worker:latest", ContextTokens: 40960, Size: 4 << 30},
		{Name: "reader:7b", Capabilities: []string{"completion", "vision"}, ContextTokens: 8192},
		{Name: "vectors:latest", Capabilities: []string{"embedding"}},
		{Name: "far:cloud", Remote: true},
	}})
	req := ask("warm it")
	req.Model.Name = "worker"
	mustNext(t, p, req, listen())
	got, err := p.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []domain.ModelInfo{
		{Provider: "ollama", Name: "worker:latest", Tools: true, Thinking: true, ContextTokens: 40960, Loaded: true, Size: 4 << 30},
		{Provider: "ollama", Name: "reader:7b", Vision: true, ContextTokens: 8192, Size: 1 << 30},
		{Provider: "ollama", Name: "far:cloud", Tools: true, Thinking: true, ContextTokens: 32768, Size: 1 << 30, Remote: true},
	}
	if a, b := asJSON(t, got), asJSON(t, want); a != b {
		t.Errorf("got  %s\nwant %s", a, b)
	}
	count := func() (n int) {
		for _, r := range srv.Requests() {
			if r.Path == "/api/show" {
				n++
			}
		}
		return n
	}
	before := count()
	if _, err := p.Models(t.Context()); err != nil || count() != before {
		t.Errorf("unchanged models were asked again: %d, %v", count()-before, err)
	}
}

// num_ctx is always stated, by the rule of Context.
func TestContextRule(t *testing.T) {
	tests := []struct {
		name  string
		model modeltest.Model
		asked int
		want  int
	}{
		{"small model", modeltest.Model{}, 0, 16384},
		{"large model", modeltest.Model{Size: 20 << 30}, 0, 8192},
		{"model with a small maximum", modeltest.Model{ContextTokens: 2048}, 0, 2048},
		{"smaller num_ctx in the Modelfile", modeltest.Model{NumCtx: 4096}, 0, 16384},
		{"larger num_ctx in the Modelfile", modeltest.Model{NumCtx: 24576}, 0, 24576},
		{"asked for", modeltest.Model{}, 20000, 20000},
		{"asked for too much", modeltest.Model{}, 100000, 32768},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.model.Name = "scripted:latest"
			srv, p := start(t, modeltest.Script{Models: []modeltest.Model{tt.model}})
			req := ask("go")
			req.Model.ContextTokens = tt.asked
			n, err := p.Context(t.Context(), req.Model)
			if err != nil || n != tt.want {
				t.Errorf("Context: %d, %v; want %d", n, err, tt.want)
			}
			mustNext(t, p, req, listen())
			if body := string(srv.Chats()[0].Body); !strings.Contains(body, asJSON(t, map[string]int{"num_ctx": tt.want})) {
				t.Errorf("body %s", body)
			}
		})
	}
}

func TestShowIsKept(t *testing.T) {
	srv, p := start(t, modeltest.Script{})
	for range 5 {
		mustNext(t, p, ask("go"), listen())
	}
	n := 0
	for _, r := range srv.Requests() {
		if r.Path == "/api/tags" || r.Path == "/api/show" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d questions about the model for 5 answers, want 2 (tags and show once)", n)
	}
}
