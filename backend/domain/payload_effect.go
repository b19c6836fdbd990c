package domain

import (
	"encoding/json"
	"time"
)

// EffectClass decides what recovery may do with a tool call that a crash caught executing.
type EffectClass string

// Capability is what a hand may do, e.g. "fs.read", "fs.write", "process.run".
type Capability string

// Layer is one of the four layers of the gate, in order.
type Layer string

// Verdict is a layer's answer.
type Verdict string

// The values of EffectClass, Layer and Verdict, and the capabilities of the built-in hands.
const (
	EffectRead       EffectClass = "read"       // run again
	EffectIdempotent EffectClass = "idempotent" // check the post-image, then run again
	EffectSandboxed  EffectClass = "sandboxed"  // discard and run again
	EffectEffect     EffectClass = "effect"     // unknown until a person decides

	LayerCeiling  Layer = "ceiling"
	LayerPolicy   Layer = "policy"
	LayerBudget   Layer = "budget"
	LayerApproval Layer = "approval"

	VerdictAllow  Verdict = "allow"
	VerdictAsk    Verdict = "ask"
	VerdictRefuse Verdict = "refuse"

	CapRead     Capability = "fs.read"
	CapWrite    Capability = "fs.write"
	CapRun      Capability = "process.run"
	CapPlan     Capability = "plan.update"
	CapArtifact Capability = "artifact.promote"
)

type (
	// ToolCallRequested is the model's request, before any decision.
	ToolCallRequested struct {
		V         int    `json:"v"`
		CallID    CallID `json:"callId"`
		Name      string `json:"name"`
		Input     string `json:"input"`               // the arguments as received
		Malformed string `json:"malformed,omitempty"` // why they could not be used
	}
	// LayerDecision is one layer's answer with its reason.
	LayerDecision struct {
		Layer   Layer   `json:"layer"`
		Verdict Verdict `json:"verdict"`
		Rule    string  `json:"rule"`   // stable name of the rule that decided
		Reason  string  `json:"reason"` // in words, for the person
	}
	// GateDecided records all layers up to the one that decided.
	GateDecided struct {
		V      int             `json:"v"`
		CallID CallID          `json:"callId"`
		Digest Hash            `json:"digest"` // of the exact effect, see Effect
		Layers []LayerDecision `json:"layers"`
	}
	// ToolCallRefused ends a call that the gate did not let through; the model is told.
	ToolCallRefused struct {
		V      int    `json:"v"`
		CallID CallID `json:"callId"`
		Layer  Layer  `json:"layer"`
		Rule   string `json:"rule"`
		Reason string `json:"reason"`
	}
	// Effect is exactly what a call would do. Its digest is what a person approves
	// and what the executor insists on.
	Effect struct {
		Tool    string      `json:"tool"`
		Class   EffectClass `json:"class"`
		Argv    []string    `json:"argv,omitempty"`
		Cwd     string      `json:"cwd,omitempty"`
		EnvKeys []string    `json:"envKeys,omitempty"`
		Sandbox Hash        `json:"sandbox,omitempty"` // hash of the sandbox spec; zero: runs in this process
		Network string      `json:"network,omitempty"` // "none" unless granted
		Files   []FileImage `json:"files,omitempty"`
		Input   Hash        `json:"input"` // of the canonical arguments
	}
	// FileImage is one file before and after an effect. A zero hash is "absent". The
	// hash of a symlink is that of its target's text.
	FileImage struct {
		Path string `json:"path"` // inside the workspace, slash-separated
		Pre  Hash   `json:"pre"`
		Post Hash   `json:"post"`
		// The modes as Unix writes them (0o100644, 0o100755, 0o120777 for a symlink);
		// 0 when the file is absent or its mode was not recorded.
		PreMode  uint32 `json:"preMode,omitempty"`
		PostMode uint32 `json:"postMode,omitempty"`
	}
	// ToolCallIntent is what will be done, decided and digested.
	ToolCallIntent struct {
		V              int    `json:"v"`
		CallID         CallID `json:"callId"`
		Effect         Effect `json:"effect"`
		Digest         Hash   `json:"digest"`
		IdempotencyKey string `json:"idempotencyKey"`
		Attempt        int    `json:"attempt"`
	}
	// ToolCallExecuting is on disk before the effect begins.
	ToolCallExecuting struct {
		V       int    `json:"v"`
		CallID  CallID `json:"callId"`
		Attempt int    `json:"attempt"`
		Where   string `json:"where"` // "this process", "sandbox on this machine", "unsandboxed on this machine"
	}
	// ToolOutput is the bounded result of a call.
	ToolOutput struct {
		Text     string       `json:"text"`               // what the model reads
		Summary  string       `json:"summary,omitempty"`  // one short phrase for the row, e.g. "+14 −3"
		ExitCode *int         `json:"exitCode,omitempty"` // of a command
		Signal   string       `json:"signal,omitempty"`
		TimedOut bool         `json:"timedOut,omitempty"`
		Dropped  int64        `json:"dropped,omitempty"` // bytes of output that are only in the spill file
		Spill    Hash         `json:"spill,omitempty"`   // blob with the whole output
		Files    []FileImage  `json:"files,omitempty"`   // what the call really changed
		Seen     []FileImage  `json:"seen,omitempty"`    // files whose content the model was given; Post is what it read
		Report   *ExitReport  `json:"report,omitempty"`
		Plan     []PlanItem   `json:"plan,omitempty"`
		Artifact *ArtifactRef `json:"artifact,omitempty"`
	}
	// ExitReport tells how a process ended and what it used.
	ExitReport struct {
		DurationMS int64  `json:"durationMs"`
		UserMS     int64  `json:"userMs"`
		SystemMS   int64  `json:"systemMs"`
		MaxRSSKiB  int64  `json:"maxRssKib"`
		Stdout     int64  `json:"stdout"`             // bytes
		Stderr     int64  `json:"stderr"`             // bytes
		Left       int    `json:"left,omitempty"`     // processes that were still there and were stopped
		KilledBy   string `json:"killedBy,omitempty"` // "timeout", "cancel", "output", ""
	}
	// ToolCallCompleted is a call that was carried out; the command itself may have exited non-zero.
	ToolCallCompleted struct {
		V          int        `json:"v"`
		CallID     CallID     `json:"callId"`
		Attempt    int        `json:"attempt"`
		OutputHash Hash       `json:"outputHash"`
		Output     ToolOutput `json:"output"`
		DurationMS int64      `json:"durationMs"`
		Recovered  bool       `json:"recovered,omitempty"` // found done after a crash, not run again
	}
	// ToolCallFailed is a call that certainly had no effect or a known partial one; the model reads Message.
	ToolCallFailed struct {
		V       int         `json:"v"`
		CallID  CallID      `json:"callId"`
		Attempt int         `json:"attempt"`
		Code    Code        `json:"code"`
		Message string      `json:"message"`
		Hint    string      `json:"hint,omitempty"`
		Files   []FileImage `json:"files,omitempty"`
	}
	// ToolCallUnknown is a call of which nobody can say whether its effect happened. It is never retried by itself.
	ToolCallUnknown struct {
		V       int    `json:"v"`
		CallID  CallID `json:"callId"`
		Attempt int    `json:"attempt"`
		Known   string `json:"known"` // what is known, in words
	}
	// ToolCallResolved is a person's decision on an unknown call.
	ToolCallResolved struct {
		V          int    `json:"v"`
		CallID     CallID `json:"callId"`
		Resolution string `json:"resolution"` // "retry", "done", "skip"
		Note       string `json:"note,omitempty"`
	}

	// ApprovalRequested asks the person. Digest binds the answer to the exact effect.
	ApprovalRequested struct {
		V          int          `json:"v"`
		ApprovalID ApprovalID   `json:"approvalId"`
		CallID     CallID       `json:"callId"`
		Digest     Hash         `json:"digest"`
		Tool       string       `json:"tool"`
		Title      string       `json:"title"`     // one line: what it would do
		Shown      string       `json:"shown"`     // the whole command or the whole diff, never cut
		ShownKind  string       `json:"shownKind"` // "command", "diff" or "text"
		Layer      Layer        `json:"layer"`
		Rule       string       `json:"rule"`
		Reason     string       `json:"reason"`
		Touches    []string     `json:"touches,omitempty"` // paths, "network", "secrets", in words
		Scopes     []GrantScope `json:"scopes,omitempty"`  // what "allow…" could create
		Deadline   *time.Time   `json:"deadline,omitempty"`
	}
	// GrantScope is a standing permission in exact words.
	GrantScope struct {
		ID    string `json:"id"`    // e.g. "session:bash:pytest -q"
		Words string `json:"words"` // its exact meaning
	}
	// ApprovalGranted is a yes to exactly Digest, and to Scope for later calls when given.
	ApprovalGranted struct {
		V          int         `json:"v"`
		ApprovalID ApprovalID  `json:"approvalId"`
		CallID     CallID      `json:"callId"`
		Digest     Hash        `json:"digest"`
		By         string      `json:"by"`
		Scope      *GrantScope `json:"scope,omitempty"`
	}
	// ApprovalDenied is a no, with what the agent should know.
	ApprovalDenied struct {
		V          int        `json:"v"`
		ApprovalID ApprovalID `json:"approvalId"`
		CallID     CallID     `json:"callId"`
		By         string     `json:"by"`
		Note       string     `json:"note,omitempty"`
	}
	// ApprovalExpired closes a request that nobody can answer any more.
	ApprovalExpired struct {
		V          int        `json:"v"`
		ApprovalID ApprovalID `json:"approvalId"`
		CallID     CallID     `json:"callId"`
		Reason     string     `json:"reason"`
	}
	// GrantRevoked takes a standing permission back.
	GrantRevoked struct {
		V     int    `json:"v"`
		Scope string `json:"scope"`
	}
	// SandboxConsented is the person's explicit consent to run commands of this session unsandboxed.
	SandboxConsented struct {
		V       int    `json:"v"`
		By      string `json:"by"`
		Reason  string `json:"reason"` // why there is no sandbox
		Revoked bool   `json:"revoked,omitempty"`
	}

	// PlanItem is one line of the visible to-do list.
	PlanItem struct {
		Text   string `json:"text"`
		Status string `json:"status"` // "pending", "in_progress", "completed"
	}
	// PlanUpdated replaces the to-do list.
	PlanUpdated struct {
		V      int        `json:"v"`
		CallID CallID     `json:"callId"`
		Items  []PlanItem `json:"items"`
	}
	// BudgetSet changes the budget of the running run.
	BudgetSet struct {
		V      int    `json:"v"`
		Budget Budget `json:"budget"`
	}
	// BudgetReserved sets an amount aside before it is spent.
	BudgetReserved struct {
		V      int    `json:"v"`
		For    string `json:"for"` // the message or call id
		Tokens int64  `json:"tokens,omitempty"`
		Calls  int64  `json:"calls,omitempty"`
	}
	// BudgetSettled replaces a reservation by what was really spent.
	BudgetSettled struct {
		V      int    `json:"v"`
		For    string `json:"for"`
		Tokens int64  `json:"tokens,omitempty"`
		Calls  int64  `json:"calls,omitempty"`
	}

	// WorkspaceBased names the snapshot that the session's changes are measured against.
	WorkspaceBased struct {
		V        int    `json:"v"`
		Snapshot string `json:"snapshot"`
		TreeHash Hash   `json:"treeHash"`
		Files    int    `json:"files"`
		Bytes    int64  `json:"bytes"`
		Skipped  int    `json:"skipped,omitempty"` // files too large to keep: changes to them are seen, not shown
		Git      string `json:"git,omitempty"`     // branch and commit at that time
	}
	// FileWritten is one write of a hand, with both images.
	FileWritten struct {
		V      int       `json:"v"`
		CallID CallID    `json:"callId"`
		File   FileImage `json:"file"`
		Mode   uint32    `json:"mode,omitempty"`
	}
	// FilesChanged lists what a command changed in the workspace, found by comparing before and after.
	FilesChanged struct {
		V          int         `json:"v"`
		CallID     CallID      `json:"callId"`
		Files      []FileImage `json:"files"`
		BeforeTree Hash        `json:"beforeTree"`
		AfterTree  Hash        `json:"afterTree"`
	}
	// HunkAccepted moves the review base of Path forward by some hunks (all: Hunks empty).
	HunkAccepted struct {
		V      int      `json:"v"`
		Path   string   `json:"path"`
		Hunks  []string `json:"hunks,omitempty"` // hunk ids
		Before Hash     `json:"before"`          // review base before
		After  Hash     `json:"after"`           // review base after
		By     string   `json:"by"`
	}
	// HunkRejected takes hunks out of the file in the workspace.
	HunkRejected struct {
		V     int       `json:"v"`
		Hunks []string  `json:"hunks,omitempty"`
		File  FileImage `json:"file"`
		By    string    `json:"by"`
	}
	// WorkspaceRestored puts files back to what they were before the session's writes.
	WorkspaceRestored struct {
		V     int         `json:"v"`
		Files []FileImage `json:"files"`
		Undo  EventID     `json:"undo,omitempty"` // the restore that this one undoes
		By    string      `json:"by"`
	}
	// WorkspaceAdopted says the person took the session's changes over.
	WorkspaceAdopted struct {
		V      int      `json:"v"`
		Paths  []string `json:"paths"`
		How    string   `json:"how"` // "accepted", "committed"
		Commit string   `json:"commit,omitempty"`
		By     string   `json:"by"`
	}

	// ArtifactRef names one revision of an artifact.
	ArtifactRef struct {
		ID        ArtifactID `json:"id"`
		Name      string     `json:"name"`
		Revision  int        `json:"revision"`
		MediaType string     `json:"mediaType"`
		SHA256    Hash       `json:"sha256"`
		Size      int64      `json:"size"`
	}
	// ArtifactPromoted: a file became a kept output (produced).
	ArtifactPromoted struct {
		V        int         `json:"v"`
		CallID   CallID      `json:"callId,omitempty"`
		Artifact ArtifactRef `json:"artifact"`
		Source   string      `json:"source"` // path inside the workspace
		By       string      `json:"by"`
	}
	// ArtifactValidated: a check passed on exactly these bytes (validated).
	ArtifactValidated struct {
		V        int         `json:"v"`
		Artifact ArtifactRef `json:"artifact"`
		Check    string      `json:"check"`
		By       string      `json:"by"`
	}
	// ArtifactAdopted: the person took it (adopted), e.g. saved it to a place of theirs.
	ArtifactAdopted struct {
		V        int         `json:"v"`
		Artifact ArtifactRef `json:"artifact"`
		SavedTo  string      `json:"savedTo,omitempty"`
		By       string      `json:"by"`
	}
	// ArtifactWithdrawn: not wanted any more; the bytes stay until deleted.
	ArtifactWithdrawn struct {
		V        int         `json:"v"`
		Artifact ArtifactRef `json:"artifact"`
		By       string      `json:"by"`
	}
)

// Kind implements Payload.
func (ToolCallRequested) Kind() Kind { return "tool_call.requested" }
func (GateDecided) Kind() Kind       { return "gate.decided" }
func (ToolCallRefused) Kind() Kind   { return "tool_call.refused" }
func (ToolCallIntent) Kind() Kind    { return "tool_call.intent" }
func (ToolCallExecuting) Kind() Kind { return "tool_call.executing" }
func (ToolCallCompleted) Kind() Kind { return "tool_call.completed" }
func (ToolCallFailed) Kind() Kind    { return "tool_call.failed" }
func (ToolCallUnknown) Kind() Kind   { return "tool_call.unknown" }
func (ToolCallResolved) Kind() Kind  { return "tool_call.resolved" }
func (ApprovalRequested) Kind() Kind { return "approval.requested" }
func (ApprovalGranted) Kind() Kind   { return "approval.granted" }
func (ApprovalDenied) Kind() Kind    { return "approval.denied" }
func (ApprovalExpired) Kind() Kind   { return "approval.expired" }
func (GrantRevoked) Kind() Kind      { return "grant.revoked" }
func (SandboxConsented) Kind() Kind  { return "sandbox.consented" }
func (PlanUpdated) Kind() Kind       { return "plan.updated" }
func (BudgetSet) Kind() Kind         { return "budget.set" }
func (BudgetReserved) Kind() Kind    { return "budget.reserved" }
func (BudgetSettled) Kind() Kind     { return "budget.settled" }
func (WorkspaceBased) Kind() Kind    { return "workspace.based" }
func (FileWritten) Kind() Kind       { return "file.written" }
func (FilesChanged) Kind() Kind      { return "files.changed" }
func (HunkAccepted) Kind() Kind      { return "hunk.accepted" }
func (HunkRejected) Kind() Kind      { return "hunk.rejected" }
func (WorkspaceRestored) Kind() Kind { return "workspace.restored" }
func (WorkspaceAdopted) Kind() Kind  { return "workspace.adopted" }
func (ArtifactPromoted) Kind() Kind  { return "artifact.promoted" }
func (ArtifactValidated) Kind() Kind { return "artifact.validated" }
func (ArtifactAdopted) Kind() Kind   { return "artifact.adopted" }
func (ArtifactWithdrawn) Kind() Kind { return "artifact.withdrawn" }

// Digest is the SHA-256 of e's JSON: what an approval binds.
func (e Effect) Digest() Hash {
	b, err := json.Marshal(e)
	if err != nil {
		panic("effect does not encode: " + err.Error()) // strings and hashes always do
	}
	return HashBytes(b)
}
