package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
)

// Facts of the wire that end in an answer.
// R136
func TestAnswers(t *testing.T) {
	big := `{"path":"a","n":12345678901234567890,"x":1.0,"nested":{"z":1,"a":[true,null]}}`
	tests := []struct {
		name   string
		answer modeltest.Answer
		tools  bool
		want   domain.ModelAnswer
	}{
		{
			"text in small pieces, letters of several bytes",
			modeltest.Answer{Text: "naïve Zürich 🙂 above the garden", Piece: 3},
			false,
			domain.ModelAnswer{Text: "naïve Zürich 🙂 above the garden", Finish: domain.FinishStop},
		},
		{
			"thinking, then text",
			modeltest.Answer{Thinking: "wait again", Text: "Here."},
			false,
			domain.ModelAnswer{Text: "Here.", Thinking: "wait again", Finish: domain.FinishStop},
		},
		{
			"done_reason length",
			modeltest.Answer{Text: "cut by a li", Reason: "length"},
			false,
			domain.ModelAnswer{Text: "cut by a li", Finish: domain.FinishLength},
		},
		{
			"done_reason absent",
			modeltest.Answer{Text: "fine", Reason: "-"},
			false,
			domain.ModelAnswer{Text: "fine", Finish: domain.FinishStop},
		},
		{
			"one call, done_reason stop, arguments kept to the byte",
			modeltest.Answer{Calls: []modeltest.Call{{ID: "call_aaaaaaaa", Name: "ls", Arguments: big}}},
			true,
			domain.ModelAnswer{ToolCalls: []domain.RequestedCall{{WireID: "call_aaaaaaaa", Name: "ls", Arguments: big}}, Finish: domain.FinishTools},
		},
		{
			"parallel calls in several chunks",
			modeltest.Answer{Text: "I look.", Calls: []modeltest.Call{
				{ID: "call_1", Name: "ls", Arguments: `{"path":"."}`}, {ID: "call_2", Name: "read", Arguments: `{"path":"a"}`}, {ID: "call_3", Name: "read"},
			}},
			true,
			domain.ModelAnswer{
				Text: "I look.", ToolCalls: []domain.RequestedCall{
					{WireID: "call_1", Name: "ls", Arguments: `{"path":"."}`}, {WireID: "call_2", Name: "read", Arguments: `{"path":"a"}`}, {WireID: "call_3", Name: "read", Arguments: "{}"},
				},
				Finish: domain.FinishTools,
			},
		},
		{
			"a call of a tool that was not offered comes through",
			modeltest.Answer{Calls: []modeltest.Call{{ID: "c", Name: "fly", Arguments: `{}`}}},
			true,
			domain.ModelAnswer{ToolCalls: []domain.RequestedCall{{WireID: "c", Name: "fly", Arguments: "{}"}}, Finish: domain.FinishTools},
		},
		{
			"a call as bare JSON text",
			modeltest.Answer{Text: ` {"name": "ls", "arguments": {"path": "."}} `},
			true,
			domain.ModelAnswer{ToolCalls: []domain.RequestedCall{{Name: "ls", Arguments: `{"path": "."}`}}, Finish: domain.FinishTools},
		},
		{
			"a call as text in tags",
			modeltest.Answer{Text: "<tool_call>\n{\"name\":\"read\",\"parameters\":{\"path\":\"a\"}}\n</tool_call>"},
			true,
			domain.ModelAnswer{ToolCalls: []domain.RequestedCall{{Name: "read", Arguments: `{"path":"a"}`}}, Finish: domain.FinishTools},
		},
		{
			"the same without tools offered stays text",
			modeltest.Answer{Text: `{"name":"ls","arguments":{}}`},
			false,
			domain.ModelAnswer{Text: `{"name":"ls","arguments":{}}`, Finish: domain.FinishStop},
		},
		{
			"a call as text with words around it stays text",
			modeltest.Answer{Text: `You could run {"name":"ls","arguments":{}}`},
			true,
			domain.ModelAnswer{Text: `You could run {"name":"ls","arguments":{}}`, Finish: domain.FinishStop},
		},
		{
			"two calls as text stay text",
			modeltest.Answer{Text: `{"name":"ls","arguments":{}}{"name":"ls","arguments":{}}`},
			true,
			domain.ModelAnswer{Text: `{"name":"ls","arguments":{}}{"name":"ls","arguments":{}}`, Finish: domain.FinishStop},
		},
		{
			"a text call of an unknown tool stays text",
			modeltest.Answer{Text: `{"name":"fly","arguments":{}}`},
			true,
			domain.ModelAnswer{Text: `{"name":"fly","arguments":{}}`, Finish: domain.FinishStop},
		},
		{
			"a text call cut by the limit stays text",
			modeltest.Answer{Text: `{"name":"ls","arguments":{}}`, Reason: "length"},
			true,
			domain.ModelAnswer{Text: `{"name":"ls","arguments":{}}`, Finish: domain.FinishLength},
		},
		{
			"counts absent, a negative duration, a blank line between",
			modeltest.Answer{Lines: []string{
				`{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"x"},"done":false}` + "\n\n",
				`{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"length","total_duration":-5,"load_duration":-9223372036854775808,"eval_duration":-9223372036854775808}` + "\n",
			}},
			false,
			domain.ModelAnswer{Text: "x", Finish: domain.FinishLength},
		},
		{
			"logprobs and unknown fields are passed over",
			modeltest.Answer{Lines: []string{
				`{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"x","new":1},"done":false,"logprobs":[{"token":"x","logprob":-1,"bytes":[120]}]}` + "\n",
				`{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}` + "\n",
			}},
			false,
			domain.ModelAnswer{Text: "x", Finish: domain.FinishStop},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, p := start(t, modeltest.Script{Answers: []modeltest.Answer{tt.answer}})
			req := ask("go")
			if tt.tools {
				req = withTools(req)
			}
			h := listen()
			got := mustNext(t, p, req, h)
			if tt.answer.Lines == nil {
				if got.Usage.InputTokens == 0 || got.Usage.OutputTokens == 0 {
					t.Errorf("usage %+v has no counts", got.Usage)
				}
				if h.text.String() != tt.answer.Text || h.thinking.String() != tt.answer.Thinking {
					t.Errorf("streamed text %q thinking %q", h.text.String(), h.thinking.String())
				}
			} else if got.Usage != (domain.Usage{}) {
				t.Errorf("usage %+v, want zeros", got.Usage)
			}
			got.Usage = domain.Usage{}
			if a, b := asJSON(t, got), asJSON(t, tt.want); a != b {
				t.Errorf("got  %s\nwant %s", a, b)
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each way of not answering is its own state with its remedy.
// R136
func TestFailures(t *testing.T) {
	tests := []struct {
		name      string
		answer    modeltest.Answer
		state     domain.ModelState
		retryable bool
		message   string // part of it
		hint      string // part of it
		partial   string
	}{
		{"stream without done:true", modeltest.Answer{Text: "aaaa", Piece: 2, End: modeltest.EndCut, After: 1}, domain.ModelCutOff, true, "last line", "repeats", "aa"},
		{"nothing at all, 200", modeltest.Answer{End: modeltest.EndCut}, domain.ModelCutOff, true, "last line", "", ""},
		{"connection breaks in mid-stream", modeltest.Answer{Text: "half an answer", Piece: 4, End: modeltest.EndBreak, After: 2}, domain.ModelCutOff, true, "broke", "running", "half an "},
		{"error as last line: the runner died", modeltest.Answer{Text: "good", End: modeltest.EndError, Error: "an error was encountered while running the model: unexpected EOF"}, domain.ModelError, true, "unexpected EOF", "Ask again", "good"},
		{"empty answer", modeltest.Answer{}, domain.ModelEmpty, true, "neither", "", ""},
		{"only blanks", modeltest.Answer{Text: " \n"}, domain.ModelEmpty, true, "neither", "", " \n"},
		{"cut while thinking", modeltest.Answer{Thinking: "wait", Reason: "length"}, domain.ModelEmpty, false, "thinking", "context window", ""},
		{"cut before a word", modeltest.Answer{Reason: "length"}, domain.ModelEmpty, false, "length limit", "context window", ""},
		{"input too long", modeltest.Answer{Status: 400, Error: "the input length exceeds the context length"}, domain.ModelTooLong, false, "nothing was cut", "context window", ""},
		{"not pulled", modeltest.Answer{Status: 404, Error: "model 'scripted' not found"}, domain.ModelMissing, false, `"scripted"`, "ollama pull scripted", ""},
		{"not pulled, the other wording", modeltest.Answer{Status: 404, Error: `model "scripted" not found, try pulling it first`}, domain.ModelMissing, false, "", "ollama pull scripted", ""},
		{"no tools", modeltest.Answer{Status: 400, Error: "registry.ollama.ai/library/scripted:latest does not support tools"}, domain.ModelNoTools, false, "cannot call tools", "Choose", ""},
		{"an embedding model", modeltest.Answer{Status: 400, Error: `"scripted" does not support chat`}, domain.ModelError, false, "embeddings", "Choose", ""},
		{"full queue", modeltest.Answer{Status: 503, Error: "server busy, please try again.  maximum pending requests exceeded"}, domain.ModelBusy, true, "waiting", "Wait", ""},
		{"cannot be loaded; no path of the server is shown", modeltest.Answer{Status: 500, Error: "unable to load model: /srv/blobs/sha256-a2"}, domain.ModelError, false, "cannot load", "pull", ""},
		{"cloud model, signed out", modeltest.Answer{Status: 401, Error: "unauthorized"}, domain.ModelUnauth, false, "signed-in", "ollama signin", ""},
		{"wrong path, plain text", modeltest.Answer{Status: 404, Plain: true, Error: "404 page not found"}, domain.ModelError, false, "does not speak Ollama", "address", ""},
		{"wrong method, plain text", modeltest.Answer{Status: 405, Plain: true, Error: "405 method not allowed"}, domain.ModelError, false, "does not speak Ollama", "address", ""},
		{"an error without a body", modeltest.Answer{Status: 502, Plain: true}, domain.ModelDown, true, "502", "between", ""},
		{"option of a wrong type", modeltest.Answer{Status: 500, Error: `option "num_ctx" must be of type integer`}, domain.ModelError, false, "num_ctx", "", ""},
		{"a line that is no JSON", modeltest.Answer{Lines: []string{"<html>\n"}}, domain.ModelError, true, "<html>", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, p := start(t, modeltest.Script{Answers: []modeltest.Answer{tt.answer}})
			_, err := p.Next(t.Context(), withTools(ask("go")), listen().emit)
			f := failure(t, err, tt.state)
			if f.Retryable != tt.retryable {
				t.Errorf("retryable %v", f.Retryable)
			}
			if !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) {
				t.Errorf("message %q hint %q", f.Message, f.Hint)
			}
			if f.Partial != tt.partial {
				t.Errorf("partial %q, want %q", f.Partial, tt.partial)
			}
			if strings.Contains(f.Message, "/srv/") {
				t.Errorf("message shows a path of the server: %q", f.Message)
			}
		})
	}
}

func TestDown(t *testing.T) {
	srv, p := start(t, modeltest.Script{})
	srv.Close()
	_, err := p.Next(t.Context(), ask("go"), listen().emit)
	f := failure(t, err, domain.ModelDown)
	if !strings.Contains(f.Message, srv.URL) || !strings.Contains(f.Hint, "ollama serve") || !f.Retryable {
		t.Errorf("got %+v", f)
	}
	if _, err := p.Models(t.Context()); failure(t, err, domain.ModelDown) == nil {
		t.Fail()
	}
}

func TestNoToolsIsSaidBeforeSending(t *testing.T) {
	srv, p := start(t, modeltest.Script{Models: []modeltest.Model{{Name: "scripted:latest", Capabilities: []string{"completion"}}}})
	_, err := p.Next(t.Context(), withTools(ask("go")), listen().emit)
	failure(t, err, domain.ModelNoTools)
	if n := len(srv.Chats()); n != 0 {
		t.Errorf("%d chat requests were sent", n)
	}
	if a := mustNext(t, p, ask("go"), listen()); a.Text != "Done." {
		t.Errorf("without tools: %+v", a)
	}
}

// A prompt beyond the window is refused whole, never cut.
func TestTooLongIsNeverCut(t *testing.T) {
	srv, p := start(t, modeltest.Script{})
	req := ask(strings.Repeat("word ", 9000))
	req.Model.ContextTokens = 4096
	_, err := p.Next(t.Context(), req, listen().emit)
	failure(t, err, domain.ModelTooLong)
	var body struct {
		Truncate, Shift *bool
		Options         map[string]any
	}
	if err := json.Unmarshal(srv.Chats()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	if body.Truncate == nil || *body.Truncate || body.Shift == nil || *body.Shift || body.Options["num_ctx"] != 4096.0 {
		t.Errorf("truncate %v shift %v options %v", body.Truncate, body.Shift, body.Options)
	}
}

// What goes back: calls with arguments as an object, results with both names.
// R153
func TestConversationSentBack(t *testing.T) {
	srv, p := start(t, modeltest.Script{})
	exact := `{"n":12345678901234567890,"html":"<a> & b","x":1.0}`
	req := withTools(ask("go"))
	req.Messages = append(req.Messages,
		&domain.Message{Role: domain.RoleAssistant, Text: "", Thinking: "hm", ToolCalls: []domain.RequestedCall{
			{CallID: "call_A", WireID: "w1", Name: "ls", Arguments: exact},
			{CallID: "call_B", WireID: "w2", Name: "read", Arguments: `{"path": "a`},
			{CallID: "call_C", Name: "read", Arguments: `["a"]`},
			{CallID: "call_D", WireID: "w4", Name: "read"},
		}},
		&domain.Message{Role: domain.RoleTool, Text: "a\nb", ToolName: "ls", WireID: "w1", CallID: "call_A"},
		&domain.Message{Role: domain.RoleTool, Text: "bad", ToolName: "read", WireID: "w2", CallID: "call_B"},
		&domain.Message{Role: domain.RoleTool, Text: "bad", ToolName: "read", CallID: "call_C"},
		&domain.Message{Role: domain.RoleTool, Text: "bad\x00\xff", ToolName: "read", WireID: "w4", CallID: "call_D"},
	)
	mustNext(t, p, req, listen())
	var body struct {
		Messages []struct {
			Content, Thinking string
			ToolName          string `json:"tool_name"`
			ToolCallID        string `json:"tool_call_id"`
			ToolCalls         []struct {
				ID       string
				Function struct {
					Index     int
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
		}
		Tools json.RawMessage
	}
	raw := srv.Chats()[0].Body
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	calls := body.Messages[2].ToolCalls
	want := []string{exact, `{"_malformed_arguments":"{\"path\": \"a"}`, `{"_malformed_arguments":"[\"a\"]"}`, `{}`}
	ids := []string{"w1", "w2", "call_C", "w4"}
	for i, c := range calls {
		if string(c.Function.Arguments) != want[i] || c.ID != ids[i] || c.Function.Index != i {
			t.Errorf("call %d: %+v, want %s", i, c, want[i])
		}
		if m := body.Messages[3+i]; m.ToolCallID != ids[i] || m.ToolName != c.Function.Name {
			t.Errorf("result %d: %+v", i, m)
		}
	}
	if !strings.Contains(string(body.Tools), `"additionalProperties":false`) {
		t.Errorf("the schema lost a part: %s", body.Tools)
	}
	if strings.Contains(string(raw), `\u003c`) {
		t.Errorf("angle brackets are escaped: %s", raw)
	}
}

func TestImagesOnlyForModelsThatSee(t *testing.T) {
	models := []modeltest.Model{{Name: "blind"}, {Name: "sees", Capabilities: []string{"completion", "vision"}}}
	srv, p := start(t, modeltest.Script{Models: models})
	picture := []byte("\x89PNG")
	for _, name := range []string{"blind", "sees"} {
		req := ask("what is it?")
		req.Model.Name = name
		req.Messages[1].Images = [][]byte{picture}
		mustNext(t, p, req, listen())
	}
	var bodies [2]struct {
		Messages []struct {
			Content string
			Images  [][]byte
		}
	}
	for i, r := range srv.Chats() {
		if err := json.Unmarshal(r.Body, &bodies[i]); err != nil {
			t.Fatal(err)
		}
	}
	if m := bodies[0].Messages[1]; len(m.Images) != 0 || !strings.Contains(m.Content, "cannot see images") {
		t.Errorf("blind: %+v", m)
	}
	if m := bodies[1].Messages[1]; len(m.Images) != 1 || string(m.Images[0]) != string(picture) || m.Content != "what is it?" {
		t.Errorf("sees: %+v", m)
	}
}

func TestCancelInMidStream(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	srv, p := start(t, modeltest.Script{Choose: func(r modeltest.Request) modeltest.Answer {
		if r.Messages > 2 {
			return modeltest.Answer{Text: "next"}
		}
		return modeltest.Answer{Text: "one two three", Piece: 4, Hold: hold}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	h := listen()
	done := background(ctx, p, ask("go"), h)
	await(t, "the first text", h.first)
	cancel()
	r := <-done
	f := failure(t, r.err, domain.ModelCutOff)
	if f.Partial != "one " || !errors.Is(r.err, context.Canceled) {
		t.Errorf("partial %q, error %v", f.Partial, r.err)
	}
	req := ask("again")
	req.Messages = append(req.Messages, &domain.Message{Role: domain.RoleUser, Text: "go on"})
	if a := mustNext(t, p, req, listen()); a.Text != "next" {
		t.Errorf("after the cancel: %+v", a)
	}
	if n := srv.Unloads(); n != 0 {
		t.Errorf("a healthy model was unloaded %d times", n)
	}
}

func TestNormalise(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "http://127.0.0.1:11434",
		"0.0.0.0:11434":           "http://127.0.0.1:11434",
		"localhost":               "http://localhost:11434",
		"http://[::]:9/":          "http://127.0.0.1:9",
		"https://models.example/": "https://models.example",
		" host:80 ":               "http://host:80",
	} {
		if got, err := normalise(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
	}
	if _, err := New(Config{BaseURL: "ftp://x"}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("ftp: %v", err)
	}
}
