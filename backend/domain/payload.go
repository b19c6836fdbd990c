package domain

// Payload structs, one per kind. Every struct starts with V, the version of its
// shape: fields may be added within a version, never renamed or given a new meaning.

// TaskKind says what a session works on: a repository, or loose files.
type TaskKind string

// Placement says where a session's commands run.
type Placement string

// Mode is the permission mode: convenience, never security.
type Mode string

// Outcome is how a run ended.
type Outcome string

// The values of TaskKind, Placement, Mode and Outcome.
const (
	TaskCoding  TaskKind = "coding"
	TaskGeneral TaskKind = "general"

	PlacementLocal  Placement = "local"
	PlacementRemote Placement = "remote"

	ModePlan  Mode = "plan"  // reads only
	ModeAsk   Mode = "ask"   // reads run, everything else asks
	ModeEdits Mode = "edits" // file edits in the workspace run, commands ask
	ModeAuto  Mode = "auto"  // everything the other layers allow runs, inside the sandbox

	OutcomeDone      Outcome = "done"
	OutcomeFailed    Outcome = "failed"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeBudget    Outcome = "budget"
)

type (
	// SessionCreated opens a session; always seq 1.
	SessionCreated struct {
		V             int         `json:"v"`
		Title         string      `json:"title"`
		TaskKind      TaskKind    `json:"taskKind"`
		Placement     Placement   `json:"placement"`
		Workspace     WorkspaceID `json:"workspace"`
		WorkspacePath string      `json:"workspacePath"` // where it was when the session began; an attribute, not the identity
		Model         ModelRef    `json:"model"`
		Mode          Mode        `json:"mode"`
		ForkedFrom    SessionID   `json:"forkedFrom,omitempty"`
	}
	// SessionRenamed gives a session another title.
	SessionRenamed struct {
		V     int    `json:"v"`
		Title string `json:"title"`
	}
	// SessionArchived hides a session from the lists (Archived) or shows it again.
	SessionArchived struct {
		V        int  `json:"v"`
		Archived bool `json:"archived"`
	}
	// LeafMoved makes To the end of the conversation; later events continue from there.
	// Files are not touched by it.
	LeafMoved struct {
		V  int     `json:"v"`
		To EventID `json:"to"`
	}

	// ModelRef names a model: provider ("ollama", "openai", "practice") and its name there.
	ModelRef struct {
		Provider string `json:"provider"`
		Name     string `json:"name"`
		BaseURL  string `json:"baseUrl,omitempty"`
		// ContextTokens is the context window asked for; 0 lets the provider choose and say.
		ContextTokens int `json:"contextTokens,omitempty"`
	}
	// ModelSelected switches the session's model from the next step on.
	ModelSelected struct {
		V     int      `json:"v"`
		Model ModelRef `json:"model"`
	}
	// ModeChanged switches the permission mode from the next decision on.
	ModeChanged struct {
		V    int  `json:"v"`
		Mode Mode `json:"mode"`
	}

	// Attachment is what a person put into a message.
	Attachment struct {
		Name      string `json:"name"`
		MediaType string `json:"mediaType"`
		Size      int64  `json:"size"`
		SHA256    Hash   `json:"sha256"`         // of the original when it was taken in
		Path      string `json:"path,omitempty"` // inside the workspace, slash-separated, when it was copied there
		Source    string `json:"source,omitempty"`
	}
	// MessageSent is an instruction of the person, in the conversation.
	MessageSent struct {
		V           int          `json:"v"`
		MessageID   MessageID    `json:"messageId"`
		Text        string       `json:"text"`
		Attachments []Attachment `json:"attachments,omitempty"`
		FromQueue   bool         `json:"fromQueue,omitempty"`
	}
	// MessageQueued waits until the run takes it: at the next step when Steer, else at its end.
	MessageQueued struct {
		V           int          `json:"v"`
		MessageID   MessageID    `json:"messageId"`
		Text        string       `json:"text"`
		Attachments []Attachment `json:"attachments,omitempty"`
		Steer       bool         `json:"steer,omitempty"`
	}
	// MessageUnqueued takes a queued message back before it was sent.
	MessageUnqueued struct {
		V         int       `json:"v"`
		MessageID MessageID `json:"messageId"`
	}
	// Usage counts what one model answer cost.
	Usage struct {
		InputTokens  int   `json:"inputTokens"`
		OutputTokens int   `json:"outputTokens"`
		CachedTokens int   `json:"cachedTokens,omitempty"`
		LoadMS       int64 `json:"loadMs,omitempty"`
		DurationMS   int64 `json:"durationMs,omitempty"`
	}
	// RequestedCall is a tool call as the model wrote it.
	RequestedCall struct {
		CallID    CallID `json:"callId"`
		WireID    string `json:"wireId,omitempty"` // the provider's own id, sent back with the result
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // exactly as received; may be malformed
	}
	// MessageCompleted is one whole answer of the model; it replaces the live deltas of MessageID.
	MessageCompleted struct {
		V         int             `json:"v"`
		MessageID MessageID       `json:"messageId"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking,omitempty"`
		ToolCalls []RequestedCall `json:"toolCalls,omitempty"`
		Model     ModelRef        `json:"model"`
		Finish    FinishReason    `json:"finish"`
		Usage     Usage           `json:"usage"`
		Recorded  bool            `json:"recorded,omitempty"` // the practice model: a recorded answer
	}

	// Budget bounds a run; 0 means no bound of that kind.
	Budget struct {
		Tokens  int64 `json:"tokens,omitempty"`
		Calls   int64 `json:"calls,omitempty"`
		Seconds int64 `json:"seconds,omitempty"`
		Steps   int64 `json:"steps,omitempty"`
	}
	// RunStarted opens a run on the instruction MessageID.
	RunStarted struct {
		V         int          `json:"v"`
		MessageID MessageID    `json:"messageId"`
		Mode      Mode         `json:"mode"`
		Model     ModelRef     `json:"model"`
		Budget    Budget       `json:"budget"`
		Ceiling   []Capability `json:"ceiling"` // what the agent may do at most in this run
	}
	// RunContinued records that a runner took the run over after an interruption or a wait.
	RunContinued struct {
		V      int    `json:"v"`
		Reason string `json:"reason"` // "recovered", "approved", "asked"
	}
	// RunInterrupted says what a crash or shutdown left; written by whoever finds it.
	RunInterrupted struct {
		V       int       `json:"v"`
		Reason  string    `json:"reason"`
		LastSeq int64     `json:"lastSeq"`
		Unknown []CallID  `json:"unknown,omitempty"` // effects of which nobody knows whether they happened
		Found   *Survival `json:"found,omitempty"`
	}
	// RunCancelRequested asks the runner, in whatever process, to stop.
	RunCancelRequested struct {
		V int `json:"v"`
	}
	// RunFinished ends a run; nothing is appended to it afterwards.
	RunFinished struct {
		V       int     `json:"v"`
		Outcome Outcome `json:"outcome"`
		Reason  string  `json:"reason,omitempty"` // for people: what happened and what to do
		Steps   int64   `json:"steps"`
		Usage   Usage   `json:"usage"`
	}

	// Presence answers "is it still there?".
	Presence string
	// Finding is one answer of a recovery report, with its evidence in words.
	Finding struct {
		Presence Presence `json:"presence"`
		Evidence string   `json:"evidence"`
	}
	// Survival tells the four meanings of "still there" apart (R53).
	Survival struct {
		Conversation Finding `json:"conversation"`
		Files        Finding `json:"files"`
		Processes    Finding `json:"processes"`
		Effects      Finding `json:"effects"`
	}

	// ContextSource is one piece of a context's fixed beginning.
	ContextSource struct {
		Label  string `json:"label"` // "system", "AGENTS.md", …
		Bytes  int    `json:"bytes"`
		SHA256 Hash   `json:"sha256"`
	}
	// ModelCallStarted is on disk before the request leaves.
	ModelCallStarted struct {
		V             int       `json:"v"`
		MessageID     MessageID `json:"messageId"`
		Model         ModelRef  `json:"model"`
		Messages      int       `json:"messages"`
		Tools         int       `json:"tools"`
		ContextTokens int       `json:"contextTokens"` // estimate before sending
		ContextLimit  int       `json:"contextLimit"`
		LastSeq       int64     `json:"lastSeq"` // the context is a pure function of the events up to here
		// Sources is what the fixed beginning was made of; given on the first call of a run.
		Sources []ContextSource `json:"sources,omitempty"`
	}
	// ModelCallFailed says in which state the model was found and the remedy.
	ModelCallFailed struct {
		V         int        `json:"v"`
		MessageID MessageID  `json:"messageId"`
		State     ModelState `json:"state"`
		Message   string     `json:"message"`
		Hint      string     `json:"hint,omitempty"`
		Partial   string     `json:"partial,omitempty"` // text that had been streamed
		Retry     bool       `json:"retry"`             // another attempt follows
	}
	// ContextCompacted lists what later model calls no longer see.
	ContextCompacted struct {
		V            int       `json:"v"`
		Policy       string    `json:"policy"`
		Elided       []EventID `json:"elided,omitempty"`  // tool results replaced by a one-line note
		Dropped      []EventID `json:"dropped,omitempty"` // messages and results left out whole
		BeforeTokens int       `json:"beforeTokens"`
		AfterTokens  int       `json:"afterTokens"`
	}
)

// The values of Presence.
const (
	PresentYes     Presence = "yes"
	PresentNo      Presence = "no"
	PresentUnknown Presence = "unknown"
)

// Kind implements Payload.
func (SessionCreated) Kind() Kind     { return "session.created" }
func (SessionRenamed) Kind() Kind     { return "session.renamed" }
func (SessionArchived) Kind() Kind    { return "session.archived" }
func (LeafMoved) Kind() Kind          { return "leaf.moved" }
func (ModelSelected) Kind() Kind      { return "model.selected" }
func (ModeChanged) Kind() Kind        { return "mode.changed" }
func (MessageSent) Kind() Kind        { return "message.sent" }
func (MessageQueued) Kind() Kind      { return "message.queued" }
func (MessageUnqueued) Kind() Kind    { return "message.unqueued" }
func (MessageCompleted) Kind() Kind   { return "message.completed" }
func (RunStarted) Kind() Kind         { return "run.started" }
func (RunContinued) Kind() Kind       { return "run.continued" }
func (RunInterrupted) Kind() Kind     { return "run.interrupted" }
func (RunCancelRequested) Kind() Kind { return "run.cancel_requested" }
func (RunFinished) Kind() Kind        { return "run.finished" }
func (ModelCallStarted) Kind() Kind   { return "model_call.started" }
func (ModelCallFailed) Kind() Kind    { return "model_call.failed" }
func (ContextCompacted) Kind() Kind   { return "context.compacted" }
