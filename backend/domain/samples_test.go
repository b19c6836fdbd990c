package domain_test

import (
	"time"

	"worksite/backend/domain"
)

// samples is one payload of every kind with every field filled in, as they stand
// in the conversation about the sample task.
func samples() []domain.Payload {
	h := func(s string) domain.Hash { return domain.HashBytes([]byte(s)) }
	const (
		call     = domain.CallID("call_01M8KZ0000000000000000CA11")
		msg      = domain.MessageID("msg_01M8KZ00000000000000000MSG")
		approval = domain.ApprovalID("apr_01M8KZ00000000000000000APR")
		event    = domain.EventID("01M8KZ0000000000000000EVNT")
	)
	exit := 1
	deadline := time.Date(2026, 11, 29, 18, 30, 0, 0, time.UTC)
	model := domain.ModelRef{Provider: "ollama", Name: "qwen3:8b", BaseURL: "http://127.0.0.1:11434", ContextTokens: 32768}
	attachments := []domain.Attachment{{
		Name: "März & April.csv", MediaType: "text/csv", Size: 2048, SHA256: h("csv"), Path: "input/März & April.csv", Source: "/home/me/März & April.csv",
	}}
	usage := domain.Usage{InputTokens: 4096, OutputTokens: 256, CachedTokens: 3000, LoadMS: 1200, DurationMS: 5400}
	budget := domain.Budget{Tokens: 200_000, Calls: 50, Seconds: 900, Steps: 30}
	file := domain.FileImage{Path: "clean.py", Pre: h("before"), Post: h("after"), PreMode: 0o100644, PostMode: 0o100755}
	files := []domain.FileImage{file}
	scope := domain.GrantScope{ID: "session:bash:pytest -q", Words: "Run exactly “pytest -q” in this session without asking again."}
	plan := []domain.PlanItem{{Text: "Accept a region field", Status: "in_progress"}}
	artifact := domain.ArtifactRef{ID: "art_01M8KZ00000000000000000ART", Name: "report.md", Revision: 2, MediaType: "text/markdown", SHA256: h("report"), Size: 1234}
	found := domain.Finding{Presence: domain.PresentUnknown, Evidence: "The command had begun 3 s before the process ended."}
	effect := domain.Effect{
		Tool: "bash", Class: domain.EffectEffect, Argv: []string{"bash", "-c", "pytest -q > out.txt"}, Cwd: "/workspace", EnvKeys: []string{"PATH"},
		Sandbox: h("spec"), Network: "none", Files: files, Input: h("input"),
	}
	return []domain.Payload{
		domain.SessionCreated{
			V: 1, Title: "Region field", TaskKind: domain.TaskCoding, Placement: domain.PlacementLocal, Workspace: "wsp_01M8KZ00000000000000000WSP",
			WorkspacePath: "/home/me/cleaning", Model: model, Mode: domain.ModeAsk, ForkedFrom: "ses_01M8KZ00000000000000000SES",
		},
		domain.SessionRenamed{V: 1, Title: "Region <field> & tests"},
		domain.SessionArchived{V: 1, Archived: true},
		domain.LeafMoved{V: 1, To: event},
		domain.ModelSelected{V: 1, Model: model},
		domain.ModeChanged{V: 1, Mode: domain.ModeEdits},
		domain.MessageSent{V: 1, MessageID: msg, Text: "Make the script accept a region field.\nThen run the checks.", Attachments: attachments, FromQueue: true},
		domain.MessageQueued{V: 1, MessageID: msg, Text: "Also for Äquatorialguinea\u2028…", Attachments: attachments, Steer: true},
		domain.MessageUnqueued{V: 1, MessageID: msg},
		domain.MessageCompleted{
			V: 1, MessageID: msg, Text: "I look at the script first.", Thinking: "Where are the columns read?",
			ToolCalls: []domain.RequestedCall{{CallID: call, WireID: "call_7", Name: "read", Arguments: `{"path":"clean.py"}`}},
			Model:     model, Finish: domain.FinishTools, Usage: usage, Recorded: true,
		},
		domain.RunStarted{V: 1, MessageID: msg, Mode: domain.ModeAsk, Model: model, Budget: budget, Ceiling: []domain.Capability{domain.CapRead, domain.CapWrite}},
		domain.RunContinued{V: 1, Reason: "recovered"},
		domain.RunInterrupted{
			V: 1, Reason: "The process ended without closing the run.", LastSeq: 17, Unknown: []domain.CallID{call},
			Found: &domain.Survival{Conversation: found, Files: found, Processes: found, Effects: found},
		},
		domain.RunCancelRequested{V: 1},
		domain.RunFinished{V: 1, Outcome: domain.OutcomeBudget, Reason: "The budget of 30 steps is spent.", Steps: 30, Usage: usage},
		domain.ModelCallStarted{
			V: 1, MessageID: msg, Model: model, Messages: 9, Tools: 9, ContextTokens: 5120, ContextLimit: 32768, LastSeq: 16,
			Sources: []domain.ContextSource{{Label: "AGENTS.md", Bytes: 812, SHA256: h("agents")}},
		},
		domain.ModelCallFailed{
			V: 1, MessageID: msg, State: domain.ModelCutOff, Message: "The answer ended in the middle.", Hint: "It is asked again.", Partial: "I look", Retry: true,
		},
		domain.ContextCompacted{
			V: 1, Policy: "old results first", Elided: []domain.EventID{event}, Dropped: []domain.EventID{event}, BeforeTokens: 31000, AfterTokens: 18000,
		},
		domain.ToolCallRequested{V: 1, CallID: call, Name: "bash", Input: `{"command":"pytest -q`, Malformed: "unexpected end of JSON input"},
		domain.GateDecided{V: 1, CallID: call, Digest: h("effect"), Layers: []domain.LayerDecision{{
			Layer: domain.LayerApproval, Verdict: domain.VerdictAsk, Rule: "mode.ask", Reason: "Commands ask in this mode.",
		}}},
		domain.ToolCallRefused{V: 1, CallID: call, Layer: domain.LayerPolicy, Rule: "protected", Reason: "Git hooks are never written."},
		domain.ToolCallIntent{V: 1, CallID: call, Effect: effect, Digest: h("effect"), IdempotencyKey: h("key").String(), Attempt: 1},
		domain.ToolCallExecuting{V: 1, CallID: call, Attempt: 1, Where: "sandbox on this machine"},
		domain.ToolCallCompleted{
			V: 1, CallID: call, Attempt: 1, OutputHash: h("output"), DurationMS: 2100, Recovered: true,
			Output: domain.ToolOutput{
				Text: "1 failed, 4 passed\n", Summary: "exit 1", ExitCode: &exit, Signal: "terminated", TimedOut: true, Dropped: 4096, Spill: h("spill"),
				Files: files, Seen: files, Plan: plan, Artifact: &artifact,
				Report: &domain.ExitReport{DurationMS: 2100, UserMS: 1500, SystemMS: 300, MaxRSSKiB: 40_960, Stdout: 900, Stderr: 20, Left: 1, KilledBy: "timeout"},
			},
		},
		domain.ToolCallFailed{V: 1, CallID: call, Attempt: 1, Code: domain.CodeConflict, Message: "clean.py has changed since it was read.", Hint: "Read it again.", Files: files},
		domain.ToolCallUnknown{V: 1, CallID: call, Attempt: 1, Known: "It was started; nothing more is known."},
		domain.ToolCallResolved{V: 1, CallID: call, Resolution: "retry", Note: "out.txt is not there"},
		domain.ApprovalRequested{
			V: 1, ApprovalID: approval, CallID: call, Digest: h("effect"), Tool: "bash", Title: "Run the tests", Shown: "pytest -q > out.txt", ShownKind: "command",
			Layer: domain.LayerApproval, Rule: "mode.ask", Reason: "Commands ask in this mode.", Touches: []string{"out.txt"}, Scopes: []domain.GrantScope{scope}, Deadline: &deadline,
		},
		domain.ApprovalGranted{V: 1, ApprovalID: approval, CallID: call, Digest: h("effect"), By: "person", Scope: &scope},
		domain.ApprovalDenied{V: 1, ApprovalID: approval, CallID: call, By: "person", Note: "Not into the workspace."},
		domain.ApprovalExpired{V: 1, ApprovalID: approval, CallID: call, Reason: "The run ended before it was answered."},
		domain.GrantRevoked{V: 1, Scope: scope.ID},
		domain.SandboxConsented{V: 1, By: "person", Reason: "bubblewrap is not installed", Revoked: true},
		domain.PlanUpdated{V: 1, CallID: call, Items: plan},
		domain.BudgetSet{V: 1, Budget: budget},
		domain.BudgetReserved{V: 1, For: string(call), Tokens: 5000, Calls: 1},
		domain.BudgetSettled{V: 1, For: string(call), Tokens: 4352, Calls: 1},
		domain.WorkspaceBased{V: 1, Snapshot: "snap_1", TreeHash: h("tree"), Files: 12, Bytes: 34_567, Skipped: 1, Git: "main 3c17706"},
		domain.FileWritten{V: 1, CallID: call, File: file, Mode: 0o644},
		domain.FilesChanged{V: 1, CallID: call, Files: files, BeforeTree: h("tree"), AfterTree: h("tree after")},
		domain.HunkAccepted{V: 1, Path: "clean.py", Hunks: []string{"h1"}, Before: h("before"), After: h("after"), By: "person"},
		domain.HunkRejected{V: 1, Hunks: []string{"h2"}, File: file, By: "person"},
		domain.WorkspaceRestored{V: 1, Files: files, Undo: event, By: "person"},
		domain.WorkspaceAdopted{V: 1, Paths: []string{"clean.py"}, How: "committed", Commit: "0123456789abcdef0123456789abcdef01234567", By: "person"},
		domain.ArtifactPromoted{V: 1, CallID: call, Artifact: artifact, Source: "report.md", By: "agent"},
		domain.ArtifactValidated{V: 1, Artifact: artifact, Check: "pytest -q", By: "agent"},
		domain.ArtifactAdopted{V: 1, Artifact: artifact, SavedTo: "/home/me/report.md", By: "person"},
		domain.ArtifactWithdrawn{V: 1, Artifact: artifact, By: "person"},
	}
}
