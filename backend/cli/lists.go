package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"worksite/backend/domain"
	"worksite/backend/service"
)

// listing is shared by every command that lists.
type listing struct {
	JSON bool `name:"json" help:"Print JSON, one object per line."`
}

// show prints a list as JSON lines or as a table of the given row function.
func show[T any](a *app, l listing, header string, list []T, row func(T) string) error {
	if l.JSON {
		enc := json.NewEncoder(a.Stdout)
		for _, v := range list {
			if err := enc.Encode(v); err != nil {
				return fmt.Errorf("write list: %w", err)
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
	if len(list) > 0 {
		fmt.Fprintln(w, header)
	}
	for _, v := range list {
		fmt.Fprintln(w, row(v))
	}
	return w.Flush()
}

type sessionsCmd struct {
	List   sessionsListCmd   `cmd:"" help:"List sessions."`
	Show   sessionsShowCmd   `cmd:"" help:"Show one session as text."`
	Search sessionsSearchCmd `cmd:"" help:"Find messages by their text."`
	Export sessionsExportCmd `cmd:"" help:"Write a session to a file or to standard output."`
	Import sessionsImportCmd `cmd:"" help:"Take an exported session in."`
	Delete sessionsDeleteCmd `cmd:"" help:"Delete a session's content for good."`
	Fork   sessionsLeafCmd   `cmd:"" help:"Go on from an earlier event."`
	Decide sessionsDecideCmd `cmd:"" help:"Decide on a call of which nobody knows whether it took effect."`
	Doctor journalVerifyCmd  `cmd:"" help:"Check the ledger and say what is still there."`
}

type sessionsListCmd struct {
	listing
	Archived bool `help:"Include archived sessions."`
}

func (c *sessionsListCmd) Run(a *app) error {
	list, err := a.svc.Sessions(a.ctx, c.Archived)
	if err != nil {
		return err
	}
	return show(a, c.listing, "SESSION\tSTATE\tUPDATED\tTITLE", list, func(s service.SessionView) string {
		state := "no run"
		if s.Run != nil {
			state = string(s.Run.State)
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s", s.ID, state, s.UpdatedAt.Local().Format(time.DateTime), s.Title)
	})
}

type sessionsShowCmd struct {
	Session domain.SessionID `arg:""`
	JSON    bool             `name:"json" help:"Print the session's head as JSON."`
}

func (c *sessionsShowCmd) Run(a *app) error {
	v, err := a.svc.Session(a.ctx, c.Session)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(a.Stdout).Encode(v)
	}
	fmt.Fprintf(a.Stdout, "%s  %s\nmode %s, model %s:%s\n", v.ID, v.Title, v.Mode, v.Model.Provider, v.Model.Name)
	p := &printer{app: a}
	if err := p.print(a.ctx, c.Session); err != nil {
		return err
	}
	if r := v.Run; r != nil {
		fmt.Fprintf(a.Stdout, "\nrun %s: %s", r.ID, r.State)
		if r.Reason != "" {
			fmt.Fprintf(a.Stdout, " (%s)", r.Reason)
		}
		fmt.Fprintln(a.Stdout)
		if f := r.Survival; f != nil {
			for _, row := range []struct {
				name string
				f    domain.Finding
			}{{"conversation", f.Conversation}, {"files", f.Files}, {"processes", f.Processes}, {"outside effects", f.Effects}} {
				fmt.Fprintf(a.Stdout, "  %-16s %-8s %s\n", row.name, row.f.Presence, row.f.Evidence)
			}
		}
		for _, id := range r.Unknown {
			fmt.Fprintf(a.Stdout, "  unknown call %s: worksite sessions decide %s %s retry|done|skip\n", id, v.ID, id)
		}
	}
	return nil
}

type sessionsSearchCmd struct {
	listing
	Text string `arg:"" help:"The text to find."`
}

func (c *sessionsSearchCmd) Run(a *app) error {
	list, err := a.svc.Search(a.ctx, c.Text)
	if err != nil {
		return err
	}
	return show(a, c.listing, "SESSION\tSEQ\tTITLE\tFOUND", list, func(h service.SearchHit) string {
		return fmt.Sprintf("%s\t%d\t%s\t%s", h.Session, h.Seq, clip(h.Title, 30), clip(firstLine(h.Snippet), 60))
	})
}

type sessionsImportCmd struct {
	File string `arg:"" type:"existingfile"`
}

func (c *sessionsImportCmd) Run(a *app) error {
	f, err := os.Open(c.File)
	if err != nil {
		return fmt.Errorf("read the export: %w", err)
	}
	defer f.Close()
	id, err := a.svc.Import(a.ctx, f)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, id)
	return nil
}

type sessionsDeleteCmd struct {
	Session domain.SessionID `arg:""`
	Yes     bool             `short:"y" help:"Do not ask."`
}

func (c *sessionsDeleteCmd) Run(a *app) error {
	if !c.Yes {
		return domain.Errorf(domain.CodeInvalid, "deleting %s removes its messages and results for good", c.Session).
			WithHint("Say --yes if that is meant; `worksite sessions export` keeps a copy.")
	}
	return a.svc.DeleteSession(a.ctx, c.Session)
}

type sessionsLeafCmd struct {
	Session domain.SessionID `arg:""`
	Event   domain.EventID   `arg:"" help:"The event to go on from; its files are not touched."`
}

func (c *sessionsLeafCmd) Run(a *app) error { return a.svc.MoveLeaf(a.ctx, c.Session, c.Event) }

type sessionsDecideCmd struct {
	Session  domain.SessionID `arg:""`
	Call     domain.CallID    `arg:""`
	Decision string           `arg:"" enum:"retry,done,skip" help:"retry, done or skip."`
	Note     string           `help:"What the agent should know."`
	JSON     bool             `name:"json" help:"Print one ledger event per line, as stored."`
}

func (c *sessionsDecideCmd) Run(a *app) error {
	v, err := a.svc.Session(a.ctx, c.Session)
	if err != nil {
		return err
	}
	if err := a.svc.Resolve(a.ctx, c.Session, c.Call, c.Decision, c.Note); err != nil {
		return err
	}
	return a.follow(c.Session, v.LastSeq, c.JSON, true)
}

type approvalsCmd struct {
	List  approvalsListCmd  `cmd:"" default:"1" help:"List open approvals, each whole."`
	Grant approvalsGrantCmd `cmd:"" help:"Allow exactly what was shown, once."`
	Deny  approvalsDenyCmd  `cmd:"" help:"Say no."`
}

type approvalsListCmd struct{ listing }

func (c *approvalsListCmd) Run(a *app) error {
	list, err := a.svc.Approvals(a.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return show(a, c.listing, "", list, nil)
	}
	for _, r := range list {
		fmt.Fprintf(a.Stdout, "%s  %s\n  in %s (%s)\n  why: %s [%s: %s]\n%s\n\n", r.Request.ApprovalID, r.Request.Title,
			r.Session, r.Title, r.Request.Reason, r.Request.Layer, r.Request.Rule, indent(r.Request.Shown))
	}
	return nil
}

type approvalsGrantCmd struct {
	Approval domain.ApprovalID `arg:""`
	JSON     bool              `name:"json" help:"Print one ledger event per line, as stored."`
}

func (c *approvalsGrantCmd) Run(a *app) error {
	return a.answer(c.Approval, service.ApprovalAnswer{Decision: "grant"}, c.JSON)
}

type approvalsDenyCmd struct {
	Approval domain.ApprovalID `arg:""`
	Note     string            `help:"What the agent should know."`
	JSON     bool              `name:"json" help:"Print one ledger event per line, as stored."`
}

func (c *approvalsDenyCmd) Run(a *app) error {
	return a.answer(c.Approval, service.ApprovalAnswer{Decision: "deny", Note: c.Note}, c.JSON)
}

// answer answers one request and follows the run that goes on with it.
func (a *app) answer(id domain.ApprovalID, answer service.ApprovalAnswer, asJSON bool) error {
	list, err := a.svc.Approvals(a.ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.Request.ApprovalID != id {
			continue
		}
		v, err := a.svc.Session(a.ctx, r.Session)
		if err != nil {
			return err
		}
		answer.Digest = r.Request.Digest
		if err := a.svc.Answer(a.ctx, id, answer); err != nil {
			return err
		}
		return a.follow(r.Session, v.LastSeq, asJSON, true)
	}
	return domain.Errorf(domain.CodeNotFound, "there is no open approval %s", id).WithHint("`worksite approvals list` shows the open ones.")
}
