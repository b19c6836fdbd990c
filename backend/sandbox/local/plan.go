package local

import (
	"sort"
	"strconv"
	"strings"

	"worksite/backend/sandbox"
)

// Host is what this machine offers to every sandbox.
type Host struct {
	Home string
	User string
	// Root are the mounts of the system: read-only binds and the links of a merged
	// /usr, in order.
	Root []Mount
	// Hidden are secrets in what Root shows: files, and folders with a final slash.
	Hidden []string
	// Tools are toolchains outside Root, read-only at their own path.
	Tools []string
	// Path is the PATH inside.
	Path []string
	// Env tells toolchains where they are.
	Env map[string]string
	// GoModules is the host's module cache, read-only; "" when there is none.
	GoModules string
	// DisableUserns is set when bubblewrap can forbid further user namespaces.
	DisableUserns bool
	// Inside is the folder that becomes /run/worksite, and Helper the name of process
	// 1 in it.
	Inside, Helper string
}

// Mount is one entry of the file system inside. With Link it is a symbolic link.
type Mount struct{ Path, Link string }

// Facts are what the workspace looks like now.
type Facts struct {
	// Binds are mounts inside (or, for a worktree, beside) the workspace, in order.
	Binds []Bind
	// Ghosts are protected paths that did not exist and got a placeholder.
	Ghosts []Ghost
	// Links are protected paths that are symbolic links, which no mount can hold.
	Links []string
	// Sockets are sockets of host programs inside the workspace.
	Sockets []string
	// Absent are paths that must not come into being and cannot be held by a
	// placeholder; they are looked at after the command.
	Absent []string
	// Exclude is the name of the file, beside the helper, that hides the placeholders
	// from Git inside.
	Exclude string
}

// Bind is a path with a mount of its own. A writable one cannot be renamed away
// together with the read-only ones below it: Linux refuses to rename a mount point,
// but not what contains one.
type Bind struct {
	Path     string
	Writable bool
}

// Ghost is a placeholder for a missing protected path.
type Ghost struct {
	Path string
	Dir  bool
}

// insideDir is where the sandbox shows what is Worksite's own.
const insideDir = "/run/worksite"

// Descriptors of bubblewrap and the helper, in the order of process.Spec.ExtraFiles.
const (
	fdArgs = 3 + iota
	fdSeccomp
	fdReport
	fdControl
	fdBinds // and on: one for each of Plan.Held
)

// Plan is the launch of one sandbox.
type Plan struct {
	// Args go to bubblewrap through --args.
	Args []string
	// Held are the paths to be opened, without following any link, for fdBinds and on.
	Held []string
	// Env is the environment inside; it is part of Args.
	Env map[string]string
	// Helper is process 1 as it is called inside.
	Helper string
	// Limits is the helper's list of resource=value.
	Limits string
}

// NewPlan is the pure function from a spec to bubblewrap's arguments. The order
// counts: later mounts cover earlier ones.
func NewPlan(spec sandbox.Spec, host Host, facts Facts) Plan {
	limits := spec.Limits.Fill()
	tmp := strconv.FormatInt(limits.TmpSize, 10)
	p := Plan{Env: environment(spec, host, facts), Helper: insideDir + "/" + host.Helper, Limits: limitList(limits)}
	add := func(a ...string) { p.Args = append(p.Args, a...) }

	add("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net")
	if host.DisableUserns {
		add("--disable-userns")
	}
	add("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox", "--clearenv")

	for _, m := range host.Root {
		if m.Link != "" {
			add("--symlink", m.Link, m.Path)
		} else {
			add("--ro-bind", m.Path, m.Path)
		}
	}
	for _, h := range host.Hidden {
		if dir, isDir := strings.CutSuffix(h, "/"); isDir {
			add("--size", "4096", "--perms", "0555", "--tmpfs", dir)
		} else {
			add("--ro-bind", "/dev/null", h)
		}
	}
	add("--proc", "/proc", "--dev", "/dev")
	for _, dir := range []string{"/dev/shm", "/tmp"} {
		add("--perms", "1777", "--size", tmp, "--tmpfs", dir)
	}
	add("--symlink", "../tmp", "/var/tmp")
	add("--perms", "0700", "--size", tmp, "--tmpfs", host.Home)
	for _, t := range host.Tools {
		add("--ro-bind", t, t)
	}
	if host.GoModules != "" {
		add("--ro-bind", host.GoModules, host.GoModules)
	}
	for _, r := range spec.ReadOnly {
		add("--ro-bind", r, r)
	}
	for _, w := range spec.Writable {
		add("--bind", w, w)
	}

	// What a command could exchange for a link while the next one starts is bound by
	// descriptor: bubblewrap refuses when the path is no longer that file.
	held := func(path string, writable bool) {
		option := "--ro-bind-fd"
		if writable {
			option = "--bind-fd"
		}
		add(option, strconv.Itoa(fdBinds+len(p.Held)), path)
		p.Held = append(p.Held, path)
	}
	held(spec.Workspace, true)
	for _, b := range facts.Binds {
		held(b.Path, b.Writable)
	}
	for _, g := range facts.Ghosts {
		held(g.Path, false)
	}
	for _, s := range facts.Sockets {
		add("--ro-bind", "/dev/null", s)
	}

	add("--ro-bind", host.Inside, insideDir)
	for _, dir := range []string{"/proc", "/dev", "/"} {
		add("--remount-ro", dir)
	}
	add("--chdir", "/")
	for _, k := range sortedKeys(p.Env) {
		add("--setenv", k, p.Env[k])
	}
	add("--seccomp", strconv.Itoa(fdSeccomp))
	return p
}

// Argv is bubblewrap's own argument vector for a command; what the command is stays
// out of the plan.
func (p Plan) Argv(bwrap, dir string, command []string) []string {
	return append([]string{
		bwrap, "--args", strconv.Itoa(fdArgs), "--",
		p.Helper, strconv.Itoa(fdReport), strconv.Itoa(fdControl), p.Limits, dir,
	}, command...)
}

// environment is what a command finds. Nothing of this process's own is in it.
func environment(spec sandbox.Spec, host Host, facts Facts) map[string]string {
	env := map[string]string{
		"PATH":                strings.Join(host.Path, ":"),
		"HOME":                host.Home,
		"USER":                host.User,
		"LOGNAME":             host.User,
		"SHELL":               "/bin/sh",
		"TMPDIR":              "/tmp",
		"LANG":                "C.UTF-8",
		"TERM":                "dumb",
		"PAGER":               "cat",
		"GIT_PAGER":           "cat",
		"GIT_EDITOR":          "true",
		"GIT_TERMINAL_PROMPT": "0",
		"WORKSITE_SANDBOX":    "1",
	}
	if host.GoModules != "" {
		env["GOMODCACHE"] = host.GoModules
		env["GOPROXY"] = "off"
	}
	for k, v := range host.Env {
		env[k] = v
	}
	if facts.Exclude != "" {
		env["GIT_CONFIG_COUNT"] = "1"
		env["GIT_CONFIG_KEY_0"] = "core.excludesFile"
		env["GIT_CONFIG_VALUE_0"] = insideDir + "/" + facts.Exclude
	}
	for k, v := range spec.Env {
		env[k] = v
	}
	return env
}

// limitList writes limits as the kernel's resource numbers. Core dumps, message
// queues and locked memory have no use here.
func limitList(l sandbox.Limits) string {
	const (
		cpu, fsize, data, core, nproc, nofile, memlock, msgqueue = 0, 1, 2, 4, 6, 7, 8, 12
	)
	var b strings.Builder
	for _, r := range []struct{ resource, value int64 }{
		{cpu, int64(l.CPU.Seconds())},
		{fsize, l.FileSize},
		{data, l.Memory},
		{core, 0},
		{nproc, l.Processes},
		{nofile, l.OpenFiles},
		{memlock, 8 << 20},
		{msgqueue, 0},
	} {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(r.resource, 10) + "=" + strconv.FormatInt(r.value, 10))
	}
	return b.String()
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
