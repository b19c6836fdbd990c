package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"worksite/backend/domain"
	"worksite/backend/server"
	"worksite/backend/service"
)

type serveCmd struct {
	Listen string `default:"127.0.0.1:0" help:"The loopback address to listen on."`
	Token  string `hidden:"" env:"WORKSITE_TOKEN" help:"The token to ask for instead of a fresh one, so that a page outlives a restart."`
	Pause  int    `hidden:"" default:"20" help:"Milliseconds between the pieces of a recorded answer."`
}

func (c *serveCmd) config(cfg *service.Config) { cfg.Stays, cfg.PracticePause = true, c.Pause }

func (c *serveCmd) Run(a *app) error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "--listen is ADDRESS:PORT, not %q", c.Listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return domain.Errorf(domain.CodeForbidden, "%s is not a loopback address", host).
			WithHint("Worksite is served to this machine only; use an SSH tunnel from another.")
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(a.ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	if a.PageMissing {
		fmt.Fprintln(a.Stderr, "worksite: the page is not in this binary; run `make build` for it. The API is served all the same.")
	}
	handler := server.New(a.svc, server.Config{Page: a.Page, Token: c.Token})
	fmt.Fprintf(a.Stdout, "http://%s/#token=%s\n", ln.Addr(), handler.Token())
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return a.ctx }}
	stopped := make(chan error, 1)
	go func() {
		<-a.ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 3*time.Second)
		defer cancel()
		err := srv.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = srv.Close()
		}
		stopped <- err
	}()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-stopped
}

type demoCmd struct {
	Keep bool `help:"Leave the changes unreviewed, to look at them afterwards."`
}

func (c *demoCmd) config(cfg *service.Config) { cfg.PracticePause = -1 }

const demoTask = "Make the data-cleaning script accept a region field, run the checks, and send me the result."

// Run does the whole sample job through the same loop as always: the practice
// model in auto mode, its commands in the sandbox.
func (c *demoCmd) Run(a *app) error {
	w, err := a.svc.AddSample(a.ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Sample workspace: %s\nModel: practice (a recorded conversation, played through the real loop)\n", w.Path)
	ref := domain.ModelRef{Provider: "practice", Name: "sample"}
	s, err := a.svc.CreateSession(a.ctx, service.NewSession{Workspace: w.ID, Mode: domain.ModeAuto, Model: &ref})
	if err != nil {
		return err
	}
	if _, err := a.svc.Send(a.ctx, s.ID, service.NewMessage{Text: demoTask}); err != nil {
		return err
	}
	if err := a.follow(s.ID, 0, false, false); err != nil {
		return err
	}
	changes, err := a.svc.Changes(a.ctx, s.ID)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, "\n── Changes ──")
	a.diff(changes)
	if !c.Keep {
		answer, err := a.svc.Accept(a.ctx, s.ID, service.ReviewRequest{})
		if err := a.reviewAnswer(answer, err); err != nil {
			return err
		}
	}
	return a.demoReport(s.ID)
}

// demoReport prints the report that the job kept and its marks.
func (a *app) demoReport(id domain.SessionID) error {
	list, err := a.svc.Artifacts(a.ctx, id)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return domain.Errorf(domain.CodeUnavailable, "the sample job ended without its report").WithHint("`worksite doctor` says what is missing here.")
	}
	for _, v := range list {
		fmt.Fprintf(a.Stdout, "\n── %s (revision %d, %s) ──\n", v.Ref.Name, v.Ref.Revision, marks(v))
		_, content, err := a.svc.ArtifactContent(a.ctx, v.Ref.ID, v.Ref.Revision)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.Stdout, readAll(content))
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

type sandboxCmd struct {
	Exec sandboxExecCmd `cmd:"" help:"Run a program in the sandbox of a workspace."`
}

type sandboxExecCmd struct {
	Workspace string        `short:"w" type:"existingdir" default:"." help:"The folder it may write to."`
	Timeout   time.Duration `default:"10m"`
	Argv      []string      `arg:"" passthrough:"" help:"The program and its arguments, after --."`
}

func (c *sandboxExecCmd) Run(a *app) error {
	argv := c.Argv
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return domain.Errorf(domain.CodeInvalid, "name the program to run after --")
	}
	dir, err := filepath.Abs(c.Workspace)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", c.Workspace, err)
	}
	code, err := a.svc.SandboxExec(a.ctx, dir, argv, c.Timeout, a.Stdout)
	if err != nil {
		return err
	}
	if code != 0 {
		return exit(code)
	}
	return nil
}

type doctorCmd struct{ listing }

func (c *doctorCmd) Run(a *app) error {
	v := a.svc.Doctor(a.ctx)
	bad := 0
	for _, k := range v.Checks {
		if k.State == "failed" {
			bad++
		}
	}
	if c.JSON {
		if err := json.NewEncoder(a.Stdout).Encode(v); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	} else {
		for _, k := range v.Checks {
			fmt.Fprintf(a.Stdout, "%-9s %-18s %s\n", k.State, k.Name, k.Detail)
			if !k.OK && k.Hint != "" {
				fmt.Fprintf(a.Stdout, "%-9s %-18s → %s\n", "", "", k.Hint)
			}
		}
	}
	if bad > 0 {
		return exit(ExitFailed)
	}
	return nil
}
