package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const sse = "text/event-stream"

type object = map[string]any

// failV1 writes an error in OpenAI's shape.
func (w *writer) failV1(status int, text, code string) {
	e := object{"message": text, "type": "api_error", "param": nil, "code": nil}
	if code != "" {
		e["code"] = code
	}
	w.json(status, object{"error": e})
}

func (s *Server) authorised(w *writer, r *http.Request) bool {
	if s.script.Key == "" || r.Header.Get("Authorization") == "Bearer "+s.script.Key {
		return true
	}
	w.failV1(http.StatusUnauthorized, "Incorrect API key provided", "invalid_api_key")
	return false
}

func (s *Server) v1Models(w *writer, r *http.Request) {
	if !s.authorised(w, r) {
		return
	}
	data := []object{}
	for _, m := range s.script.Models {
		if slices.Contains(m.Capabilities, "completion") {
			data = append(data, object{
				"id": strings.TrimSuffix(m.Name, ":latest"), "object": "model", "created": 1, "owned_by": "library", "max_model_len": m.ContextTokens,
			})
		}
	}
	w.json(http.StatusOK, object{"object": "list", "data": data})
}

func (s *Server) v1Chat(w *writer, r *http.Request, rec *Request, body []byte) {
	if !s.authorised(w, r) {
		return
	}
	var req struct {
		Model         string `json:"model"`
		Stream        bool   `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Role       string `json:"role"`
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Function struct {
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		w.failV1(http.StatusBadRequest, err.Error(), "")
		return
	}
	m, ok := s.model(req.Model)
	if !ok {
		w.failV1(http.StatusNotFound, fmt.Sprintf("model '%s' not found", req.Model), "model_not_found")
		return
	}
	// The rules that strict servers insist on: arguments parse, and every tool
	// message answers a call made before it.
	open := map[string]bool{}
	for _, msg := range req.Messages {
		for _, c := range msg.ToolCalls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				w.failV1(http.StatusBadRequest, "invalid tool call arguments", "")
				return
			}
			open[c.ID] = true
		}
		if msg.Role == "tool" && !open[msg.ToolCallID] {
			w.failV1(http.StatusBadRequest, "messages with role 'tool' must answer a preceding message with 'tool_calls'", "")
			return
		}
	}
	answer := s.script.answer(*rec)
	if answer.Status != 0 {
		w.refuse(answer)
		return
	}
	run, ok := s.acquire(r.Context(), m, 4096)
	if !ok {
		return
	}
	slot := true
	defer func() { s.release(run, slot) }()
	st := stream{w: w, r: r, answer: answer}
	if !st.play(answer.openai(m.Name), sse) {
		slot = !answer.Leak
		return
	}
	if answer.Lines != nil || answer.End == EndCut {
		return
	}
	if answer.End == EndError {
		w.line(sse, "data: "+encode(object{"error": object{"message": answer.Error, "type": "server_error", "param": nil, "code": nil}})+"\n\n")
		return
	}
	if answer.Reason != "-" {
		reason := "stop"
		if len(answer.Calls) > 0 {
			reason = "tool_calls"
		}
		w.line(sse, chunk(m.Name, object{}, orElse(answer.Reason, reason)))
	}
	if req.StreamOptions.IncludeUsage {
		prompt, output := orElse(answer.Usage.Prompt, len(body)/4), orElse(answer.Usage.Output, len(answer.Text)/4+1)
		w.line(sse, "data: "+encode(object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": m.Name, "choices": []any{},
			"usage": object{
				"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
				"prompt_tokens_details": object{"cached_tokens": prompt / 2},
			},
		})+"\n\n")
	}
	w.line(sse, "data: [DONE]\n\n")
}

// chunk is one event of a streamed answer; reason "" is null.
func chunk(name string, delta object, reason string) string {
	var finish any
	if reason != "" {
		finish = reason
	}
	return "data: " + encode(object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": name,
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
	}) + "\n\n"
}

// openai returns the events of the answer before its finish reason. Calls come
// as a head with id and name, then fragments of the arguments, the calls
// interleaved by index.
func (a Answer) openai(name string) []string {
	if a.Lines != nil {
		return a.Lines
	}
	out := []string{chunk(name, object{"role": "assistant", "content": ""}, "")}
	for _, p := range pieces(a.Thinking, a.Piece) {
		out = append(out, chunk(name, object{"reasoning_content": p}, ""))
	}
	for _, p := range pieces(a.Text, a.Piece) {
		out = append(out, chunk(name, object{"content": p}, ""))
	}
	most := 0
	parts := make([][]string, len(a.Calls))
	for i, c := range a.Calls {
		out = append(out, chunk(name, object{"tool_calls": []object{{
			"index": i, "id": orElse(c.ID, fmt.Sprintf("call_%d", i+1)), "type": "function", "function": object{"name": c.Name, "arguments": ""},
		}}}, ""))
		parts[i] = pieces(c.Arguments, a.Piece)
		most = max(most, len(parts[i]))
	}
	for k := range most {
		for i := range a.Calls {
			if k < len(parts[i]) {
				out = append(out, chunk(name, object{"tool_calls": []object{{"index": i, "function": object{"arguments": parts[i][k]}}}}, ""))
			}
		}
	}
	return out
}
