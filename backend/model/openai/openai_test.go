package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var offered = []domain.ToolSpec{{Name: "ls", Description: "List a folder.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`)}}

func start(t *testing.T, script modeltest.Script) (*modeltest.Server, *Provider) {
	t.Helper()
	srv := modeltest.New(t, script)
	return srv, open(t, Config{BaseURL: srv.URL + "/v1", KeyEnv: "WORKSITE_TEST_KEY"})
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
		Model:    domain.ModelRef{Provider: Name, Name: "scripted"},
		Messages: []*domain.Message{{Role: domain.RoleUser, Text: text}},
		Tools:    offered,
	}
}

func failure(t *testing.T, err error, state domain.ModelState) *domain.ModelFailure {
	t.Helper()
	var f *domain.ModelFailure
	if !errors.As(err, &f) || f.State != state {
		t.Fatalf("got error %v, want a ModelFailure %s", err, state)
	}
	return f
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// R166
func TestAnswers(t *testing.T) {
	event := func(s string) string { return "data: " + s + "\n\n" }
	tests := []struct {
		name   string
		answer modeltest.Answer
		want   domain.ModelAnswer
	}{
		{"text", modeltest.Answer{Text: "naïve 🙂 garden", Piece: 3}, domain.ModelAnswer{Text: "naïve 🙂 garden", Finish: domain.FinishStop}},
		{"reasoning", modeltest.Answer{Thinking: "hm, so", Text: "yes", Piece: 2}, domain.ModelAnswer{Text: "yes", Thinking: "hm, so", Finish: domain.FinishStop}},
		{"length", modeltest.Answer{Text: "cut", Reason: "length"}, domain.ModelAnswer{Text: "cut", Finish: domain.FinishLength}},
		{"no finish reason, but [DONE]", modeltest.Answer{Text: "whole", Reason: "-"}, domain.ModelAnswer{Text: "whole", Finish: domain.FinishStop}},
		{
			"parallel calls in fragments",
			modeltest.Answer{Piece: 3, Calls: []modeltest.Call{
				{ID: "a", Name: "ls", Arguments: `{"path":"one"}`}, {ID: "b", Name: "ls", Arguments: `{"path":"two","n":12345678901234567890}`},
			}},
			domain.ModelAnswer{Finish: domain.FinishTools, ToolCalls: []domain.RequestedCall{
				{WireID: "a", Name: "ls", Arguments: `{"path":"one"}`}, {WireID: "b", Name: "ls", Arguments: `{"path":"two","n":12345678901234567890}`},
			}},
		},
		{
			"malformed arguments are kept as received",
			modeltest.Answer{Calls: []modeltest.Call{{ID: "a", Name: "ls", Arguments: `{"path": "x`}}},
			domain.ModelAnswer{Finish: domain.FinishTools, ToolCalls: []domain.RequestedCall{{WireID: "a", Name: "ls", Arguments: `{"path": "x`}}},
		},
		{
			"no arguments",
			modeltest.Answer{Calls: []modeltest.Call{{ID: "a", Name: "ls"}}},
			domain.ModelAnswer{Finish: domain.FinishTools, ToolCalls: []domain.RequestedCall{{WireID: "a", Name: "ls", Arguments: "{}"}}},
		},
		{
			"whole calls without an index",
			modeltest.Answer{Lines: []string{
				event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":null}]}`),
				event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"b","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]},"finish_reason":null}]}`),
				event(`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`), event(`[DONE]`),
			}},
			domain.ModelAnswer{Finish: domain.FinishTools, ToolCalls: []domain.RequestedCall{
				{WireID: "a", Name: "ls", Arguments: `{}`}, {WireID: "b", Name: "ls", Arguments: `{"path":"."}`},
			}},
		},
		{
			"finish reason without [DONE], comments and carriage returns between",
			modeltest.Answer{Lines: []string{
				": ping\n\n", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\r\n\r\n",
			}},
			domain.ModelAnswer{Text: "x", Finish: domain.FinishStop},
		},
		{
			"a call as text",
			modeltest.Answer{Text: `<tool_call>{"name":"ls","arguments":{"path":"."}}</tool_call>`},
			domain.ModelAnswer{Finish: domain.FinishTools, ToolCalls: []domain.RequestedCall{{Name: "ls", Arguments: `{"path":"."}`}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, p := start(t, modeltest.Script{Answers: []modeltest.Answer{tt.answer}})
			var text, thinking strings.Builder
			got, err := p.Next(t.Context(), ask("go"), func(d domain.Delta) { text.WriteString(d.Text); thinking.WriteString(d.Thinking) })
			if err != nil {
				t.Fatal(err)
			}
			if tt.answer.Lines == nil {
				if got.Usage.InputTokens == 0 || got.Usage.OutputTokens == 0 || got.Usage.CachedTokens == 0 {
					t.Errorf("usage %+v", got.Usage)
				}
				if text.String() != tt.answer.Text || thinking.String() != tt.answer.Thinking {
					t.Errorf("streamed %q, %q", text.String(), thinking.String())
				}
			}
			got.Usage = domain.Usage{}
			if a, b := asJSON(t, got), asJSON(t, tt.want); a != b {
				t.Errorf("got  %s\nwant %s", a, b)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name          string
		answer        modeltest.Answer
		state         domain.ModelState
		retryable     bool
		message, hint string
		partial       string
	}{
		{"cut without [DONE] and finish reason", modeltest.Answer{Text: "half of", Piece: 4, End: modeltest.EndCut, After: 2}, domain.ModelCutOff, true, "finish reason", "Ask", "half"},
		{"connection breaks", modeltest.Answer{Text: "half of", Piece: 4, End: modeltest.EndBreak, After: 2}, domain.ModelCutOff, true, "broke", "", "half"},
		{"error in the stream", modeltest.Answer{Text: "half", End: modeltest.EndError, Error: "out of memory"}, domain.ModelError, true, "out of memory", "", "half"},
		{"empty", modeltest.Answer{}, domain.ModelEmpty, true, "neither", "", ""},
		{"filtered", modeltest.Answer{Reason: "content_filter"}, domain.ModelEmpty, false, "filter", "", ""},
		{"401", modeltest.Answer{Status: 401, Error: "no key"}, domain.ModelUnauth, false, "no key", "WORKSITE_TEST_KEY", ""},
		{"404 of a model", modeltest.Answer{Status: 404, Error: "The model `x` does not exist"}, domain.ModelMissing, false, "scripted", "lists", ""},
		{"404 in plain text", modeltest.Answer{Status: 404, Plain: true, Error: "404 page not found"}, domain.ModelError, false, "chat completions", "/v1", ""},
		{"429", modeltest.Answer{Status: 429, Error: "slow down"}, domain.ModelBusy, true, "slow down", "Wait", ""},
		{"500", modeltest.Answer{Status: 500, Error: "oops"}, domain.ModelError, true, "oops", "ask again", ""},
		{"502 with a page", modeltest.Answer{Status: 502, Plain: true, Error: "<html>bad gateway</html>"}, domain.ModelError, true, "502", "", ""},
		{"503 without a body", modeltest.Answer{Status: 503, Plain: true}, domain.ModelBusy, true, "503", "", ""},
		{"too long", modeltest.Answer{Status: 400, Error: "This model's maximum context length is 8192 tokens"}, domain.ModelTooLong, false, "", "window", ""},
		{"tools not enabled", modeltest.Answer{Status: 400, Error: `"auto" tool choice requires --enable-auto-tool-choice`}, domain.ModelNoTools, false, "scripted", "", ""},
		{"no JSON in the stream", modeltest.Answer{Lines: []string{"data: <html>\n\n"}}, domain.ModelCutOff, true, "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv, p := start(t, modeltest.Script{Answers: []modeltest.Answer{tt.answer}})
			_, err := p.Next(t.Context(), ask("go"), func(domain.Delta) {})
			f := failure(t, err, tt.state)
			if f.Retryable != tt.retryable || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) || f.Partial != tt.partial {
				t.Errorf("got %+v", f)
			}
			if n := len(srv.Chats()); n != 1 {
				t.Errorf("%d requests: the client retries in secret", n)
			}
		})
	}
}

func TestDown(t *testing.T) {
	srv, p := start(t, modeltest.Script{})
	srv.Close()
	_, err := p.Next(t.Context(), ask("go"), func(domain.Delta) {})
	if f := failure(t, err, domain.ModelDown); !strings.Contains(f.Message, srv.URL) || !f.Retryable {
		t.Errorf("got %+v", f)
	}
	_, err = open(t, Config{}).Next(t.Context(), ask("go"), func(domain.Delta) {})
	if f := failure(t, err, domain.ModelDown); !strings.Contains(f.Hint, "settings") {
		t.Errorf("not set up: %+v", f)
	}
	if models, err := open(t, Config{}).Models(t.Context()); err != nil || models != nil {
		t.Errorf("not set up: %v, %v", models, err)
	}
}

// The key comes from the environment, goes to its own address only, and shows nowhere.
// R126
func TestKey(t *testing.T) {
	const secret = "sk-canary-1f2e"
	t.Setenv("WORKSITE_TEST_KEY", secret)
	t.Setenv("OPENAI_API_KEY", "sk-not-this-one")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	srv, p := start(t, modeltest.Script{Key: secret})
	if _, err := p.Next(t.Context(), ask("go"), func(domain.Delta) {}); err != nil {
		t.Fatal(err)
	}
	if got := srv.Chats()[0].Authorized; got != "Bearer "+secret {
		t.Errorf("Authorization %q", got)
	}
	elsewhere := modeltest.New(t, modeltest.Script{Key: "another"})
	req := ask("go")
	req.Model.BaseURL = elsewhere.URL + "/v1"
	_, err := p.Next(t.Context(), req, func(domain.Delta) {})
	f := failure(t, err, domain.ModelUnauth)
	if text := fmt.Sprintf("%v %+v %#v %v", f, f, f.Err, f.Hint); strings.Contains(text, secret) {
		t.Errorf("the key shows: %s", text)
	}
	if got := elsewhere.Requests()[0].Authorized; got != "" {
		t.Errorf("the key was sent to another address: %q", got)
	}
	if _, err := New(Config{BaseURL: "http://user:pw@127.0.0.1/v1"}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a password in the address: %v", err)
	}
}

func TestModelsAndContext(t *testing.T) {
	_, p := start(t, modeltest.Script{Models: []modeltest.Model{
		{Name: "scripted", ContextTokens: 9000}, {Name: "text-embed", Capabilities: []string{"completion"}}, {Name: "v", Capabilities: []string{"embedding"}},
	}})
	models, err := p.Models(t.Context())
	if want := `[{"provider":"openai","name":"scripted","tools":true,"contextTokens":9000}]`; err != nil || asJSON(t, models) != want {
		t.Errorf("got %s, %v", asJSON(t, models), err)
	}
	for _, tt := range []struct {
		ref  domain.ModelRef
		want int
	}{
		{domain.ModelRef{Name: "scripted"}, 9000},
		{domain.ModelRef{Name: "scripted", ContextTokens: 4000}, 4000},
		{domain.ModelRef{Name: "other"}, unknownWindow},
	} {
		if n, err := p.Context(t.Context(), tt.ref); err != nil || n != tt.want {
			t.Errorf("%+v: %d, %v", tt.ref, n, err)
		}
	}
}

// R153
func TestConversationSentBack(t *testing.T) {
	srv, p := start(t, modeltest.Script{})
	req := ask("look")
	req.Messages[0].Images = [][]byte{[]byte("\x89PNG\r\n\x1a\n")}
	req.Messages = append(req.Messages,
		&domain.Message{Role: domain.RoleAssistant, Thinking: "hm", ToolCalls: []domain.RequestedCall{
			{CallID: "call_A", WireID: "w1", Name: "ls", Arguments: `{"n":12345678901234567890}`},
			{CallID: "call_B", Name: "ls", Arguments: `{"path": "a`},
		}},
		&domain.Message{Role: domain.RoleTool, Text: "one", ToolName: "ls", WireID: "w1", CallID: "call_A"},
		&domain.Message{Role: domain.RoleTool, Text: "bad", ToolName: "ls", CallID: "call_B"})
	if _, err := p.Next(t.Context(), req, func(domain.Delta) {}); err != nil {
		t.Fatal(err)
	}
	body := string(srv.Chats()[0].Body)
	for _, want := range []string{
		`"url":"data:image/png;base64,`, `"content":null,"tool_calls":[{"id":"w1"`, `"arguments":"{\"n\":12345678901234567890}"`,
		`{\"_malformed_arguments\":\"{\\\"path\\\": \\\"a\"}`, `"tool_call_id":"w1"`, `"tool_call_id":"call_B"`,
		`"stream":true`, `"include_usage":true`, `"additionalProperties":false`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("body lacks %s:\n%s", want, body)
		}
	}
	if !json.Valid([]byte(body)) {
		t.Error("the body is no JSON")
	}
}

func TestCancel(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	_, p := start(t, modeltest.Script{Answers: []modeltest.Answer{{Text: "one two", Piece: 4, Hold: hold}}})
	ctx, cancel := context.WithCancel(t.Context())
	// The hold comes after the first event, which carries only the role.
	timer := time.AfterFunc(5*time.Millisecond, cancel)
	defer timer.Stop()
	_, err := p.Next(ctx, ask("go"), func(domain.Delta) {})
	if failure(t, err, domain.ModelCutOff); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
