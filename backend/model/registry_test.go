package model

import (
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nowhere is an address on which nothing listens.
func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func open(t *testing.T, cfg Config) *Registry {
	t.Helper()
	r := New(cfg)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func state(t *testing.T, r *Registry, name string) State {
	t.Helper()
	for _, s := range r.Providers(t.Context()) {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no provider %s", name)
	return State{}
}

// The first start works with whatever is there.
func TestPick(t *testing.T) {
	tools, plain := []string{"completion", "tools"}, []string{"completion"}
	tests := []struct {
		name   string
		models []modeltest.Model // nil: no server
		load   string            // a model to load first
		want   domain.ModelRef
		state  domain.ModelState
	}{
		{"no server", nil, "", domain.ModelRef{Provider: "practice", Name: "sample"}, domain.ModelDown},
		{"no model with tools", []modeltest.Model{{Name: "a", Capabilities: plain}}, "", domain.ModelRef{Provider: "practice", Name: "sample"}, domain.ModelNoTools},
		{"only an embedding model", []modeltest.Model{{Name: "a", Capabilities: []string{"embedding"}}}, "", domain.ModelRef{Provider: "practice", Name: "sample"}, domain.ModelMissing},
		{"only a model that runs elsewhere", []modeltest.Model{{Name: "a", Capabilities: tools, Remote: true}}, "", domain.ModelRef{Provider: "practice", Name: "sample"}, ""},
		{"the newest with tools", []modeltest.Model{{Name: "a", Capabilities: plain}, {Name: "b", Capabilities: tools}, {Name: "c", Capabilities: tools}}, "", domain.ModelRef{Provider: "ollama", Name: "b"}, ""},
		{"the loaded one with tools", []modeltest.Model{{Name: "b", Capabilities: tools}, {Name: "c", Capabilities: tools}}, "c", domain.ModelRef{Provider: "ollama", Name: "c"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{OllamaURL: nowhere(t)}
			if tt.models != nil {
				cfg.OllamaURL = modeltest.New(t, modeltest.Script{Models: tt.models}).URL
			}
			r := open(t, cfg)
			if tt.load != "" {
				ask(t, r, domain.ModelRef{Provider: "ollama", Name: tt.load})
			}
			got, err := r.Pick(t.Context())
			if err != nil || got != tt.want {
				t.Errorf("picked %+v, %v; want %+v", got, err, tt.want)
			}
			if s := state(t, r, "ollama"); s.State != tt.state || (tt.state != "" && (s.Message == "" || s.Hint == "")) {
				t.Errorf("state %+v, want %q with its remedy", s, tt.state)
			}
		})
	}
}

func ask(t *testing.T, r *Registry, ref domain.ModelRef) domain.ModelAnswer {
	t.Helper()
	a, err := r.Next(t.Context(), domain.ModelRequest{Model: ref, Messages: []*domain.Message{{Role: domain.RoleUser, Text: "hello"}}}, func(domain.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// R166: the provider is chosen by the request, so a session can switch in its middle.
func TestDispatch(t *testing.T) {
	srv := modeltest.New(t, modeltest.Script{Answers: []modeltest.Answer{{Text: "hi"}}})
	r := open(t, Config{OllamaURL: srv.URL, OpenAIURL: srv.URL + "/v1"})
	for _, ref := range []domain.ModelRef{{Provider: "ollama", Name: "scripted"}, {Provider: "openai", Name: "scripted"}} {
		if a := ask(t, r, ref); a.Text != "hi" || a.Recorded {
			t.Errorf("%s: %+v", ref.Provider, a)
		}
		if n, err := r.Context(t.Context(), ref); err != nil || n == 0 {
			t.Errorf("%s: %d, %v", ref.Provider, n, err)
		}
	}
	if a := ask(t, r, domain.ModelRef{Provider: "practice", Name: "sample"}); !a.Recorded {
		t.Errorf("practice: %+v", a)
	}
	paths := []string{}
	for _, c := range srv.Chats() {
		paths = append(paths, c.Path)
	}
	if got := strings.Join(paths, " "); got != "/api/chat /v1/chat/completions" {
		t.Errorf("asked %s", got)
	}
	_, err := r.Next(t.Context(), domain.ModelRequest{Model: domain.ModelRef{Provider: "oracle"}}, nil)
	var f *domain.ModelFailure
	if !errors.As(err, &f) || !strings.Contains(f.Hint, "ollama, openai, practice") {
		t.Errorf("unknown provider: %v", err)
	}
}

// A conversation with calls of one provider is understood by the next one.
// R166
func TestSwitchInMidSession(t *testing.T) {
	srv := modeltest.New(t, modeltest.Script{Answers: []modeltest.Answer{
		{Calls: []modeltest.Call{{Name: "ls", Arguments: `{"path":"."}`}}}, {Calls: []modeltest.Call{{Name: "ls", Arguments: `{"path":"a"}`}}}, {Text: "end"},
	}})
	r := open(t, Config{OllamaURL: srv.URL, OpenAIURL: srv.URL + "/v1"})
	messages := []*domain.Message{{Role: domain.RoleUser, Text: "go"}}
	tools := []domain.ToolSpec{{Name: "ls", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	for i, provider := range []string{"ollama", "openai", "ollama", "openai"} {
		a, err := r.Next(t.Context(), domain.ModelRequest{Model: domain.ModelRef{Provider: provider, Name: "scripted"}, Messages: messages, Tools: tools}, func(domain.Delta) {})
		if err != nil {
			t.Fatalf("request %d (%s): %v", i+1, provider, err)
		}
		m := &domain.Message{Role: domain.RoleAssistant, Text: a.Text, ToolCalls: a.ToolCalls}
		messages = append(messages, m)
		for k := range m.ToolCalls {
			m.ToolCalls[k].CallID = domain.NewCallID()
			messages = append(messages, &domain.Message{Role: domain.RoleTool, Text: "a", ToolName: "ls", CallID: m.ToolCalls[k].CallID, WireID: m.ToolCalls[k].WireID})
		}
	}
}

func TestModelsAndStates(t *testing.T) {
	srv := modeltest.New(t, modeltest.Script{})
	r := open(t, Config{OllamaURL: srv.URL})
	models, err := r.Models(t.Context())
	if err != nil || len(models) != 2 || models[0].Provider != "ollama" || models[1].Provider != "practice" || !models[1].Recorded {
		t.Errorf("%+v, %v", models, err)
	}
	if s := state(t, r, "openai"); s.State != domain.ModelDown || !strings.Contains(s.Message, "set up") {
		t.Errorf("openai, not set up: %+v", s)
	}
	if s := state(t, r, "practice"); s.State != "" {
		t.Errorf("practice: %+v", s)
	}
	wrong := open(t, Config{OllamaURL: "ftp://x", OpenAIURL: "nonsense"})
	for _, name := range []string{"ollama", "openai"} {
		if s := state(t, wrong, name); s.State != domain.ModelError || s.Hint == "" {
			t.Errorf("wrong address: %+v", s)
		}
	}
	if got, err := wrong.Pick(t.Context()); err != nil || got.Provider != "practice" {
		t.Errorf("with wrong addresses: %+v, %v", got, err)
	}
}

// A server that takes connections and says nothing does not hang the list.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := open(t, Config{OllamaURL: "http://" + l.Addr().String()})
	models, states := r.Look(t.Context())
	if len(models) != 1 || states[0].State != domain.ModelDown || !strings.Contains(states[0].Message, "does not answer") {
		t.Errorf("%+v, %+v", models, states)
	}
}
