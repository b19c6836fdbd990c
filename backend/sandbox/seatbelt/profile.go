package seatbelt

import (
	"path"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

// Program is the launcher, by its absolute path so that no PATH can replace it.
const Program = "/usr/bin/sandbox-exec"

// Host is what the profile needs to know of the machine. All paths are real ones:
// /private/tmp, not /tmp.
type Host struct {
	Home  string
	Tools []string // toolchains outside the system, readable
	Tmp   string   // the temporary folder made for this command
}

// system is readable: what programs need to start.
var system = []string{
	"/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer", "/Library/Frameworks", "/Library/Java", "/Applications/Xcode.app",
	"/opt", "/private/etc", "/private/var/db/timezone", "/private/var/select", "/private/var/db/dyld",
}

// services can be looked up. Without trustd programs fail at TLS certificates even of
// local files; the others are what every process talks to.
var services = []string{
	"com.apple.system.logger", "com.apple.system.notification_center", "com.apple.system.opendirectoryd.libinfo",
	"com.apple.system.opendirectoryd.membership", "com.apple.trustd", "com.apple.trustd.agent", "com.apple.SecurityServer",
	"com.apple.bsd.dirhelper", "com.apple.CoreServices.coreservicesd", "com.apple.diagnosticd", "com.apple.logd",
}

// secrets lie in what is readable.
var secrets = []string{"/private/etc/master.passwd", "/private/etc/sudoers", "/private/etc/sudoers.d", "/private/etc/ssh", "/private/etc/krb5.keytab"}

// Profile returns the profile of a spec. Later rules win, so what is denied for good
// stands last. It refuses paths that could not be written in it without doubt.
func Profile(s sandbox.Spec, h Host) (string, error) {
	if s.Network != sandbox.NetworkNone {
		return "", domain.Errorf(domain.CodeInvalid, "network %q is not known; a sandbox has none", s.Network)
	}
	if s.Unsandboxed {
		return "", domain.Errorf(domain.CodeInvalid, "an unsandboxed command has no profile")
	}
	p := &profile{}
	p.line(`(version 1)`)
	p.line(`(deny default)`)
	p.line(`(allow process-fork)`)
	p.line(`(allow process-exec)`)
	p.line(`(allow process-info* (target self))`)
	p.line(`(allow signal (target same-sandbox))`)
	p.line(`(allow sysctl-read)`)
	p.line(`(allow file-read-metadata)`)
	p.line(`(allow ipc-posix-sem)`)
	p.line(`(allow file-ioctl (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))`)
	p.line(`(allow pseudo-tty)`)
	p.line(`(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/dtracehelper"))`)
	p.line(`(allow file-read* (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/fd") (subpath "/dev/fd") (literal "/"))`)
	p.line(`(allow file-read* file-write* (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))`)
	for _, name := range services {
		p.line(`(allow mach-lookup (global-name ` + p.quote(name) + `))`)
	}

	p.rule("allow", "file-read*", "subpath", system)
	p.rule("deny", "file-read*", "subpath", secrets)
	p.rule("deny", "file-read* file-write*", "subpath", []string{h.Home})
	p.rule("allow", "file-read*", "subpath", h.Tools)
	p.rule("allow", "file-read*", "subpath", s.ReadOnly)
	writable := append([]string{s.Workspace, h.Tmp}, s.Writable...)
	p.rule("allow", "file-read* file-write*", "subpath", writable)

	protected := protectedPaths(s)
	p.rule("deny", "file-write*", "subpath", protected)
	// A folder that contains something protected cannot be renamed away with it.
	p.rule("deny", "file-write-unlink", "literal", ancestors(s.Workspace, protected))
	p.line(`(deny file-write-setugid)`)
	p.line(`(deny network*)`)
	p.line(`(deny system-privilege)`)
	if p.err != nil {
		return "", p.err
	}
	return p.b.String(), nil
}

// Argv is the launch of a command under a profile.
func Argv(profile string, command []string) []string {
	return append([]string{Program, "-p", profile, "--"}, command...)
}

func protectedPaths(s sandbox.Spec) []string {
	out := []string{}
	for _, rel := range append([]string{
		".git/config", ".git/config.worktree", ".git/hooks", ".git/commondir", ".git/worktrees", ".git/info/attributes",
	}, s.Protected...) {
		out = append(out, path.Join(s.Workspace, path.Clean("/"+rel)))
	}
	sort.Strings(out)
	return out
}

// ancestors returns the workspace and every folder between it and a protected path.
func ancestors(workspace string, protected []string) []string {
	seen := map[string]bool{workspace: true}
	for _, p := range protected {
		for dir := path.Dir(p); len(dir) > len(workspace); dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	out := make([]string, 0, len(seen))
	for dir := range seen {
		out = append(out, dir)
	}
	sort.Strings(out)
	return out
}

type profile struct {
	b   strings.Builder
	err error
}

func (p *profile) line(s string) { p.b.WriteString(s + "\n") }

func (p *profile) rule(action, what, filter string, paths []string) {
	for _, dir := range paths {
		if !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" {
			p.fail("path %q is not absolute and clean", dir)
			continue
		}
		p.line("(" + action + " " + what + " (" + filter + " " + p.quote(dir) + "))")
	}
}

// quote writes a string of the profile's language. What a reader of the profile, or
// its parser, could take for anything else is refused rather than escaped.
func (p *profile) quote(s string) string {
	if !utf8.ValidString(s) {
		p.fail("path %q is not valid UTF-8", s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			p.fail("path %q contains a character that cannot be shown", s)
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func (p *profile) fail(format, value string) {
	if p.err == nil {
		p.err = domain.Errorf(domain.CodeInvalid, strings.Replace(format, "%q", "%s", 1), strconv.Quote(value)).
			WithHint("Rename the folder, or open another one.")
	}
}
