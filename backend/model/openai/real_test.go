package openai

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"worksite/backend/domain"
)

// The tests of this file talk to the OpenAI-compatible side of a real Ollama
// server with the tiny models, which build/ollama-test.sh starts.

func realEndpoint(t *testing.T) *Provider {
	t.Helper()
	url := os.Getenv("WORKSITE_OLLAMA")
	if url == "" {
		t.Skip("skipped: no Ollama server (run build/ollama-test.sh)")
	}
	return open(t, Config{BaseURL: url + "/v1", KeyEnv: "WORKSITE_TEST_KEY"})
}

func TestRealConversation(t *testing.T) {
	p := realEndpoint(t)
	models, err := p.Models(t.Context())
	if err != nil || len(models) < 2 {
		t.Fatalf("models %+v, %v", models, err)
	}
	req := ask("what is the weather?")
	req.Model.Name = "tiny-chat"
	req.Tools = []domain.ToolSpec{
		{Name: "get_weather", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
		{Name: "get_time", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
	}
	a, err := p.Next(t.Context(), req, func(domain.Delta) {})
	if err != nil || len(a.ToolCalls) == 0 || a.Finish != domain.FinishTools || a.Usage.InputTokens == 0 {
		t.Fatalf("got %+v, %v; want a tool call", a, err)
	}
	calls := append(a.ToolCalls, domain.RequestedCall{WireID: "call_bad", Name: "get_time", Arguments: `{"city": "Li`})
	req.Messages = append(req.Messages, &domain.Message{Role: domain.RoleAssistant, ToolCalls: calls})
	for _, c := range calls {
		req.Messages = append(req.Messages, &domain.Message{Role: domain.RoleTool, Text: "sunny", ToolName: c.Name, WireID: c.WireID})
	}
	var text strings.Builder
	b, err := p.Next(t.Context(), req, func(d domain.Delta) { text.WriteString(d.Text) })
	if err != nil || b.Text == "" || b.Text != text.String() {
		t.Errorf("after the results: %+v, %v", b, err)
	}
}

func TestRealMissing(t *testing.T) {
	p := realEndpoint(t)
	req := ask("x")
	req.Model.Name = "no-such"
	_, err := p.Next(t.Context(), req, func(domain.Delta) {})
	failure(t, err, domain.ModelMissing)
}
