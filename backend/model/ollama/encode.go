package ollama

import (
	"encoding/json"
	"fmt"

	"github.com/ollama/ollama/api"

	"worksite/backend/domain"
	"worksite/backend/model/internal/wire"
)

// call is one model request, ready to be sent (more than once if need be).
type call struct {
	model    string
	numCtx   int
	vision   bool
	messages []json.RawMessage
	tools    json.RawMessage
	offered  []domain.ToolSpec
	bytes    int // of messages and tools
	weights  string
	emit     func(domain.Delta)
}

func newCall(req domain.ModelRequest, show shown) (*call, error) {
	c := &call{
		model:   req.Model.Name,
		numCtx:  contextFor(req.Model, show),
		vision:  show.info.Vision,
		offered: req.Tools,
		weights: show.weights,
	}
	key := Name
	if c.vision {
		key += "+vision"
	}
	c.messages = make([]json.RawMessage, len(req.Messages))
	for i, m := range req.Messages {
		raw, err := m.Encoded(key, func() (json.RawMessage, error) { return encode(m, c.vision) })
		if err != nil {
			return nil, fmt.Errorf("encode message %d: %w", i+1, err)
		}
		c.messages[i] = raw
		c.bytes += len(raw)
	}
	var err error
	if c.tools, err = wire.Tools(req.Tools); err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	c.bytes += len(c.tools)
	return c, nil
}

// request is the part of the body that Ollama's client encodes; messages and
// tools come in through the transport.
func (c *call) request() *api.ChatRequest {
	no := false
	return &api.ChatRequest{
		Model:    c.model,
		Messages: []api.Message{},
		Options:  map[string]any{"num_ctx": c.numCtx},
		Truncate: &no,
		Shift:    &no,
	}
}

// message mirrors api.Message, except that arguments stay the bytes they were:
// api's own type reads every number into a float64.
type message struct {
	Role       domain.Role `json:"role"`
	Content    string      `json:"content"`
	Thinking   string      `json:"thinking,omitempty"`
	Images     [][]byte    `json:"images,omitempty"`
	ToolCalls  []toolCall  `json:"tool_calls,omitempty"`
	ToolName   string      `json:"tool_name,omitempty"`
	ToolCallID string      `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id,omitempty"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func encode(m *domain.Message, vision bool) (json.RawMessage, error) {
	out := message{Role: m.Role, Content: m.Text}
	switch m.Role {
	case domain.RoleAssistant:
		out.Thinking = m.Thinking
		for i, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, toolCall{
				ID:       wireID(c.WireID, c.CallID),
				Function: toolFunction{Index: i, Name: c.Name, Arguments: wire.Arguments(c.Arguments)},
			})
		}
	case domain.RoleTool:
		out.ToolName, out.ToolCallID = m.ToolName, wireID(m.WireID, m.CallID)
	case domain.RoleUser:
		switch {
		case len(m.Images) == 0:
		case vision:
			out.Images = m.Images // base64, as encoding/json writes bytes
		default:
			// The server would put a placeholder into the prompt and say nothing.
			out.Content += fmt.Sprintf("\n\n[%d attached image(s) left out: this model cannot see images]", len(m.Images))
		}
	case domain.RoleSystem: // has nothing but its text
	}
	return wire.Encode(out)
}

// wireID is the id a call is known by to the server; calls made by another
// provider before a switch have only ours.
func wireID(id string, ours domain.CallID) string {
	if id != "" {
		return id
	}
	return string(ours)
}
