package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"worksite/backend/domain"
	"worksite/backend/service"
)

// Exit codes of run and continue.
const (
	ExitDone      = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitWaits     = 3 // an approval is open
	ExitBudget    = 4
	ExitUnknown   = 5 // an effect is unknown and needs a decision
	ExitCancelled = 130
)

// Env is what the command line gets from its process.
type Env struct {
	Args    []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Version string
	Page    http.Handler // the web page for serve
	// PageMissing is set when the page was not built into this binary.
	PageMissing bool
	// Terminal reports whether a person sits at Stdin.
	Terminal bool
}

// commands is the grammar. Every listing takes --json.
type commands struct {
	Verbose bool             `short:"v" help:"Write the log to the terminal."`
	Version kong.VersionFlag `help:"Print the version."`

	Run       runCmd       `cmd:"" help:"Give the agent a task and work on it until it ends or waits."`
	Continue  continueCmd  `cmd:"" help:"Compute on: let an interrupted run go on."`
	Events    eventsCmd    `cmd:"" help:"Only watch: print a session's events."`
	Serve     serveCmd     `cmd:"" help:"Serve the page on loopback and print its address with the token."`
	Demo      demoCmd      `cmd:"" help:"Do the whole sample job with the practice model, without a question."`
	Sessions  sessionsCmd  `cmd:"" help:"List, show, search, export, import and delete sessions."`
	Approvals approvalsCmd `cmd:"" help:"List open approvals, grant or deny one."`
	Journal   journalCmd   `cmd:"" help:"Check the ledger's chain, signatures and head."`
	Workspace workspaceCmd `cmd:"" help:"Open, trust and review workspaces."`
	Artifacts artifactsCmd `cmd:"" help:"List and save artifacts."`
	Sandbox   sandboxCmd   `cmd:"" help:"Run a command in the sandbox of a workspace."`
	Doctor    doctorCmd    `cmd:"" help:"Say what works here, what does not, and the remedy."`
}

// app is what a command runs with.
type app struct {
	Env
	ctx context.Context
	svc *service.Service
}

// exit carries an exit code out of a command that has said all there is to say.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// alone is a command that may need nothing of the data folder; it then runs
// without opening, or making, one.
type alone interface {
	runAlone(Env) (handled bool, err error)
}

// opener lets a command open the service with its own choices.
type opener interface{ config(*service.Config) }

// Main runs one command line and returns its exit code.
func Main(env Env) int {
	var c commands
	code := -1
	parser, err := kong.New(&c,
		kong.Name("worksite"),
		kong.Description("A workbench in which an agent works on your own files and repositories."),
		kong.UsageOnError(), kong.Writers(env.Stdout, env.Stderr),
		kong.Vars{"version": env.Version},
		kong.Exit(func(n int) { code = n }),
	)
	if err != nil {
		fmt.Fprintln(env.Stderr, "worksite:", err)
		return ExitFailed
	}
	kctx, err := parser.Parse(env.Args)
	if code >= 0 { // --help or --version was answered
		return code
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "worksite: %v\nTry worksite --help.\n", err)
		return ExitUsage
	}
	if c, ok := kctx.Selected().Target.Addr().Interface().(alone); ok {
		if handled, err := c.runAlone(env); handled {
			return report(env, err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg := service.Config{Version: env.Version, Log: slog.New(slog.DiscardHandler)}
	if c.Verbose {
		cfg.Log = slog.New(slog.NewTextHandler(env.Stderr, nil))
	}
	if o, ok := kctx.Selected().Target.Addr().Interface().(opener); ok {
		o.config(&cfg)
	}
	svc, err := service.Open(ctx, cfg)
	if err != nil {
		return report(env, err)
	}
	for _, n := range svc.Notices() {
		fmt.Fprintf(env.Stderr, "worksite: %s %s\n", n.Text, n.Hint)
	}
	err = kctx.Run(&app{Env: env, ctx: ctx, svc: svc})
	return report(env, errors.Join(err, svc.Close()))
}

// report says what went wrong and how it may be mended, and returns the code.
func report(env Env, err error) int {
	var code exit
	if errors.As(err, &code) {
		return int(code)
	}
	if err == nil {
		return ExitDone
	}
	fmt.Fprintln(env.Stderr, "worksite:", err)
	if hint := domain.HintOf(err); hint != "" {
		fmt.Fprintln(env.Stderr, hint)
	}
	if domain.CodeOf(err) == domain.CodeInvalid {
		return ExitUsage
	}
	return ExitFailed
}
