package domain

import (
	"encoding/json"
	"time"
)

// HandSpec is what the registry states of one hand.
type HandSpec struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"` // what the model reads
	Schema       json.RawMessage `json:"schema"`      // JSON Schema of the input
	Class        EffectClass     `json:"class"`
	Capabilities []Capability    `json:"capabilities"`
	Timeout      time.Duration   `json:"timeout"`   // nanoseconds; the upper bound of one call
	MaxOutput    int             `json:"maxOutput"` // bytes of text the model gets at most
	Where        string          `json:"where"`     // where it runs, in words
}

// HandCall is one call of a hand within a session.
type HandCall struct {
	Session   SessionID
	Run       RunID
	CallID    CallID
	Attempt   int
	Workspace WorkspaceID
	Input     json.RawMessage // a JSON object, already parsed once
	// Unsandboxed is set when the person consented to it in this session.
	Unsandboxed bool
}

// PreparedCall is a call resolved to its exact effect, before anything happened.
type PreparedCall struct {
	Call      HandCall
	Effect    Effect
	Digest    Hash
	Title     string   // one line: what it would do
	Shown     string   // the whole command or diff
	ShownKind string   // "command", "diff" or "text"
	Touches   []string // in words
	Scopes    []GrantScope
	// Opaque is the hand's own, handed back to Execute in the same process.
	Opaque any
}

// HandResult is the outcome of an executed call.
type HandResult struct {
	Output ToolOutput
	// Drafts are further facts that the call produced (file.written,
	// files.changed, plan.updated, artifact.promoted); they are appended in the
	// same transaction as tool_call.completed.
	Drafts []Payload
}

// ProbeResult is what a look at the world says about a call caught executing.
type ProbeResult string

// The values of ProbeResult.
const (
	ProbeDone    ProbeResult = "done"     // the post-image is there
	ProbeNotDone ProbeResult = "not_done" // the pre-image is there: nothing happened
	ProbeUnknown ProbeResult = "unknown"
)

// PlaceholderTime is the modification time of the empty files and folders that a
// sandbox puts where a protected path is missing while a command runs. By it, by
// their emptiness and by their permissions they are told from a person's files.
var PlaceholderTime = time.Unix(981173106, 0) // on a whole, even second, which every file system keeps

// UnknownEffect is a call that began and of which nobody can say whether it took
// effect: it came back neither with a result nor with an error of its own.
type UnknownEffect struct {
	Known string // what can be said, in words
	Err   error
}

// Error implements error.
func (e *UnknownEffect) Error() string { return e.Known }

// Unwrap returns the cause.
func (e *UnknownEffect) Unwrap() error { return e.Err }
