package local

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"worksite/backend/domain"
	"worksite/backend/process"
	"worksite/backend/sandbox"
	"worksite/backend/sandbox/seccomp"
)

// retryAfter is how soon a failed status is looked at again, since the remedy may have
// been applied.
const retryAfter = 3 * time.Second

// hostAge is how long a look at the machine holds.
const hostAge = 5 * time.Minute

var (
	minVersion = [3]int{0, 8, 0} // the first with --size and --disable-userns both

	filterBytes = sync.OnceValues(func() ([]byte, error) {
		return seccomp.Assemble(runtime.GOARCH, seccomp.Options{})
	})
)

// Status runs the real mount plan once and remembers a success for as long as the
// process lives. A failure fails closed: whatever the reason, nothing runs.
func (l *Local) Status(ctx context.Context) sandbox.Status {
	l.statusMu.Lock()
	defer l.statusMu.Unlock()
	if l.status != nil && (l.status.OK || time.Since(l.probed) < retryAfter) {
		return *l.status
	}
	p := &prober{l: l, ctx: ctx}
	s := p.probe()
	s.Checks = p.checks
	if ctx.Err() == nil { // a cancelled probe says nothing about the machine
		l.status, l.probed = &s, time.Now()
	}
	return s
}

type prober struct {
	l      *Local
	ctx    context.Context
	checks []string
}

func (p *prober) ok(format string, a ...any)     { p.note("✓ ", format, a...) }
func (p *prober) remark(format string, a ...any) { p.note("! ", format, a...) }
func (p *prober) note(sign, format string, a ...any) {
	p.checks = append(p.checks, sign+fmt.Sprintf(format, a...))
}

func (p *prober) fail(name, detail, hint string) sandbox.Status {
	p.note("✗ ", "%s", detail)
	return sandbox.Status{Name: name, Detail: detail, Hint: hint}
}

func (p *prober) probe() sandbox.Status {
	if _, err := filterBytes(); err != nil {
		return p.fail("unsupported_arch", "There is no system call filter for "+runtime.GOARCH+".", "Use an amd64 or arm64 machine.")
	}
	if len(p.l.cfg.Helper) == 0 {
		return p.fail("helper_missing", "This program was built without the sandbox's helper.",
			"Run build/sandbox-helper.sh and build again; “make build” does both.")
	}
	file := p.find()
	if file == "" {
		return p.fail("bwrap_missing", "bubblewrap is not installed.",
			"Install the package “bubblewrap”, for example: sudo apt-get install bubblewrap")
	}
	if err := p.l.trusted(file); err != nil {
		return p.fail("bwrap_unsafe_path", fmt.Sprintf("%s can be replaced by others: %v.", file, err),
			"Use the bubblewrap of your distribution, in /usr/bin, and take the other out of the PATH.")
	}
	version, st := p.version(file)
	if st != nil {
		return *st
	}
	p.ok("bubblewrap %s at %s", version, file)
	p.l.bwrap = file
	host, err := p.l.machine()
	if err != nil {
		return p.fail("helper_failed", "The sandbox's helper cannot be put into the data folder: "+err.Error()+".",
			"Free some space, or look at the permissions of "+p.l.cfg.DataDir+".")
	}
	return p.try(file, host)
}

// find looks for bubblewrap in the system's folders first.
func (p *prober) find() string {
	if p.l.cfg.Bwrap != "" {
		if !exists(p.l.cfg.Bwrap) {
			return ""
		}
		return p.l.cfg.Bwrap
	}
	path := "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin:" + p.l.cfg.Path
	file, err := process.LookPath("bwrap", path)
	if err != nil {
		return ""
	}
	return resolve(file)
}

// trustedProgram refuses a file that someone other than root could replace.
func trustedProgram(file string) error {
	for p := resolve(file); ; p = filepath.Dir(p) {
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 {
			return fmt.Errorf("%s does not belong to root", p)
		}
		if info.Mode()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%s can be written by others than its owner", p)
		}
		if p == "/" {
			return nil
		}
	}
}

func (p *prober) version(file string) (string, *sandbox.Status) {
	broken := func(why string) (string, *sandbox.Status) {
		st := p.fail("bwrap_broken", file+" does not behave like bubblewrap: "+why+".", "Install the package “bubblewrap” again.")
		return "", &st
	}
	r, err := process.Run(p.ctx, process.Spec{Argv: []string{file, "--version"}, Dir: "/", Timeout: p.l.probeTimeout, Grace: 100 * time.Millisecond})
	switch {
	case err != nil:
		return broken(err.Error())
	case r.TimedOut:
		return broken("it did not answer within " + p.l.probeTimeout.String())
	case r.Code != 0:
		return broken("it ended with code " + strconv.Itoa(r.Code))
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(r.Text()), "bubblewrap ")
	if !ok {
		return broken("it does not tell its version")
	}
	var v [3]int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2]); n < 2 {
		return broken("it does not tell its version")
	}
	for i := range v {
		if v[i] != minVersion[i] {
			if v[i] < minVersion[i] {
				st := p.fail("bwrap_too_old", "bubblewrap "+version+" is too old.", "Version 0.8.0 or newer is needed: upgrade the distribution or install it from backports.")
				return "", &st
			}
			break
		}
	}
	return version, nil
}

// try runs the helper's self-test in a sandbox made of the real plan.
func (p *prober) try(file string, host Host) sandbox.Status {
	ws, err := p.l.dir("probe")
	if err != nil {
		return p.fail("helper_failed", err.Error(), "Look at the permissions of "+p.l.cfg.DataDir+".")
	}
	spec := sandbox.Spec{Workspace: ws, Network: sandbox.NetworkNone}
	command := sandbox.Command{Argv: []string{insideDir + "/" + host.Helper, "probe"}, Timeout: p.l.probeTimeout}
	r, err := p.l.launch(p.ctx, file, host, spec, command, ws)
	if bad(r, err) && host.DisableUserns {
		host.DisableUserns = false // for instance a set-uid bubblewrap
		if again, err2 := p.l.launch(p.ctx, file, host, spec, command, ws); !bad(again, err2) {
			p.l.without()
			r, err = again, nil
		}
	}
	if bad(r, err) {
		return p.diagnose(err, r)
	}
	return p.compare(r.Text())
}

func bad(r sandbox.Result, err error) bool {
	return err != nil || r.Code != 0 || r.TimedOut || r.Cancelled
}

// compare checks what the self-test saw of its own confinement.
func (p *prober) compare(text string) sandbox.Status {
	saw := map[string]string{}
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		saw[k] = v
	}
	zero := strings.Repeat("0", 16)
	for _, want := range []struct{ key, value, good string }{
		{"CapEff", zero, "no capabilities"},
		{"CapPrm", zero, ""},
		{"CapBnd", zero, ""},
		{"NoNewPrivs", "1", "no new privileges"},
		{"Seccomp", "2", "system call filter"},
		{"KernelSettings", "no", "kernel settings cannot be written"},
		{"NewNamespaces", "no", "no further namespaces"},
		{"RootWritable", "no", "the root is read-only"},
		{"Interfaces", "no", "no network"},
		{"Processes", "2", "host processes are invisible"},
	} {
		if saw[want.key] != want.value {
			return p.fail("not_confined", fmt.Sprintf("The self-test of the sandbox failed: %s is %q, not %q.", want.key, saw[want.key], want.value),
				"Please report this with the version of your kernel and of bubblewrap. Nothing runs until it is solved.")
		}
		if want.good != "" {
			p.ok("%s", want.good)
		}
	}
	if abi := landlockABI(); abi >= 6 {
		p.ok("Landlock %d as a second layer", abi)
	} else {
		p.remark("Landlock is not available here; the namespaces alone separate the sandbox")
	}
	if p.l.noUserns {
		p.remark("bubblewrap cannot forbid user namespaces here; the system call filter does")
	}
	if os.Geteuid() == 0 {
		p.remark("running as root: limits on processes do not hold, and a hole in the kernel would cost more; use a normal user")
	}
	return sandbox.Status{OK: true, Name: "ok", Detail: "Commands run in a sandbox: no network, no view of the home folder."}
}

// diagnose finds out why the plan could not be set up, from the system's settings
// rather than from messages.
func (p *prober) diagnose(err error, r sandbox.Result) sandbox.Status {
	said := ""
	switch {
	case err != nil:
		said = err.Error()
	case r.TimedOut:
		said = "it did not start within " + p.l.probeTimeout.String()
	default:
		said = oneLine(r.Text())
	}
	sys := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(p.l.sysctl, name))
		return strings.TrimSpace(string(b))
	}
	switch {
	case p.ctx.Err() != nil:
		return p.fail("probe_cancelled", "The check of the sandbox was cancelled.", "Try again.")
	case sys("user/max_user_namespaces") == "0":
		return p.fail("userns_none", "This system allows no user namespaces (user.max_user_namespaces is 0).",
			"Allow them: sudo sysctl -w user.max_user_namespaces=15000, and put the same into /etc/sysctl.d.")
	case sys("kernel/unprivileged_userns_clone") == "0":
		return p.fail("userns_forbidden", "This system forbids user namespaces to normal users (kernel.unprivileged_userns_clone is 0).",
			"Allow them: sudo sysctl -w kernel.unprivileged_userns_clone=1, and put the same into /etc/sysctl.d.")
	case sys("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return p.fail("userns_apparmor", "AppArmor forbids user namespaces to bubblewrap.",
			"Load the profile that allows it: sudo apt-get install apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict")
	case p.l.inContainer():
		return p.fail("nested_container", "Worksite runs in a container that does not allow another sandbox inside: "+said,
			"Run Worksite outside of the container, or start the container with permission for user namespaces and an unmasked /proc.")
	}
	return p.fail("bwrap_failed", "bubblewrap could not set the sandbox up: "+said,
		"See the message; “bwrap --ro-bind / / true” in a terminal shows whether bubblewrap works at all.")
}

func inContainer() bool {
	return exists("/.dockerenv") || exists("/run/.containerenv") || os.Getenv("container") != ""
}

func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// machine finds what this machine offers, and looks again after a while or when a
// sandbox did not start, since programs come and go. It puts the helper where
// bubblewrap can bind it.
func (l *Local) machine() (Host, error) {
	l.hostMu.Lock()
	defer l.hostMu.Unlock()
	if !l.hostFound.IsZero() && time.Since(l.hostFound) < hostAge {
		return l.host, nil
	}
	h := findHost(machine{
		home: l.cfg.Home, path: l.cfg.Path, data: l.cfg.DataDir, getenv: os.Getenv,
		readable: func(p string) bool { return unix.Access(p, unix.R_OK) == nil },
	})
	h.User, h.DisableUserns = l.cfg.User, !l.noUserns
	var err error
	if h.Inside, h.Helper, err = l.install(); err != nil {
		return Host{}, err
	}
	l.host, l.hostFound = h, time.Now()
	return h, nil
}

// lookAgain makes the next command find the machine anew.
func (l *Local) lookAgain() {
	l.hostMu.Lock()
	defer l.hostMu.Unlock()
	l.hostFound = time.Time{}
}

// without remembers that bubblewrap cannot forbid user namespaces here.
func (l *Local) without() {
	l.hostMu.Lock()
	defer l.hostMu.Unlock()
	l.noUserns, l.host.DisableUserns = true, false
}

// install writes the helper once, under its own hash.
func (l *Local) install() (dir, name string, err error) {
	if dir, err = l.dir("inside"); err != nil {
		return "", "", err
	}
	want := domain.HashBytes(l.cfg.Helper)
	name = "init-" + want.String()[:20]
	if have, err := os.ReadFile(filepath.Join(dir, name)); err == nil && domain.HashBytes(have) == want {
		return dir, name, nil
	}
	return dir, name, writeFile(filepath.Join(dir, name), l.cfg.Helper, 0o500)
}
