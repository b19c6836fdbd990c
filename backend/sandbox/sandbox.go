package sandbox

import (
	"encoding/json"
	"io"
	"time"

	"worksite/backend/domain"
	"worksite/backend/process"
)

// NetworkNone is a network of its own with nothing in it but a loopback.
const NetworkNone = "none"

// Spec is the recipe of a sandbox: what a command in it can see and do. Everything
// that is not named is not there.
type Spec struct {
	// Workspace is the absolute, resolved folder that the command works in. It is
	// writable, except for what Protected names and Git's control files.
	Workspace string `json:"workspace"`
	// ReadOnly are further absolute paths that can be read.
	ReadOnly []string `json:"readOnly,omitempty"`
	// Writable are further absolute paths that can be written: caches.
	Writable []string `json:"writable,omitempty"`
	// Protected are paths inside the workspace, slash-separated, that cannot be
	// written, and cannot be created when they are missing.
	Protected []string `json:"protected,omitempty"`
	// Network is "none"; there is no other kind yet.
	Network string `json:"network"`
	// Env is the environment beside what the sandbox itself sets (PATH, HOME, …).
	Env map[string]string `json:"env,omitempty"`
	// Limits bound what a command uses.
	Limits Limits `json:"limits"`
	// Unsandboxed runs commands with the person's own rights. Only an explicit,
	// recorded consent may set it.
	Unsandboxed bool `json:"unsandboxed,omitempty"`
}

// Limits bound one command; a zero is the default.
type Limits struct {
	Processes int64         `json:"processes,omitempty"` // processes and threads; not enforced for root
	OpenFiles int64         `json:"openFiles,omitempty"` // per process
	FileSize  int64         `json:"fileSize,omitempty"`  // bytes a file may grow to
	Memory    int64         `json:"memory,omitempty"`    // bytes of data per process
	TmpSize   int64         `json:"tmpSize,omitempty"`   // bytes in each temporary folder
	CPU       time.Duration `json:"cpu,omitempty"`       // processor time per process
}

// DefaultLimits are what a zero field means.
var DefaultLimits = Limits{
	Processes: 2048,
	OpenFiles: 16384,
	FileSize:  4 << 30,
	Memory:    8 << 30,
	TmpSize:   1 << 30,
	CPU:       2 * time.Hour,
}

// Fill returns l with its zero fields replaced by the defaults.
func (l Limits) Fill() Limits {
	d := DefaultLimits
	for _, f := range []struct{ v, d *int64 }{
		{&l.Processes, &d.Processes},
		{&l.OpenFiles, &d.OpenFiles},
		{&l.FileSize, &d.FileSize},
		{&l.Memory, &d.Memory},
		{&l.TmpSize, &d.TmpSize},
	} {
		if *f.v <= 0 {
			*f.v = *f.d
		}
	}
	if l.CPU <= 0 {
		l.CPU = d.CPU
	}
	return l
}

// Hash names the sandbox: equal specs give equal hashes, on every machine.
func (s Spec) Hash() domain.Hash {
	b, err := json.Marshal(s)
	if err != nil {
		panic("sandbox spec does not encode: " + err.Error()) // strings and numbers always do
	}
	return domain.HashBytes(b)
}

// Command is one program to run in a sandbox.
type Command struct {
	// Argv is the program and its arguments; a name without a slash is looked up
	// in the sandbox's PATH.
	Argv []string
	// Dir is the absolute working directory; empty is the workspace.
	Dir string
	// Timeout ends the command; 0 means that only the context does.
	Timeout time.Duration
	// Head and Tail are the bytes of output kept in memory.
	Head, Tail int
	// SpillDir, when given, gets a file with the whole output if it does not fit
	// into Head and Tail.
	SpillDir string
	// SpillMax bounds that file; 0 is process.DefaultSpillMax.
	SpillMax int64
	// OnOutput sees the output live, from one goroutine.
	OnOutput func([]byte)
	// Stdin is the command's input; nil is the null device.
	Stdin io.Reader
}

// Result is how a command ended.
type Result struct {
	process.Result
	// SpillPath is the file with the whole output, up to SpillMax; "" when all of
	// it is in Head and Tail. The caller owns it.
	SpillPath string
	// Planted are things that the command left and that would run on the host
	// later, or that steer an agent, in words that begin with the path.
	Planted []string
	// Unsandboxed is set when the command ran with the person's own rights.
	Unsandboxed bool
}

// Status says whether a sandbox can be had here, and if not why and what to do.
type Status struct {
	OK     bool   `json:"ok"`
	Name   string `json:"name"`           // stable: "ok", "bwrap_missing", …
	Detail string `json:"detail"`         // for the person
	Hint   string `json:"hint,omitempty"` // the remedy
	// Checks are the single facts behind it, one line each, for the doctor; those
	// that failed begin with "✗ ", remarks with "! ", the others with "✓ ".
	Checks []string `json:"checks"`
}
