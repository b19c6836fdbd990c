package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"worksite-verify/check"

	"worksite/backend/domain"
	"worksite/backend/service"
)

type sessionsExportCmd struct {
	Session domain.SessionID `arg:""`
	Output  string           `short:"o" help:"The file to write; it must not exist. Default: standard output."`
	Format  string           `enum:"session,audit" default:"session" help:"session: lines of JSON, to be imported again. audit: one file (.worksite.tar) that a stranger can prove."`
	Redact  []domain.Kind    `placeholder:"KIND,…" help:"With audit: leave the content of these kinds of event out, and keep the proof."`
	Since   string           `placeholder:"FILE" help:"With audit: prove that the ledger continues that of an earlier audit export."`
}

func (c *sessionsExportCmd) Run(a *app) error {
	if c.Format != "audit" && (len(c.Redact) > 0 || c.Since != "") {
		return domain.Errorf(domain.CodeInvalid, "--redact and --since are for --format audit")
	}
	if c.Output == "" {
		return c.write(a, a.Stdout)
	}
	f, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	if err := c.write(a, f); err != nil {
		_ = f.Close()
		_ = os.Remove(c.Output) // half an export must not look whole
		return err
	}
	return f.Close()
}

func (c *sessionsExportCmd) write(a *app, w io.Writer) error {
	if c.Format != "audit" {
		return a.svc.Export(a.ctx, c.Session, w)
	}
	o := service.AuditExport{Session: c.Session, Redact: c.Redact}
	if c.Since != "" {
		f, err := os.Open(c.Since)
		if err != nil {
			return fmt.Errorf("read the earlier export: %w", err)
		}
		defer f.Close()
		o.Since = f
	}
	return a.svc.ExportAudit(a.ctx, o, w)
}

type journalCmd struct {
	Verify journalVerifyCmd `cmd:"" help:"Recompute chain, signatures and head, of the ledger or of an audit export."`
}

type journalVerifyCmd struct {
	Session string `arg:"" optional:"" help:"One session, or the file of an audit export; default the whole ledger."`
	Key     string `help:"With a file: the exporting installation's key as you know it."`
	JSON    bool   `name:"json" help:"With a file: print the verdict as JSON."`
}

// runAlone checks a file; that needs no ledger and writes nothing. The exit codes
// are those of worksite-verify.
func (c *journalVerifyCmd) runAlone(env Env) (bool, error) {
	if c.Session == "" || strings.HasPrefix(c.Session, "ses_") {
		return false, nil
	}
	v, err := check.File(c.Session, check.Options{Key: c.Key})
	switch {
	case err != nil:
		return true, domain.Errorf(domain.CodeInvalid, "read the export: %w", err)
	case c.JSON:
		err = json.NewEncoder(env.Stdout).Encode(v)
	default:
		_, err = io.WriteString(env.Stdout, v.String())
	}
	if err == nil && !v.OK {
		err = exit(ExitFailed)
	}
	return true, err
}

func (c *journalVerifyCmd) Run(a *app) error {
	if c.Key != "" || c.JSON {
		return domain.Errorf(domain.CodeInvalid, "--key and --json are for the file of an audit export")
	}
	text, err := a.svc.Verify(a.ctx, domain.SessionID(c.Session))
	if text != "" {
		fmt.Fprintln(a.Stdout, text)
	}
	return err
}
