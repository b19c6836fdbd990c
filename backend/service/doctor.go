package service

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/process"
)

// Doctor looks at what works here, what does not, and the remedy.
func (s *Service) Doctor(ctx context.Context) DoctorView {
	var out DoctorView
	add := func(c Check) { out.Checks = append(out.Checks, c) }
	report, err := s.ledger.Verify(ctx, "")
	switch {
	case err != nil:
		add(Check{Name: "ledger", State: "failed", Detail: err.Error(), Hint: domain.HintOf(err)})
	case report.Bad != nil:
		add(Check{Name: "ledger", State: "failed", Detail: report.Bad.String(), Hint: "The ledger was changed from outside or the disk is damaged. Keep a copy of the data folder before anything else."})
	default:
		add(Check{Name: "ledger", OK: true, State: "ok", Detail: fmt.Sprintf("%d events in %d sessions: chain, signatures and head agree", report.Events, report.Sessions)})
	}
	sb := s.sandbox.Status(ctx)
	c := Check{Name: "sandbox", OK: sb.OK, State: "ok", Detail: sb.Name + ": " + sb.Detail, Hint: sb.Hint}
	if !sb.OK {
		c.State = "missing"
	}
	add(c)
	for _, p := range s.models.Providers(ctx) {
		c := Check{Name: "model: " + p.Name, OK: p.State == "", State: "ok", Detail: p.Message, Hint: p.Hint}
		if p.State != "" {
			c.State = "missing"
		}
		if c.Detail == "" {
			c.Detail = "answers"
		}
		add(c)
	}
	add(s.gitCheck(ctx))
	if asRoot() {
		add(Check{Name: "user", State: "degraded", Detail: "runs as root", Hint: "Start Worksite as your own user."})
	}
	add(Check{Name: "data folder", OK: true, State: "ok", Detail: s.cfg.DataDir})
	return out
}

// sandboxNotice says in the banner when commands cannot be contained.
func (s *Service) sandboxNotice(ctx context.Context) (Notice, bool) {
	st := s.sandbox.Status(ctx)
	if st.OK {
		return Notice{}, false
	}
	return Notice{
		ID: "no_sandbox", Level: "warning",
		Text: "Commands cannot be sandboxed here: " + st.Detail + " They are refused unless you consent for a session.",
		Hint: st.Hint,
	}, true
}

// gitCheck says whether Git is there; everything but commits works without it.
func (s *Service) gitCheck(ctx context.Context) Check {
	res, err := process.Run(ctx, process.Spec{
		Argv: []string{"git", "--version"}, Dir: s.cfg.DataDir, Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: 5 * time.Second,
	})
	if err != nil || res.Code != 0 {
		return Check{Name: "git", State: "missing", Detail: "git was not found; review and restore work without it", Hint: "Install the package git to see branches and to commit."}
	}
	return Check{Name: "git", OK: true, State: "ok", Detail: strings.TrimSpace(res.Text())}
}
