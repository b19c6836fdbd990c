package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"worksite/backend/domain"
)

// MalformedKey is the one member of the object that is sent back in place of
// arguments that are no JSON object, so that the model sees what it wrote and
// the server has nothing to refuse.
const MalformedKey = "_malformed_arguments"

// Encode returns v as JSON without escaping <, > and &: source code is full of
// them, and every escape costs six bytes and the model nothing but tokens.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Arguments returns recorded arguments as a JSON object: byte for byte when
// they are one, an empty one for no arguments, else under [MalformedKey].
func Arguments(recorded string) json.RawMessage {
	text := strings.TrimSpace(recorded)
	if text == "" {
		return json.RawMessage("{}")
	}
	if text[0] == '{' && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, err := Encode(map[string]string{MalformedKey: recorded})
	if err != nil { // strings always encode
		return json.RawMessage("{}")
	}
	return raw
}

// TextCall recognises a tool call that a model wrote as text, in the two forms
// that small local models are trained on: bare JSON, and JSON in <tool_call>
// tags.
//
// It is deliberately narrow: the whole answer must be exactly one such call of
// a tool that was offered. A model that explains a call, shows an example or
// quotes a file that contains one also writes such JSON; running that would
// carry out what nobody asked for. Anything but the bare call stays text.
func TextCall(text string, offered []domain.ToolSpec) (domain.RequestedCall, bool) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "<tool_call>"); ok {
		if inner, ok = strings.CutSuffix(inner, "</tool_call>"); !ok {
			return domain.RequestedCall{}, false
		}
		text = strings.TrimSpace(inner)
	}
	if !strings.HasPrefix(text, "{") {
		return domain.RequestedCall{}, false
	}
	var call struct {
		Type       string          `json:"type"`
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&call); err != nil || strings.TrimSpace(text[dec.InputOffset():]) != "" {
		return domain.RequestedCall{}, false
	}
	args := call.Arguments
	if args == nil {
		args = call.Parameters
	}
	if len(args) == 0 || args[0] != '{' || (call.Arguments != nil && call.Parameters != nil) ||
		(call.Type != "" && call.Type != "function") {
		return domain.RequestedCall{}, false
	}
	if !slices.ContainsFunc(offered, func(t domain.ToolSpec) bool { return t.Name == call.Name }) {
		return domain.RequestedCall{}, false
	}
	return domain.RequestedCall{Name: call.Name, Arguments: string(args)}, true
}

// Tools encodes the offered tools in the shape both wires share, nil for none.
func Tools(specs []domain.ToolSpec) (json.RawMessage, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	out := make([]tool, len(specs))
	for i, s := range specs {
		schema := s.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out[i] = tool{Type: "function", Function: function{Name: s.Name, Description: s.Description, Parameters: schema}}
	}
	return Encode(out)
}
