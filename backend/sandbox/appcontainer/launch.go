package appcontainer

import (
	"sort"
	"strings"
	"unicode/utf16"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

// Limits of the job object, by the names and values of the Windows headers.
const (
	LimitProcessTime   = 0x00000002
	LimitActiveProcess = 0x00000008
	LimitProcessMemory = 0x00000100
	LimitJobMemory     = 0x00000200
	LimitDieOnError    = 0x00000400
	LimitKillOnClose   = 0x00002000

	// UIAll cuts off handles of other programs' windows, the clipboard, system
	// settings, display settings, global atoms, the desktop and logging off.
	UIAll = 0x000000ff

	// Flags of CreateProcess: suspended until the job has it, extended start-up
	// information, a Unicode environment, a console of its own without a window.
	CreateSuspended            = 0x00000004
	CreateUnicodeEnvironment   = 0x00000400
	ExtendedStartupInfoPresent = 0x00080000
	CreateNoWindow             = 0x08000000
)

// Right is what a path is opened to the container for.
type Right string

// The rights, each an entry of the path's access control list. Deny stands before
// everything else in the list, as Windows evaluates it.
const (
	Deny  Right = "deny-write"
	Read  Right = "read"
	Write Right = "write"
)

// Grant is one entry to be added before the command and taken back after it.
type Grant struct {
	Path  string `json:"path"`
	Right Right  `json:"right"`
	// IfExists is set for paths that are only guarded when they are there.
	IfExists bool `json:"ifExists,omitempty"`
}

// Job are the limits of the job object.
type Job struct {
	Flags           uint32 `json:"flags"`
	UI              uint32 `json:"ui"`
	ActiveProcesses uint32 `json:"activeProcesses"`
	JobMemory       uint64 `json:"jobMemory"`
	ProcessMemory   uint64 `json:"processMemory"`
	ProcessTime100N int64  `json:"processTime100n"` // hundreds of nanoseconds
}

// Launch is everything that a launcher needs, in the order of its use: make the
// container's profile, grant, make the job, create the process suspended with the
// container's identity and only the three standard handles, put it into the job,
// resume it, wait, close the job, take the grants back.
type Launch struct {
	Profile      string   `json:"profile"`      // name of the AppContainer; one per workspace
	Capabilities []string `json:"capabilities"` // none: no network, no libraries
	Grants       []Grant  `json:"grants"`
	Job          Job      `json:"job"`
	CreateFlags  uint32   `json:"createFlags"`
	CommandLine  string   `json:"commandLine"`
	Dir          string   `json:"dir"`
	Environment  []string `json:"environment"` // sorted, as Windows wants it
}

// Host is what the launch needs to know of the machine.
type Host struct {
	SystemRoot string   // C:\Windows
	Tmp        string   // the temporary folder made for this command
	Path       []string // directories of programs
	Tools      []string // toolchains outside the system, readable
}

// Plan is the pure function from a spec and a command to a launch.
func Plan(s sandbox.Spec, c sandbox.Command, h Host) (Launch, error) {
	switch {
	case s.Network != sandbox.NetworkNone:
		return Launch{}, domain.Errorf(domain.CodeInvalid, "network %q is not known; a sandbox has none", s.Network)
	case s.Unsandboxed:
		return Launch{}, domain.Errorf(domain.CodeInvalid, "an unsandboxed command has no container")
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return Launch{}, domain.Errorf(domain.CodeInvalid, "no program was named")
	}
	line, err := CommandLine(c.Argv)
	if err != nil {
		return Launch{}, err
	}
	dir := c.Dir
	if dir == "" {
		dir = s.Workspace
	}
	limits := s.Limits.Fill()
	l := Launch{
		Profile:      "Worksite." + domain.HashBytes([]byte(strings.ToLower(s.Workspace))).String()[:20],
		Capabilities: []string{},
		Job: Job{
			Flags: LimitKillOnClose | LimitDieOnError | LimitActiveProcess | LimitJobMemory | LimitProcessMemory | LimitProcessTime,
			UI:    UIAll, ActiveProcesses: uint32(limits.Processes),
			JobMemory: uint64(limits.Memory), ProcessMemory: uint64(limits.Memory), ProcessTime100N: limits.CPU.Nanoseconds() / 100,
		},
		CreateFlags: CreateSuspended | CreateUnicodeEnvironment | ExtendedStartupInfoPresent | CreateNoWindow,
		CommandLine: line,
		Dir:         dir,
		Environment: environment(s, h),
	}
	if limits.Processes > 1<<31-1 {
		return Launch{}, domain.Errorf(domain.CodeInvalid, "a limit of %d processes is too high", limits.Processes)
	}
	if l.Grants, err = grants(s, h); err != nil {
		return Launch{}, err
	}
	return l, nil
}

func grants(s sandbox.Spec, h Host) ([]Grant, error) {
	var out []Grant
	add := func(right Right, ifExists bool, paths ...string) error {
		for _, p := range paths {
			if !absolute(p) {
				return domain.Errorf(domain.CodeInvalid, "path %q is not an absolute path of a drive", p)
			}
			out = append(out, Grant{p, right, ifExists})
		}
		return nil
	}
	for _, rel := range append([]string{".git/config", ".git/config.worktree", ".git/hooks", ".git/commondir"}, s.Protected...) {
		rel = strings.Trim(strings.ReplaceAll(rel, "/", `\`), `\`)
		if rel == "" || strings.Contains(`\`+rel+`\`, `\..\`) || strings.Contains(rel, ":") {
			return nil, domain.Errorf(domain.CodeInvalid, "protected path %q does not lie inside the workspace", rel)
		}
		if err := add(Deny, true, s.Workspace+`\`+rel); err != nil {
			return nil, err
		}
	}
	if err := add(Write, false, append([]string{s.Workspace, h.Tmp}, s.Writable...)...); err != nil {
		return nil, err
	}
	if err := add(Read, false, append(append([]string{}, h.Tools...), s.ReadOnly...)...); err != nil {
		return nil, err
	}
	return out, nil
}

// absolute accepts C:\folder: no other drive syntax, device path, share or stream, any
// of which could name something else than it seems to.
func absolute(p string) bool {
	if len(p) < 4 || p[1] != ':' || p[2] != '\\' || p[0]|0x20 < 'a' || p[0]|0x20 > 'z' {
		return false
	}
	if strings.ContainsAny(p[3:], "/:*?\"<>|") || strings.HasSuffix(p, `\`) {
		return false
	}
	for _, part := range strings.Split(p[3:], `\`) {
		if part == "" || part == "." || part == ".." || strings.HasSuffix(part, " ") || strings.HasSuffix(part, ".") {
			return false
		}
		for _, r := range part {
			if r < 0x20 {
				return false
			}
		}
	}
	return true
}

func environment(s sandbox.Spec, h Host) []string {
	env := map[string]string{
		"SystemRoot": h.SystemRoot, "ComSpec": h.SystemRoot + `\System32\cmd.exe`, "PATHEXT": ".COM;.EXE;.BAT;.CMD",
		"PATH": strings.Join(append(append([]string{}, h.Path...), h.SystemRoot+`\System32`, h.SystemRoot), ";"),
		"TEMP": h.Tmp, "TMP": h.Tmp, "USERPROFILE": h.Tmp, "APPDATA": h.Tmp, "LOCALAPPDATA": h.Tmp,
		"GIT_TERMINAL_PROMPT": "0", "WORKSITE_SANDBOX": "1",
	}
	for k, v := range s.Env {
		env[k] = v
	}
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	sort.Slice(out, func(i, j int) bool { return strings.ToUpper(out[i]) < strings.ToUpper(out[j]) })
	return out
}

// maxCommandLine is CreateProcess' bound, in UTF-16 units with the final zero.
const maxCommandLine = 32767

// CommandLine writes an argument vector as the one string that Windows passes on, so
// that a program following the usual rules reads back exactly the vector. Batch files
// follow other rules, which cannot be met safely, so they are refused.
func CommandLine(argv []string) (string, error) {
	name := strings.ToLower(strings.TrimRight(argv[0], " ."))
	if strings.HasSuffix(name, ".bat") || strings.HasSuffix(name, ".cmd") {
		return "", domain.Errorf(domain.CodeInvalid, "%s is a batch file, whose arguments would be interpreted", argv[0]).
			WithHint("Run cmd.exe /c with it as a command of its own, so that the approval shows it.")
	}
	if strings.ContainsRune(argv[0], '"') {
		return "", domain.Errorf(domain.CodeInvalid, "a program's name cannot contain a quotation mark")
	}
	parts := make([]string, len(argv))
	for i, a := range argv {
		if strings.ContainsRune(a, 0) {
			return "", domain.Errorf(domain.CodeInvalid, "an argument contains a NUL character, which no program can receive")
		}
		parts[i] = quote(a, i == 0)
	}
	line := strings.Join(parts, " ")
	if len(utf16.Encode([]rune(line))) >= maxCommandLine {
		return "", domain.Errorf(domain.CodeTooLarge, "the command line is longer than Windows allows")
	}
	return line, nil
}

func quote(s string, program bool) string {
	if program {
		return `"` + s + `"` // backslashes are plain there
	}
	if s != "" && !strings.ContainsAny(s, " \t\n\v\"") {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			slashes++
		case '"': // the backslashes before it count double, and one more is for it
			b.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		b.WriteByte(s[i])
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	b.WriteByte('"')
	return b.String()
}
