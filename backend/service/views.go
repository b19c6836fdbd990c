package service

import (
	"time"

	"worksite/backend/domain"
	"worksite/backend/stream"
)

// The views are what faces show and what crosses to the page; tsgen writes their
// TypeScript. Times are RFC 3339 strings, numbers stay below 2^53.

// RunState is a run's state as a person reads it.
type RunState string

// The values of RunState; the same six states are told apart everywhere in the window.
const (
	RunWorking     RunState = "working"
	RunWaits       RunState = "waits"       // for an approval
	RunUnknown     RunState = "unknown"     // an effect needs a decision
	RunInterrupted RunState = "interrupted" // no process runs it: continue or leave it
	RunDone        RunState = "done"
	RunFailed      RunState = "failed"
	RunStopped     RunState = "stopped" // cancelled or budget spent
)

type (
	// Bootstrap is the first thing a page asks for.
	Bootstrap struct {
		Version    string          `json:"version"`
		Cell       domain.CellID   `json:"cell"`
		Face       string          `json:"face"` // "window" or "browser"
		DataDir    string          `json:"dataDir"`
		FirstStart bool            `json:"firstStart"`
		AsRoot     bool            `json:"asRoot"`
		Notices    []Notice        `json:"notices"` // banners: no sandbox, running as root, …
		Workspaces []WorkspaceView `json:"workspaces"`
		Sessions   []SessionView   `json:"sessions"`
		Approvals  []ApprovalView  `json:"approvals"`
		Model      domain.ModelRef `json:"model"`  // chosen for new sessions
		Cursor     int64           `json:"cursor"` // ledger position this answer is true at
	}
	// Notice is a lasting remark with its remedy.
	Notice struct {
		ID    string `json:"id"`    // "root", "no_sandbox", "practice_model", …
		Level string `json:"level"` // "info", "warning", "error"
		Text  string `json:"text"`
		Hint  string `json:"hint,omitempty"`
	}
	// WorkspaceView is a workspace in a list.
	WorkspaceView struct {
		ID       domain.WorkspaceID `json:"id"`
		Name     string             `json:"name"`
		Path     string             `json:"path"`
		TaskKind domain.TaskKind    `json:"taskKind"`
		State    string             `json:"state"` // "present", "missing", "replaced"
		Trusted  bool               `json:"trusted"`
		Gated    []string           `json:"gated"` // files that are loaded only after trust, e.g. AGENTS.md
		Git      *GitView           `json:"git,omitempty"`
		Sandbox  string             `json:"sandbox"` // "sandboxed" or why not
	}
	// GitView is the Git status of a workspace.
	GitView struct {
		Branch   string `json:"branch"` // "" when detached
		Commit   string `json:"commit"` // "" when unborn
		Changed  int    `json:"changed"`
		Detached bool   `json:"detached,omitempty"`
	}
	// SessionView is a session in a list and the head of an open one.
	SessionView struct {
		ID        domain.SessionID   `json:"id"`
		Title     string             `json:"title"`
		Workspace domain.WorkspaceID `json:"workspace"`
		TaskKind  domain.TaskKind    `json:"taskKind"`
		Placement domain.Placement   `json:"placement"`
		Model     domain.ModelRef    `json:"model"`
		Mode      domain.Mode        `json:"mode"`
		Run       *RunView           `json:"run,omitempty"` // the newest
		LastSeq   int64              `json:"lastSeq"`
		CreatedAt time.Time          `json:"createdAt"`
		UpdatedAt time.Time          `json:"updatedAt"`
		Archived  bool               `json:"archived,omitempty"`
		Waiting   int                `json:"waiting"`             // open approvals
		Consented bool               `json:"consented,omitempty"` // commands run unsandboxed by consent
	}
	// RunView is the state of a run.
	RunView struct {
		ID         domain.RunID     `json:"id"`
		State      RunState         `json:"state"`
		Reason     string           `json:"reason,omitempty"`
		StartedAt  time.Time        `json:"startedAt"`
		FinishedAt *time.Time       `json:"finishedAt,omitempty"`
		Steps      int64            `json:"steps"`
		Usage      domain.Usage     `json:"usage"`
		Budget     domain.Budget    `json:"budget"`
		Here       bool             `json:"here"` // this process runs it
		Survival   *domain.Survival `json:"survival,omitempty"`
		Unknown    []domain.CallID  `json:"unknown,omitempty"`
	}
	// ApprovalView is an open request in the inbox.
	ApprovalView struct {
		Session domain.SessionID         `json:"session"`
		Title   string                   `json:"title"` // the session's
		Run     domain.RunID             `json:"run"`
		Seq     int64                    `json:"seq"`
		At      time.Time                `json:"at"`
		Request domain.ApprovalRequested `json:"request"`
	}
	// Receipt answers a submission: accepted is not done.
	Receipt struct {
		Session domain.SessionID `json:"session"`
		Run     domain.RunID     `json:"run"`
		Pending bool             `json:"pending"`
		Durable bool             `json:"durable"`
		Queued  bool             `json:"queued"` // waits in the queue of a run that is going on
		Reason  string           `json:"reason,omitempty"`
	}

	// ChangesView is what differs between the session's review base and the workspace now.
	ChangesView struct {
		Session  domain.SessionID `json:"session"`
		Based    bool             `json:"based"` // false: nothing was done in the workspace yet
		Files    []FileChange     `json:"files"`
		Hunks    int              `json:"hunks"`    // open
		Accepted int              `json:"accepted"` // hunks accepted so far in this session
		Rejected int              `json:"rejected"`
		Message  string           `json:"message"` // proposed commit message
		Git      *GitView         `json:"git,omitempty"`
	}
	// FileChange is one changed file.
	FileChange struct {
		Path    string      `json:"path"`
		Status  string      `json:"status"` // "added", "modified", "deleted"
		Binary  bool        `json:"binary,omitempty"`
		TooBig  bool        `json:"tooBig,omitempty"`
		Added   int         `json:"added"`
		Removed int         `json:"removed"`
		Pre     domain.Hash `json:"pre"`   // review base
		Post    domain.Hash `json:"post"`  // in the workspace now
		ByYou   bool        `json:"byYou"` // changed since by something other than this session
		Hunks   []Hunk      `json:"hunks"`
	}
	// Hunk is one reviewable piece; its id is the hash of its content and place.
	Hunk struct {
		ID       string     `json:"id"`
		OldStart int        `json:"oldStart"` // 1-based
		OldLines int        `json:"oldLines"`
		NewStart int        `json:"newStart"`
		NewLines int        `json:"newLines"`
		Section  string     `json:"section,omitempty"` // nearest line above that names a function or heading
		Lines    []DiffLine `json:"lines"`
	}
	// DiffLine is one line of a hunk.
	DiffLine struct {
		Op   string `json:"op"` // " ", "+", "-"
		Text string `json:"text"`
		NoNL bool   `json:"noNl,omitempty"` // no newline at the end of the file
	}
	// ReviewAnswer is the result of an accept, reject or restore.
	ReviewAnswer struct {
		Changes ChangesView `json:"changes"`
		Skipped []string    `json:"skipped,omitempty"` // what was not done and why
	}

	// ArtifactView is one artifact with its three separate facts.
	ArtifactView struct {
		Ref       domain.ArtifactRef `json:"ref"`
		Session   domain.SessionID   `json:"session"`
		Source    string             `json:"source"`
		Produced  *Mark              `json:"produced,omitempty"`
		Validated *Mark              `json:"validated,omitempty"`
		Adopted   *Mark              `json:"adopted,omitempty"`
		Withdrawn *Mark              `json:"withdrawn,omitempty"`
		SavedTo   string             `json:"savedTo,omitempty"`
		Check     string             `json:"check,omitempty"`
		Previewed string             `json:"previewed"` // "text", "markdown", "image", "csv", "none"
	}
	// Mark is who did something when.
	Mark struct {
		At time.Time `json:"at"`
		By string    `json:"by"`
	}
	// ModelsView lists what can be chosen and what is missing.
	ModelsView struct {
		Chosen    domain.ModelRef    `json:"chosen"`
		Models    []domain.ModelInfo `json:"models"`
		Providers []ProviderView     `json:"providers"`
	}
	// ProviderView tells the state of one provider with its remedy.
	ProviderView struct {
		Name    string            `json:"name"`
		State   domain.ModelState `json:"state" tsgen:"empty"` // "" is fine
		Message string            `json:"message,omitempty"`
		Hint    string            `json:"hint,omitempty"`
		BaseURL string            `json:"baseUrl,omitempty"`
	}
	// DoctorView says what works here, what does not, and the remedy.
	DoctorView struct {
		Checks []Check `json:"checks"`
	}
	// Check is one line of the doctor.
	Check struct {
		Name   string `json:"name"`
		OK     bool   `json:"ok"`
		State  string `json:"state"` // "ok", "missing", "degraded", "failed"
		Detail string `json:"detail"`
		Hint   string `json:"hint,omitempty"`
	}
	// Settings are the person's choices.
	Settings struct {
		Theme     string          `json:"theme"` // "system", "light", "dark", "contrast"
		Model     domain.ModelRef `json:"model"`
		Mode      domain.Mode     `json:"mode"`
		Budget    domain.Budget   `json:"budget"`
		OllamaURL string          `json:"ollamaUrl"`
		OpenAIURL string          `json:"openaiUrl"`
	}

	// NewSession asks for a session; an empty title is taken from the first message.
	NewSession struct {
		Workspace domain.WorkspaceID `json:"workspace"`
		Title     string             `json:"title,omitempty"`
		TaskKind  domain.TaskKind    `json:"taskKind,omitempty"`
		Mode      domain.Mode        `json:"mode,omitempty"`
		Model     *domain.ModelRef   `json:"model,omitempty"`
	}
	// NewMessage is what the person sends. While a run goes on it is queued.
	NewMessage struct {
		Text        string              `json:"text"`
		Attachments []domain.Attachment `json:"attachments,omitempty"`
		Steer       bool                `json:"steer,omitempty"`
		Budget      *domain.Budget      `json:"budget,omitempty"`
	}
	// ApprovalAnswer answers a request. Digest must be the one that was shown.
	ApprovalAnswer struct {
		Decision string      `json:"decision"` // "grant" or "deny"
		Digest   domain.Hash `json:"digest"`
		Scope    string      `json:"scope,omitempty"` // id of one of the offered scopes
		Note     string      `json:"note,omitempty"`
	}
	// ReviewRequest names hunks of a file; no hunks is the whole file, no path is everything.
	ReviewRequest struct {
		Path  string      `json:"path,omitempty"`
		Hunks []string    `json:"hunks,omitempty"`
		Post  domain.Hash `json:"post,omitempty"` // the state that was shown; anything else is refused
	}
	// SearchHit is one event that matches a search.
	SearchHit struct {
		Session domain.SessionID `json:"session"`
		Title   string           `json:"title"`
		Seq     int64            `json:"seq"`
		At      time.Time        `json:"at"`
		Snippet string           `json:"snippet"`
	}

	// Frame is one line of the stream (NDJSON).
	Frame struct {
		Type    string           `json:"type"` // "event", "delta", "output", "changes", "gap", "ping", "session"
		Event   *domain.Event    `json:"event,omitempty"`
		Live    *stream.Live     `json:"live,omitempty"`
		Session domain.SessionID `json:"session,omitempty"` // "changes": look again; "session": its view follows
		View    *SessionView     `json:"view,omitempty"`
		Cursor  int64            `json:"cursor,omitempty"` // "ping", "gap": ledger position; read on from here
	}
)
