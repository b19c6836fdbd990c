package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/service"
)

// printer writes a session's events, as stored or as lines for people.
type printer struct {
	*app
	json     bool
	after    int64
	finished *domain.RunFinished
	names    map[domain.CallID]string
}

// print writes every event after the last one written.
func (p *printer) print(ctx context.Context, id domain.SessionID) error {
	for {
		events, err := p.svc.Events(ctx, id, domain.Span{After: p.after, Limit: 500})
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			p.after = e.Seq
			if f, ok := domain.PayloadOf[domain.RunFinished](e); ok {
				p.finished = &f
			}
			if p.json {
				line, err := json.Marshal(e)
				if err != nil {
					return fmt.Errorf("encode event %d: %w", e.Seq, err)
				}
				if _, err := fmt.Fprintf(p.Stdout, "%s\n", line); err != nil {
					return fmt.Errorf("write event: %w", err)
				}
			} else if line := p.line(e); line != "" {
				if _, err := fmt.Fprintln(p.Stdout, line); err != nil {
					return fmt.Errorf("write event: %w", err)
				}
			}
		}
	}
}

// line says one event in words; "" for those that say nothing new to a person.
func (p *printer) line(e domain.Event) string {
	payload, err := domain.DecodePayload(e.Kind, e.Payload)
	if err != nil {
		return fmt.Sprintf("  ? event %d cannot be read: %v", e.Seq, err)
	}
	switch v := payload.(type) {
	case domain.MessageSent:
		return "\nYou: " + v.Text
	case domain.MessageCompleted:
		if strings.TrimSpace(v.Text) == "" {
			return ""
		}
		mark := ""
		if v.Recorded {
			mark = " (recorded)"
		}
		return fmt.Sprintf("\nAgent%s: %s", mark, strings.TrimSpace(v.Text))
	case domain.ToolCallRequested:
		if p.names == nil {
			p.names = map[domain.CallID]string{}
		}
		p.names[v.CallID] = v.Name + " " + object(v)
		return ""
	case domain.ToolCallCompleted:
		return fmt.Sprintf("  %s %-52s %s  %s", mark(v.Output), p.names[v.CallID], v.Output.Summary, ms(v.DurationMS))
	case domain.ToolCallFailed:
		return fmt.Sprintf("  ✗ %-52s %s", p.names[v.CallID], firstLine(v.Message))
	case domain.ToolCallRefused:
		return fmt.Sprintf("  ⊘ %-52s refused by %s: %s", p.names[v.CallID], v.Layer, v.Reason)
	case domain.ToolCallUnknown:
		return fmt.Sprintf("  ? %-52s unknown: %s", p.names[v.CallID], v.Known)
	case domain.ApprovalRequested:
		return fmt.Sprintf("  ◆ waits for you: %s (%s)", v.Title, v.Reason)
	case domain.ModelCallFailed:
		return fmt.Sprintf("  ✗ model %s: %s %s", v.State, v.Message, v.Hint)
	case domain.ContextCompacted:
		return fmt.Sprintf("  ~ context shortened: %d results and %d messages left out", len(v.Elided), len(v.Dropped))
	case domain.RunInterrupted:
		return "  ! interrupted: " + v.Reason
	case domain.ArtifactPromoted:
		return fmt.Sprintf("  ○ artifact %s, revision %d, %d bytes", v.Artifact.Name, v.Artifact.Revision, v.Artifact.Size)
	case domain.RunFinished:
		return fmt.Sprintf("\n%s after %d steps, %d tokens in, %d out. %s", v.Outcome, v.Steps, v.Usage.InputTokens, v.Usage.OutputTokens, v.Reason)
	}
	return ""
}

func mark(o domain.ToolOutput) string {
	if o.ExitCode != nil && *o.ExitCode != 0 || o.TimedOut {
		return "✗"
	}
	return "✓"
}

// object is what a call is about, in a few words.
func object(v domain.ToolCallRequested) string {
	var in struct{ Path, Pattern, Command string }
	if json.Unmarshal([]byte(v.Input), &in) != nil {
		return ""
	}
	for _, s := range []string{in.Command, in.Pattern, in.Path} {
		if s != "" {
			return clip(firstLine(s), 46)
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func ms(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d ms", n)
	}
	return fmt.Sprintf("%.1f s", float64(n)/1000)
}

// code maps how the run stands to the exit code.
func (p *printer) code(v service.SessionView) error {
	if v.Run == nil {
		return nil
	}
	switch v.Run.State {
	case service.RunDone:
		return nil
	case service.RunWaits:
		fmt.Fprintf(p.Stderr, "worksite: waits for an approval; `worksite approvals list` shows it, then `worksite continue %s`.\n", v.Run.ID)
		return exit(ExitWaits)
	case service.RunUnknown:
		fmt.Fprintln(p.Stderr, "worksite: nobody knows whether a call took effect; look at `worksite sessions show "+string(v.ID)+"` and decide.")
		return exit(ExitUnknown)
	case service.RunStopped:
		if p.finished != nil && p.finished.Outcome == domain.OutcomeBudget {
			return exit(ExitBudget)
		}
		return exit(ExitCancelled)
	default:
		if v.Run.Reason != "" {
			fmt.Fprintln(p.Stderr, "worksite:", v.Run.Reason)
		}
		return exit(ExitFailed)
	}
}

// readAll returns what r holds as text, bounded, and closes it.
func readAll(r io.ReadCloser) string {
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return err.Error()
	}
	return string(b)
}
