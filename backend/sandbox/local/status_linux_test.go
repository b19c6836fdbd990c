package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

// R82: whatever bubblewrap is or does, the answer is no, with a name and a remedy.
func TestStatusFailsClosed(t *testing.T) {
	const versioned = "#!/bin/sh\n[ \"$1\" = --version ] && { echo bubblewrap 0.9.0; exit 0; }\n"
	for name, c := range map[string]struct {
		script string
		change func(l *Local)
		want   string
	}{
		"not there":             {"", func(l *Local) { l.cfg.Bwrap = "/nonexistent/bwrap" }, "bwrap_missing"},
		"exits 1":               {"#!/bin/sh\nexit 1\n", nil, "bwrap_broken"},
		"prints nonsense":       {"#!/bin/sh\necho '\033[31mhello'\n", nil, "bwrap_broken"},
		"prints half a version": {"#!/bin/sh\necho 'bubblewrap x'\n", nil, "bwrap_broken"},
		"is no program":         {"garbage", nil, "bwrap_broken"},
		"too old":               {"#!/bin/sh\necho bubblewrap 0.4.1\n", nil, "bwrap_too_old"},
		"replaceable":           {versioned, func(l *Local) { l.trusted = trustedProgram; _ = os.Chmod(l.cfg.Bwrap, 0o777) }, "bwrap_unsafe_path"},
		"no helper":             {versioned, func(l *Local) { l.cfg.Helper = nil }, "helper_missing"},
		"fails at work":         {versioned + "echo no >&2; exit 1\n", nil, "bwrap_failed"},
		"pretends success":      {versioned + "exit 0\n", nil, "bwrap_failed"},
		"runs it unconfined":    {versioned + "while [ \"$1\" != -- ]; do shift; done; shift; shift; exec " + "\"$HELPER\" \"$@\"\n", nil, "bwrap_failed"},
		"hangs at work":         {versioned + "exec sleep 60\n", nil, "bwrap_failed"},
		"apparmor":              {versioned + "exit 1\n", sysctl("kernel/apparmor_restrict_unprivileged_userns", "1"), "userns_apparmor"},
		"none allowed":          {versioned + "exit 1\n", sysctl("user/max_user_namespaces", "0"), "userns_none"},
		"forbidden":             {versioned + "exit 1\n", sysctl("kernel/unprivileged_userns_clone", "0"), "userns_forbidden"},
		"container":             {versioned + "exit 1\n", func(l *Local) { l.inContainer = func() bool { return true } }, "nested_container"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l, err := New(Config{DataDir: filepath.Join(dir, "data"), Helper: testHelper})
			if err != nil {
				t.Fatal(err)
			}
			l.trusted = func(string) error { return nil }
			l.inContainer = func() bool { return false }
			l.sysctl = filepath.Join(dir, "sys")
			l.probeTimeout = 300 * time.Millisecond
			if c.script != "" {
				l.cfg.Bwrap = filepath.Join(dir, "bwrap")
				helper := filepath.Join(dir, "helper")
				script := strings.ReplaceAll(c.script, "$HELPER", helper)
				if err := os.WriteFile(helper, testHelper, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(l.cfg.Bwrap, []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if c.change != nil {
				c.change(l)
			}
			st := l.Status(t.Context())
			if st.OK || st.Name != c.want || st.Detail == "" || st.Hint == "" {
				t.Fatalf("status %+v, want %s", st, c.want)
			}
			if !strings.HasPrefix(st.Checks[len(st.Checks)-1], "✗ ") {
				t.Errorf("checks %q do not end with the failure", st.Checks)
			}
			ws := t.TempDir()
			marker := filepath.Join(ws, "ran")
			_, err = l.Run(t.Context(), sandbox.Spec{Workspace: resolve(ws), Network: sandbox.NetworkNone}, sandbox.Command{Argv: []string{"touch", marker}})
			if domain.CodeOf(err) != domain.CodeUnavailable || domain.HintOf(err) == "" {
				t.Errorf("run: %v", err)
			}
			if exists(marker) {
				t.Error("the command ran")
			}
		})
	}
}

func sysctl(name, value string) func(*Local) {
	return func(l *Local) {
		file := filepath.Join(l.sysctl, name)
		_ = os.MkdirAll(filepath.Dir(file), 0o755)
		_ = os.WriteFile(file, []byte(value+"\n"), 0o644)
	}
}

func TestStatusIsRemembered(t *testing.T) {
	l := newLocal(t)
	l.cfg.Bwrap = "/nonexistent/bwrap"
	st := l.Status(t.Context())
	if !st.OK || st.Name != "ok" || len(st.Checks) < 8 {
		t.Errorf("status %+v", st)
	}
	root := strings.Contains(strings.Join(st.Checks, "\n"), "! running as root")
	if root != (os.Geteuid() == 0) {
		t.Errorf("remark about root: %v", root)
	}
}

func TestCancelledProbeSaysNothing(t *testing.T) {
	l := newLocal(t)
	l.status = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if st := l.Status(ctx); st.OK {
		t.Error("a probe that did not run succeeded")
	}
	if st := l.Status(t.Context()); !st.OK {
		t.Errorf("a cancelled probe was remembered: %+v", st)
	}
}

// A self-test that sees anything else than confinement stops everything.
func TestCompareInsistsOnEveryFact(t *testing.T) {
	l := newLocal(t)
	zero := strings.Repeat("0", 16)
	good := map[string]string{
		"CapEff": zero, "CapPrm": zero, "CapBnd": zero, "NoNewPrivs": "1", "Seccomp": "2", "Processes": "2",
		"KernelSettings": "no", "NewNamespaces": "no", "RootWritable": "no", "Interfaces": "no",
	}
	text := func(change, value string) string {
		var b strings.Builder
		for k, v := range good {
			if k == change {
				v = value
			}
			b.WriteString(k + ":\t" + v + "\n")
		}
		return b.String()
	}
	compare := func(s string) sandbox.Status { return (&prober{l: l, ctx: t.Context()}).compare(s) }
	if st := compare(text("", "")); !st.OK {
		t.Fatalf("status %+v", st)
	}
	for k := range good {
		for _, v := range []string{"yes", "", "3"} {
			if st := compare(text(k, v)); st.OK || st.Name != "not_confined" || !strings.Contains(st.Detail, k) {
				t.Errorf("%s=%q: %+v", k, v, st)
			}
		}
	}
	if st := compare(""); st.OK {
		t.Error("silence is taken for confinement")
	}
}

func TestTrustedProgram(t *testing.T) {
	if err := trustedProgram("/usr/bin/env"); err != nil {
		t.Errorf("a program of the system: %v", err)
	}
	if err := trustedProgram("/no/such/file"); err == nil {
		t.Error("a missing program")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "bwrap")
	write(t, file, "x")
	if err := os.Chmod(file, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := trustedProgram(file); err == nil {
		t.Error("a program that anybody can write")
	}
	if err := os.Chmod(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := trustedProgram(file); err == nil {
		t.Error("a program in a folder that anybody can write")
	}
	link := filepath.Join(t.TempDir(), "link")
	relink(t, link, file)
	if err := trustedProgram(link); err == nil {
		t.Error("a link to such a program")
	}
}
