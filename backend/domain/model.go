package domain

import (
	"encoding/json"
	"sync"
)

// Role is who speaks in a [Message].
type Role string

// FinishReason says why an answer ended.
type FinishReason string

// ModelState tells apart why a model did not answer; each has its own remedy.
type ModelState string

// The values of Role, FinishReason and ModelState.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"

	FinishStop   FinishReason = "stop"
	FinishLength FinishReason = "length" // the answer was cut by a token limit
	FinishTools  FinishReason = "tools"

	ModelDown      ModelState = "down"         // nothing answers at the address
	ModelMissing   ModelState = "not_pulled"   // the server is there, the model is not
	ModelLoading   ModelState = "loading"      // a cold load takes longer than the patience given
	ModelQueued    ModelState = "queued"       // another request is served first
	ModelWedged    ModelState = "wedged"       // loaded and idle, yet no first byte; it was unloaded
	ModelCutOff    ModelState = "cut_off"      // the stream ended without its last line
	ModelEmpty     ModelState = "empty"        // an answer with neither text nor calls
	ModelTooLong   ModelState = "too_long"     // the prompt does not fit the context
	ModelNoTools   ModelState = "no_tools"     // the model cannot call tools
	ModelError     ModelState = "error"        // the server said so
	ModelUnauth    ModelState = "unauthorized" // credentials missing or refused
	ModelBusy      ModelState = "busy"         // rate limit or a full queue
	ModelExhausted ModelState = "exhausted"    // the practice model: its recording ended
)

// Message is one entry of a model's context. It is immutable once built; a
// provider may keep its encoding in it, so that a long conversation is not
// encoded again for every step.
type Message struct {
	Role      Role
	Text      string
	Thinking  string
	ToolCalls []RequestedCall // role assistant
	CallID    CallID          // role tool: which call this answers
	WireID    string          // role tool: the provider's id of that call
	ToolName  string          // role tool
	Images    [][]byte        // role user: PNG, JPEG, …

	mu      sync.Mutex
	encoded map[string]json.RawMessage
}

// Encoded returns the encoding kept under key, making it with encode on first use.
func (m *Message) Encoded(key string, encode func() (json.RawMessage, error)) (json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if raw, ok := m.encoded[key]; ok {
		return raw, nil
	}
	raw, err := encode()
	if err != nil {
		return nil, err
	}
	if m.encoded == nil {
		m.encoded = map[string]json.RawMessage{}
	}
	m.encoded[key] = raw
	return raw, nil
}

// ToolSpec is a tool as a model sees it.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
}

// ModelRequest is everything one model call sees.
type ModelRequest struct {
	Model    ModelRef
	Messages []*Message
	Tools    []ToolSpec
}

// Delta is a live piece of an answer; it is never an event.
type Delta struct {
	Text     string
	Thinking string
	Status   string // "loading", "queued": shown while nothing streams yet
}

// ModelAnswer is one whole answer.
type ModelAnswer struct {
	Text      string
	Thinking  string
	ToolCalls []RequestedCall // CallID is empty; the harness gives it
	Finish    FinishReason
	Usage     Usage
	Recorded  bool
}

// ModelFailure is an error of a model call: the state it was found in, what
// happened in words, and the remedy. Partial is what had been streamed.
type ModelFailure struct {
	State     ModelState
	Message   string
	Hint      string
	Partial   string
	Retryable bool // asking again, unchanged, may help
	Err       error
}

// Error implements error.
func (e *ModelFailure) Error() string { return string(e.State) + ": " + e.Message }

// Unwrap returns the cause.
func (e *ModelFailure) Unwrap() error { return e.Err }

// ModelInfo describes a model that can be chosen.
type ModelInfo struct {
	Provider      string `json:"provider"`
	Name          string `json:"name"`
	Tools         bool   `json:"tools"`
	Thinking      bool   `json:"thinking,omitempty"`
	Vision        bool   `json:"vision,omitempty"`
	ContextTokens int    `json:"contextTokens"` // its own maximum; 0 unknown
	Loaded        bool   `json:"loaded,omitempty"`
	Size          int64  `json:"size,omitempty"` // bytes on disk
	Recorded      bool   `json:"recorded,omitempty"`
	Remote        bool   `json:"remote,omitempty"` // the provider passes what it is given on to another machine
}
