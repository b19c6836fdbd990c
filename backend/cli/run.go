package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/service"
)

type runCmd struct {
	Workspace string           `short:"w" type:"existingdir" default:"." help:"The folder to work in."`
	Session   domain.SessionID `help:"Go on in this session instead of a new one."`
	Model     string           `short:"m" placeholder:"PROVIDER:NAME" help:"The model, e.g. ollama:qwen3:8b or practice:sample."`
	BaseURL   string           `name:"base-url" placeholder:"URL" help:"The address of the model's server."`
	Context   int              `help:"Context window in tokens to ask for." placeholder:"TOKENS"`
	Mode      domain.Mode      `enum:"plan,ask,edits,auto," default:"" help:"Permission mode: plan, ask, edits or auto."`
	Budget    string           `placeholder:"K=V,…" help:"Bounds of the run: tokens, calls, seconds, steps."`
	JSON      bool             `name:"json" help:"Print one ledger event per line, as stored."`
	Attach    []string         `type:"existingfile" help:"Files to copy into the workspace for this task."`
	Task      string           `arg:"" help:"What to do."`
}

// config makes the given address the provider's own, so that the key of the
// environment goes there and nowhere else.
func (c *runCmd) config(cfg *service.Config) {
	switch provider, _, _ := strings.Cut(c.Model, ":"); provider {
	case "openai":
		cfg.OpenAIURL = c.BaseURL
	case "ollama":
		cfg.OllamaURL = c.BaseURL
	}
}

func (c *runCmd) Run(a *app) error {
	msg := service.NewMessage{Text: c.Task}
	if c.Budget != "" {
		b, err := parseBudget(c.Budget)
		if err != nil {
			return err
		}
		msg.Budget = &b
	}
	var ref *domain.ModelRef
	if c.Model != "" {
		provider, name, ok := strings.Cut(c.Model, ":")
		if !ok || provider == "" || name == "" {
			return domain.Errorf(domain.CodeInvalid, "--model is PROVIDER:NAME, not %q", c.Model)
		}
		ref = &domain.ModelRef{Provider: provider, Name: name, BaseURL: c.BaseURL, ContextTokens: c.Context}
	}
	id := c.Session
	if id == "" {
		ws, err := a.svc.OpenFolder(a.ctx, c.Workspace)
		if err != nil {
			return err
		}
		s, err := a.svc.CreateSession(a.ctx, service.NewSession{Workspace: ws, Mode: c.Mode, Model: ref})
		if err != nil {
			return err
		}
		id = s.ID
	} else {
		patch := service.SessionPatch{Model: ref}
		if c.Mode != "" {
			patch.Mode = &c.Mode
		}
		if _, err := a.svc.UpdateSession(a.ctx, id, patch); err != nil {
			return err
		}
	}
	if len(c.Attach) > 0 {
		list, err := a.svc.AttachPaths(a.ctx, id, c.Attach)
		if err != nil {
			return err
		}
		msg.Attachments = list
	}
	before, err := a.svc.Session(a.ctx, id)
	if err != nil {
		return err
	}
	after := before.LastSeq
	if c.Session == "" {
		after = 0 // a new session is printed from its first event
	}
	receipt, err := a.svc.Send(a.ctx, id, msg)
	if err != nil {
		return err
	}
	if receipt.Queued {
		fmt.Fprintln(a.Stderr, "worksite:", receipt.Reason)
		return nil
	}
	return a.follow(id, after, c.JSON, true)
}

type continueCmd struct {
	Run_ string `arg:"" name:"run" help:"The run, or its session."`
	JSON bool   `name:"json" help:"Print one ledger event per line, as stored."`
}

func (c *continueCmd) Run(a *app) error {
	id, err := a.sessionOf(c.Run_)
	if err != nil {
		return err
	}
	v, err := a.svc.Session(a.ctx, id)
	if err != nil {
		return err
	}
	if _, err := a.svc.Continue(a.ctx, id); err != nil {
		return err
	}
	return a.follow(id, v.LastSeq, c.JSON, true)
}

// sessionOf finds a session by its id or by that of its newest run.
func (a *app) sessionOf(name string) (domain.SessionID, error) {
	if strings.HasPrefix(name, "ses_") {
		return domain.SessionID(name), nil
	}
	for _, archived := range []bool{false, true} {
		list, err := a.svc.Sessions(a.ctx, archived)
		if err != nil {
			return "", err
		}
		for _, s := range list {
			if s.Run != nil && string(s.Run.ID) == name {
				return s.ID, nil
			}
		}
	}
	return "", domain.Errorf(domain.CodeNotFound, "there is no run %q that could be continued", name).
		WithHint("`worksite sessions list` shows the sessions and their newest runs.")
}

// follow prints what happens in a session while this process runs it, asks the
// person when somebody sits at the terminal, and returns the run's exit code.
func (a *app) follow(id domain.SessionID, after int64, asJSON, ask bool) error {
	p := &printer{app: a, json: asJSON, after: after}
	ctx := context.WithoutCancel(a.ctx)
	stop := context.AfterFunc(a.ctx, func() {
		if err := a.svc.Cancel(ctx, id); err != nil && domain.CodeOf(err) != domain.CodeFinished {
			fmt.Fprintln(a.Stderr, "worksite:", err)
		}
	})
	defer stop()
	for {
		done := make(chan error, 1)
		go func() { done <- a.svc.Wait(ctx, id) }()
		trouble := p.until(ctx, id, done)
		if trouble != nil && domain.CodeOf(trouble) != "" {
			return trouble
		}
		v, err := a.svc.Session(ctx, id)
		if err != nil {
			return err
		}
		if v.Run != nil && v.Run.State == service.RunWaits && ask && a.Terminal && !asJSON {
			if err := a.askPerson(ctx, id); err != nil {
				return err
			}
			continue
		}
		return p.code(v)
	}
}

// until prints events until done delivers, then what is left.
func (p *printer) until(ctx context.Context, id domain.SessionID, done <-chan error) error {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	var trouble error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		trouble = <-done
		stop()
	}()
	for watch.Err() == nil {
		if err := p.print(ctx, id); err != nil {
			return err
		}
		pos, err := p.svc.LastPos(ctx)
		if err != nil {
			return err
		}
		if err := p.print(ctx, id); err != nil {
			return err
		}
		if err := p.svc.WaitBeyond(watch, pos); err != nil && watch.Err() == nil {
			return err
		}
	}
	<-ended
	return errors.Join(trouble, p.print(ctx, id))
}

// askPerson shows each open request whole and takes the answer from the terminal.
func (a *app) askPerson(ctx context.Context, id domain.SessionID) error {
	list, err := a.svc.Approvals(ctx)
	if err != nil {
		return err
	}
	in := bufio.NewReader(a.Stdin)
	for _, r := range list {
		if r.Session != id {
			continue
		}
		fmt.Fprintf(a.Stdout, "\n◆ %s\n%s\n  why: %s\n", r.Request.Title, indent(r.Request.Shown), r.Request.Reason)
		fmt.Fprint(a.Stdout, "  Allow once? [y/N] ")
		line, err := in.ReadString('\n')
		if err != nil {
			return exit(ExitWaits)
		}
		answer := service.ApprovalAnswer{Decision: "deny", Digest: r.Request.Digest}
		if s := strings.ToLower(strings.TrimSpace(line)); s == "y" || s == "yes" {
			answer.Decision = "grant"
		}
		if err := a.svc.Answer(ctx, r.Request.ApprovalID, answer); err != nil {
			return err
		}
	}
	return nil
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}

func parseBudget(s string) (domain.Budget, error) {
	var b domain.Budget
	for part := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n <= 0 {
			return b, domain.Errorf(domain.CodeInvalid, "budget %q: give a whole number above 0, as in steps=20", part)
		}
		switch strings.TrimSpace(key) {
		case "tokens":
			b.Tokens = n
		case "calls":
			b.Calls = n
		case "seconds":
			b.Seconds = n
		case "steps":
			b.Steps = n
		default:
			return b, domain.Errorf(domain.CodeInvalid, "budget %q: the bounds are tokens, calls, seconds and steps", part)
		}
	}
	return b, nil
}

type eventsCmd struct {
	Session domain.SessionID `arg:"" help:"The session."`
	After   int64            `help:"Print events with a greater seq only."`
	Follow  bool             `short:"f" help:"Go on printing as events come; never computes."`
}

func (c *eventsCmd) Run(a *app) error {
	if _, err := a.svc.Session(a.ctx, c.Session); err != nil {
		return err
	}
	p := &printer{app: a, json: true, after: c.After}
	for {
		pos, err := a.svc.LastPos(a.ctx)
		if err != nil {
			return err
		}
		if err := p.print(a.ctx, c.Session); err != nil {
			return err
		}
		if !c.Follow {
			return nil
		}
		if err := a.svc.WaitBeyond(a.ctx, pos); err != nil {
			if a.ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}
