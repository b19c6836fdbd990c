package projection

import (
	"slices"

	"worksite/backend/domain"
)

// Apply returns s with event e added; p is e's payload. The result shares what
// did not change with s, and s itself is never written to, so both may be kept.
func Apply(s Session, e domain.Event, p domain.Payload) Session {
	s.LastSeq, s.Leaf, s.UpdatedAt = e.Seq, e.ID, e.CreatedAt
	switch p := p.(type) {
	case domain.SessionCreated:
		s.ID, s.CreatedAt = e.Session, e.CreatedAt
		s.Title, s.TitleSeq = p.Title, e.Seq
		s.Workspace, s.WorkspacePath = p.Workspace, p.WorkspacePath
		s.TaskKind, s.Placement, s.Model, s.Mode = p.TaskKind, p.Placement, p.Model, p.Mode
		s.ForkedFrom = p.ForkedFrom
	case domain.SessionRenamed:
		s.Title, s.TitleSeq = p.Title, e.Seq
	case domain.SessionArchived:
		s.Archived = p.Archived
	case domain.ModelSelected:
		s.Model = p.Model
	case domain.ModeChanged:
		s.Mode = p.Mode
	case domain.SandboxConsented:
		s.Consented = !p.Revoked
	case domain.MessageQueued:
		s.Queue = with(s.Queue, Queued{Seq: e.Seq, At: e.CreatedAt, Message: p})
	case domain.MessageUnqueued:
		s.Queue = unqueue(s.Queue, p.MessageID)
	case domain.MessageSent:
		if p.FromQueue {
			s.Queue = unqueue(s.Queue, p.MessageID)
		}
	case domain.ArtifactPromoted:
		s = kept(s, without(s.Kept, func(id domain.ArtifactID) bool { return id == p.Artifact.ID }), p.Artifact.ID)
	case domain.ArtifactWithdrawn:
		s = kept(s, without(s.Kept, func(id domain.ArtifactID) bool { return id == p.Artifact.ID }))
	default:
		s = applyCall(s, e, p)
	}
	return applyRun(s, e, p)
}

// applyCall follows tool calls and approvals.
func applyCall(s Session, e domain.Event, p domain.Payload) Session {
	switch p := p.(type) {
	case domain.ToolCallExecuting:
		s.Open = with(closeCall(s.Open, p.CallID), OpenCall{
			CallID: p.CallID, Run: e.Run, Attempt: p.Attempt, Seq: e.Seq, At: e.CreatedAt, Where: p.Where,
		})
	case domain.ToolCallIntent: // another attempt replaces the one that was caught executing
		s.Open = closeCall(s.Open, p.CallID)
	case domain.ToolCallRefused: // an attempt that recovery found without effect
		s.Open = closeCall(s.Open, p.CallID)
	case domain.ToolCallCompleted:
		s.Open = closeCall(s.Open, p.CallID)
	case domain.ToolCallFailed:
		s.Open = closeCall(s.Open, p.CallID)
	case domain.ToolCallUnknown:
		s.Open = closeCall(s.Open, p.CallID)
		s.Unknown = with(forget(s.Unknown, p.CallID), p.CallID)
	case domain.ToolCallResolved:
		s.Unknown = forget(s.Unknown, p.CallID)
	case domain.ApprovalRequested:
		s.Approvals = with(s.Approvals, Approval{Run: e.Run, Seq: e.Seq, At: e.CreatedAt, Request: p})
	case domain.ApprovalGranted:
		s.Approvals = answer(s.Approvals, p.ApprovalID)
	case domain.ApprovalDenied:
		s.Approvals = answer(s.Approvals, p.ApprovalID)
	case domain.ApprovalExpired:
		s.Approvals = answer(s.Approvals, p.ApprovalID)
	}
	return s
}

// applyRun follows the newest run; its state also depends on what is open.
func applyRun(s Session, e domain.Event, p domain.Payload) Session {
	if p, ok := p.(domain.RunStarted); ok {
		s.Run = &Run{ID: e.Run, State: RunWorking, StartedAt: e.CreatedAt, Budget: p.Budget, MessageID: p.MessageID}
	}
	if s.Run == nil || s.Run.State.Ended() {
		return s
	}
	run := *s.Run
	mine := e.Run == run.ID
	switch p := p.(type) {
	case domain.BudgetSet:
		if mine || e.Run == "" {
			run.Budget = p.Budget
		}
	case domain.MessageCompleted:
		if mine {
			run.Steps++
			run.Usage = add(run.Usage, p.Usage)
			run.Reason = ""
		}
	case domain.ModelCallFailed:
		if mine {
			run.Reason = p.Message
		}
	case domain.RunContinued:
		if mine {
			run.Reason, run.Found = "", nil
		}
	case domain.RunInterrupted:
		if mine {
			run.Reason, run.Found = p.Reason, p.Found
		}
	case domain.RunCancelRequested:
		run.Cancel = run.Cancel || mine
	case domain.RunFinished:
		if mine {
			return finish(s, run, e, p)
		}
	}
	switch {
	case len(s.Unknown) > 0:
		run.State = RunUnknown
	case len(s.Approvals) > 0:
		run.State = RunWaits
	default:
		run.State = RunWorking
	}
	s.Run = &run
	return s
}

func finish(s Session, run Run, e domain.Event, p domain.RunFinished) Session {
	switch p.Outcome {
	case domain.OutcomeDone:
		run.State = RunDone
	case domain.OutcomeCancelled, domain.OutcomeBudget:
		run.State = RunStopped
	default:
		run.State = RunFailed
	}
	at := e.CreatedAt
	run.FinishedAt, run.Reason, run.Steps, run.Usage = &at, p.Reason, p.Steps, p.Usage
	s.Run = &run
	// Nobody could act on an answer any more, so nothing may be asked.
	s.Approvals = without(s.Approvals, func(a Approval) bool { return a.Run == run.ID })
	return s
}

func add(a, b domain.Usage) domain.Usage {
	return domain.Usage{
		InputTokens:  a.InputTokens + b.InputTokens,
		OutputTokens: a.OutputTokens + b.OutputTokens,
		CachedTokens: a.CachedTokens + b.CachedTokens,
		LoadMS:       a.LoadMS + b.LoadMS,
		DurationMS:   a.DurationMS + b.DurationMS,
	}
}

func kept(s Session, ids []domain.ArtifactID, more ...domain.ArtifactID) Session {
	s.Kept = with(ids, more...)
	s.Artifacts = len(s.Kept)
	return s
}

// with appends to a copy, because earlier values of the session share the array.
func with[T any](list []T, more ...T) []T {
	if len(more) == 0 {
		return list
	}
	return append(slices.Clip(list), more...)
}

// without returns list itself when nothing goes, else a copy; nil when nothing is left.
func without[T any](list []T, gone func(T) bool) []T {
	if !slices.ContainsFunc(list, gone) {
		return list
	}
	var out []T
	for _, v := range list {
		if !gone(v) {
			out = append(out, v)
		}
	}
	return out
}

func unqueue(list []Queued, id domain.MessageID) []Queued {
	return without(list, func(q Queued) bool { return q.Message.MessageID == id })
}

func closeCall(list []OpenCall, id domain.CallID) []OpenCall {
	return without(list, func(c OpenCall) bool { return c.CallID == id })
}

func forget(list []domain.CallID, id domain.CallID) []domain.CallID {
	return without(list, func(c domain.CallID) bool { return c == id })
}

func answer(list []Approval, id domain.ApprovalID) []Approval {
	return without(list, func(a Approval) bool { return a.Request.ApprovalID == id })
}
