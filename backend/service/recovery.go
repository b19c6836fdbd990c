package service

import (
	"context"
	"fmt"
	"os"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/harness"
	"worksite/sessions/projection"
)

func asRoot() bool { return os.Geteuid() == 0 }

// recoverRuns looks, at the start, for runs whose process is gone, and settles
// what they left. It carries none of them on: that is the person's choice.
func (s *Service) recoverRuns() {
	list, err := s.ledger.Views(s.ctx, true)
	if err != nil {
		if s.ctx.Err() == nil {
			s.log.Error("look for interrupted runs", "error", err)
		}
		return
	}
	for _, v := range list {
		if s.ctx.Err() != nil {
			return
		}
		if v.Run == nil || ended(v.Run.State) {
			continue
		}
		l, held, err := s.ledger.LeaseOf(s.ctx, v.ID)
		crashed := err == nil && l.Holder != "" && (!held || s.holder.dead(l.Holder))
		if crashed || v.Run.Cancel {
			reason := onlyWake
			if v.Run.Cancel {
				reason = "" // it was asked to stop: one step closes it
			}
			s.runner.kick(v.ID, reason)
		}
	}
}

// survey answers "is it still there?" for a session's run, each of the four
// questions from its own evidence.
func (s *Service) survey(id domain.SessionID) harness.Survey {
	return func(ctx context.Context, unknown []domain.CallID) domain.Survival {
		v, err := s.ledger.View(ctx, id)
		if err != nil {
			none := domain.Finding{Presence: domain.PresentUnknown, Evidence: err.Error()}
			return domain.Survival{Conversation: none, Files: none, Processes: none, Effects: none}
		}
		return s.findings(ctx, v, unknown)
	}
}

func (s *Service) findings(ctx context.Context, v projection.Session, unknown []domain.CallID) domain.Survival {
	return domain.Survival{
		Conversation: domain.Finding{
			Presence: domain.PresentYes,
			Evidence: fmt.Sprintf("All %d events are in the ledger, the last at %s.", v.LastSeq, v.UpdatedAt.Local().Format("15:04:05")),
		},
		Files:     s.surveyFiles(ctx, v),
		Processes: surveyProcesses(v),
		Effects:   surveyEffects(v, unknown),
	}
}

func (s *Service) surveyFiles(ctx context.Context, v projection.Session) domain.Finding {
	ws, err := s.workspaceView(ctx, v.Workspace)
	switch {
	case err != nil:
		return domain.Finding{Presence: domain.PresentUnknown, Evidence: err.Error()}
	case ws.State != "present":
		return domain.Finding{Presence: domain.PresentNo, Evidence: fmt.Sprintf("The folder %s is %s.", ws.Path, ws.State)}
	}
	return domain.Finding{Presence: domain.PresentYes, Evidence: fmt.Sprintf("The folder %s is there and is the same one.", ws.Path)}
}

// openCommands counts the open calls that had started a process.
func openCommands(v projection.Session) int {
	n := 0
	for _, c := range v.Open {
		if strings.Contains(c.Where, "sandbox") {
			n++
		}
	}
	return n
}

func surveyProcesses(v projection.Session) domain.Finding {
	switch {
	case openCommands(v) == 0:
		return domain.Finding{Presence: domain.PresentNo, Evidence: "No command was running."}
	case v.Consented:
		return domain.Finding{
			Presence: domain.PresentUnknown,
			Evidence: "A command was running without a sandbox; it may have left processes.",
		}
	}
	return domain.Finding{
		Presence: domain.PresentNo,
		Evidence: "A command was running; its sandbox ended with the process that had started it.",
	}
}

func surveyEffects(v projection.Session, unknown []domain.CallID) domain.Finding {
	switch n := len(unknown); {
	case n == 1:
		return domain.Finding{
			Presence: domain.PresentUnknown,
			Evidence: "One call had begun and has no result. Whether it took effect is not known; it is never run again by itself.",
		}
	case n > 1:
		return domain.Finding{
			Presence: domain.PresentUnknown,
			Evidence: fmt.Sprintf("%d calls had begun and have no result. Whether they took effect is not known; they are never run again by themselves.", n),
		}
	case len(v.Open) > 0:
		return domain.Finding{
			Presence: domain.PresentYes,
			Evidence: "A read or a change of a file was going on; the files themselves show whether it happened.",
		}
	}
	return domain.Finding{Presence: domain.PresentYes, Evidence: "Every call that began has its result in the ledger."}
}
