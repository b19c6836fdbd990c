package modeltest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { http.DefaultClient.CloseIdleConnections() }))
}

func send(t *testing.T, method, url, body string) (int, string, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Content-Type"), strings.TrimSpace(string(raw))
}

// Errors in the words and shapes that were observed on the real server.
func TestObservedErrors(t *testing.T) {
	srv := New(t, Script{Models: []Model{
		{Name: "tiny-chat:latest", Capabilities: []string{"completion", "tools"}},
		{Name: "tiny-embed:latest", Capabilities: []string{"embedding"}},
		{Name: "tiny-plain:latest", Capabilities: []string{"completion"}},
	}})
	long := strings.Repeat("z", 4096)
	tests := []struct {
		method, path, body string
		status             int
		kind, answer       string
	}{
		{"POST", "/api/chat", ``, 400, "application/json; charset=utf-8", `{"error":"missing request body"}`},
		{"POST", "/api/chat", `{}`, 400, "application/json; charset=utf-8", `{"error":"model is required"}`},
		{"POST", "/api/chat", `{"model":"no-such","messages":[{}]}`, 404, "application/json; charset=utf-8", `{"error":"model 'no-such' not found"}`},
		{"POST", "/api/show", `{"model":"no-such"}`, 404, "application/json; charset=utf-8", `{"error":"model 'no-such' not found"}`},
		{"POST", "/api/chat", `{"model":"tiny-embed","messages":[{}]}`, 400, "application/json; charset=utf-8", `{"error":"\"tiny-embed\" does not support chat"}`},
		{"POST", "/api/chat", `{"model":"tiny-chat","think":true,"messages":[{}]}`, 400, "application/json; charset=utf-8", `{"error":"\"tiny-chat\" does not support thinking"}`},
		{"POST", "/api/chat", `{"model":"tiny-plain","messages":[{}],"tools":[{"type":"function","function":{"name":"x"}}]}`, 400, "application/json; charset=utf-8", `{"error":"registry.ollama.ai/library/tiny-plain:latest does not support tools"}`},
		{"POST", "/api/chat", `{"model":"tiny-chat","messages":[{}],"options":{"num_ctx":"x"}}`, 500, "application/json; charset=utf-8", `{"error":"option \"num_ctx\" must be of type integer"}`},
		{"POST", "/api/chat", `{"model":"tiny-chat","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"x","arguments":"{}"}}]}]}`, 400, "application/json; charset=utf-8", `{"error":"Value looks like object, but can't find closing '}' symbol"}`},
		{"POST", "/api/chat", `{"model":"tiny-chat","truncate":false,"messages":[{"role":"user","content":"` + long + `"}],"options":{"num_ctx":256}}`, 400, "application/json; charset=utf-8", `{"error":"the input length exceeds the context length"}`},
		{"POST", "/api/chats", `{}`, 404, "text/plain", `404 page not found`},
		{"GET", "/api/chat", ``, 405, "text/plain", `405 method not allowed`},
		{"POST", "/v1/chat/completions", `{"model":"no-such"}`, 404, "application/json; charset=utf-8", `{"error":{"code":"model_not_found","message":"model 'no-such' not found","param":null,"type":"api_error"}}`},
		{"POST", "/api/chat", `{"model":"tiny-chat","messages":[]}`, 200, "application/json; charset=utf-8", `"done_reason":"load"`},
		{"POST", "/api/chat", `{"model":"tiny-chat","messages":[],"keep_alive":0}`, 200, "application/json; charset=utf-8", `"done_reason":"unload"`},
		{"GET", "/api/ps", ``, 200, "application/json; charset=utf-8", `{"models":[]}`},
	}
	for _, tt := range tests {
		status, kind, answer := send(t, tt.method, srv.URL+tt.path, tt.body)
		if status != tt.status || kind != tt.kind || !strings.Contains(answer, tt.answer) {
			t.Errorf("%s %s %.80s:\ngot  %d %s %s\nwant %d %s %s", tt.method, tt.path, tt.body, status, kind, answer, tt.status, tt.kind, tt.answer)
		}
	}
	if srv.Unloads() != 1 {
		t.Errorf("%d unloads", srv.Unloads())
	}
}

// A long prompt without truncate:false is cut silently, as the real one does.
func TestSilentCut(t *testing.T) {
	srv := New(t, Script{})
	_, _, answer := send(t, "POST", srv.URL+"/api/chat", `{"model":"scripted","options":{"num_ctx":256},"messages":[{"role":"user","content":"`+strings.Repeat("z", 8192)+`"}]}`)
	if !strings.Contains(answer, `"prompt_eval_count":256`) {
		t.Errorf("got %s", answer)
	}
}

// Steps is the script of the pace bench: chosen by position, recorded with times.
func TestSteps(t *testing.T) {
	const n = 7
	srv := New(nil, Steps(n))
	defer srv.Close()
	messages := []map[string]any{{"role": "user", "content": "go"}}
	names := ""
	for range n + 1 {
		body, err := json.Marshal(map[string]any{"model": "scripted", "messages": messages})
		if err != nil {
			t.Fatal(err)
		}
		_, _, answer := send(t, "POST", srv.URL+"/api/chat", string(body))
		for _, line := range bytes.Split([]byte(answer), []byte("\n")) {
			var chunk struct {
				Message struct {
					ToolCalls []struct{ Function struct{ Name string } } `json:"tool_calls"`
				}
			}
			if err := json.Unmarshal(line, &chunk); err != nil {
				t.Fatal(err)
			}
			for _, c := range chunk.Message.ToolCalls {
				names += c.Function.Name + " "
			}
		}
		messages = append(messages, map[string]any{"role": "assistant", "content": "x"})
	}
	if want := "write read bash write read bash write "; names != want {
		t.Errorf("calls %q", names)
	}
	requests := srv.Chats()
	for i, r := range requests {
		if r.Assistants != i || r.Size == 0 || r.Body != nil || r.At.IsZero() || r.FirstAt.Before(r.At) || r.EndedAt.Before(r.FirstAt) || r.Left {
			t.Errorf("request %d: %+v", i, r)
		}
	}
	if len(requests) != n+1 {
		t.Errorf("%d requests", len(requests))
	}
}

func TestOpenAIStream(t *testing.T) {
	srv := New(t, Script{Answers: []Answer{{Text: "hello", Calls: []Call{{Name: "ls", Arguments: `{"path":"."}`}}, Piece: 4}}})
	_, kind, answer := send(t, "POST", srv.URL+"/v1/chat/completions", `{"model":"scripted","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`)
	if kind != "text/event-stream" || !strings.HasSuffix(answer, "data: [DONE]") || !strings.Contains(answer, `"finish_reason":"tool_calls"`) || !strings.Contains(answer, `"usage":{`) {
		t.Errorf("%s: %s", kind, answer)
	}
}
