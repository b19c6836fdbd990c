package projection

import (
	"time"

	"worksite/backend/domain"
)

// RunState is the state of a run as far as the ledger knows. Whether a process
// works on it is a question of its lease, not of the ledger.
type RunState string

// The values of RunState.
const (
	RunWorking RunState = "working"
	RunWaits   RunState = "waits"   // for the answer to an approval
	RunUnknown RunState = "unknown" // an effect needs a person's decision
	RunDone    RunState = "done"
	RunFailed  RunState = "failed"
	RunStopped RunState = "stopped" // cancelled, or its budget is spent
)

// Ended reports whether nothing is appended to a run in state s any more.
func (s RunState) Ended() bool { return s == RunDone || s == RunFailed || s == RunStopped }

type (
	// Session is the head of a session.
	Session struct {
		ID            domain.SessionID    `json:"id"`
		Title         string              `json:"title"`
		TitleSeq      int64               `json:"titleSeq"` // the event that gave the title
		Workspace     domain.WorkspaceID  `json:"workspace"`
		WorkspacePath string              `json:"workspacePath"`
		TaskKind      domain.TaskKind     `json:"taskKind"`
		Placement     domain.Placement    `json:"placement"`
		Model         domain.ModelRef     `json:"model"`
		Mode          domain.Mode         `json:"mode"`
		ForkedFrom    domain.SessionID    `json:"forkedFrom,omitempty"`
		CreatedAt     time.Time           `json:"createdAt"`
		UpdatedAt     time.Time           `json:"updatedAt"`
		LastSeq       int64               `json:"lastSeq"`
		Leaf          domain.EventID      `json:"leaf"` // the last event; its ancestors are the conversation
		Archived      bool                `json:"archived,omitempty"`
		Consented     bool                `json:"consented,omitempty"` // commands run unsandboxed by consent
		Run           *Run                `json:"run,omitempty"`       // the newest
		Unknown       []domain.CallID     `json:"unknown,omitempty"`   // calls of which nobody knows whether they happened
		Open          []OpenCall          `json:"open,omitempty"`      // calls that began to execute and have no result yet
		Artifacts     int                 `json:"artifacts"`           // distinct artifacts that were not withdrawn
		Kept          []domain.ArtifactID `json:"kept,omitempty"`      // their ids
		Approvals     []Approval          `json:"approvals,omitempty"` // open ones, oldest first
		Queue         []Queued            `json:"queue,omitempty"`     // messages not yet taken, oldest first
	}
	// Run is the newest run of a session.
	Run struct {
		ID         domain.RunID     `json:"id"`
		MessageID  domain.MessageID `json:"messageId"` // the instruction it works on
		State      RunState         `json:"state"`
		Reason     string           `json:"reason,omitempty"`
		StartedAt  time.Time        `json:"startedAt"`
		FinishedAt *time.Time       `json:"finishedAt,omitempty"`
		Steps      int64            `json:"steps"` // model answers
		Usage      domain.Usage     `json:"usage"`
		Budget     domain.Budget    `json:"budget"`
		Cancel     bool             `json:"cancel,omitempty"` // somebody asked it to stop
		Found      *domain.Survival `json:"found,omitempty"`  // what the last interruption left; nil once the run went on
	}
	// Approval is a request that nobody has answered yet.
	Approval struct {
		Run     domain.RunID             `json:"run"`
		Seq     int64                    `json:"seq"`
		At      time.Time                `json:"at"`
		Request domain.ApprovalRequested `json:"request"`
	}
	// OpenCall is a call that may be having its effect now.
	OpenCall struct {
		CallID  domain.CallID `json:"callId"`
		Run     domain.RunID  `json:"run"`
		Attempt int           `json:"attempt"`
		Seq     int64         `json:"seq"`
		At      time.Time     `json:"at"`
		Where   string        `json:"where"`
	}
	// Queued is a message that waits for its turn.
	Queued struct {
		Seq     int64                `json:"seq"`
		At      time.Time            `json:"at"`
		Message domain.MessageQueued `json:"message"`
	}
	// Hit is one place that matches a search.
	Hit struct {
		Session domain.SessionID `json:"session"`
		Title   string           `json:"title"`
		Seq     int64            `json:"seq"`
		At      time.Time        `json:"at"`
		Snippet string           `json:"snippet"`
	}
)
