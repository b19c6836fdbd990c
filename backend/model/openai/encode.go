package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"worksite/backend/domain"
	"worksite/backend/model/internal/wire"
)

type message struct {
	Role       domain.Role `json:"role"`
	Content    any         `json:"content"`
	ToolCalls  []toolCall  `json:"tool_calls,omitempty"`
	ToolCallID string      `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// newExchange puts the request's messages and tools together from kept pieces.
func newExchange(req domain.ModelRequest) (*wire.Exchange, error) {
	x := &wire.Exchange{Messages: make([]json.RawMessage, len(req.Messages))}
	for i, m := range req.Messages {
		raw, err := m.Encoded(Name, func() (json.RawMessage, error) { return encode(m) })
		if err != nil {
			return nil, fmt.Errorf("encode message %d: %w", i+1, err)
		}
		x.Messages[i] = raw
	}
	var err error
	if x.Tools, err = wire.Tools(req.Tools); err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	return x, nil
}

// encode leaves thinking out: endpoints differ in whether they take it back.
func encode(m *domain.Message) (json.RawMessage, error) {
	out := message{Role: m.Role, Content: m.Text}
	switch m.Role {
	case domain.RoleAssistant:
		for _, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, toolCall{
				ID: wireID(c.WireID, c.CallID), Type: "function",
				// A string on this wire, but many servers parse it and refuse the
				// whole request when it is no object.
				Function: toolFunction{Name: c.Name, Arguments: string(wire.Arguments(c.Arguments))},
			})
		}
		if m.Text == "" && len(out.ToolCalls) > 0 {
			out.Content = nil
		}
	case domain.RoleTool:
		out.ToolCallID = wireID(m.WireID, m.CallID)
	case domain.RoleUser:
		if len(m.Images) > 0 {
			parts := []part{{Type: "text", Text: m.Text}}
			for _, img := range m.Images {
				parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{
					URL: "data:" + http.DetectContentType(img) + ";base64," + base64.StdEncoding.EncodeToString(img),
				}})
			}
			out.Content = parts
		}
	case domain.RoleSystem: // has nothing but its text
	}
	return wire.Encode(out)
}

// wireID is the id a call is known by to the endpoint; calls made by another
// provider before a switch may have only ours.
func wireID(id string, ours domain.CallID) string {
	if id != "" {
		return id
	}
	return string(ours)
}
