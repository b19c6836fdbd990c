package process

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"worksite/backend/domain"
)

// Defaults of a Spec's zero fields.
const (
	DefaultHead     = 16 << 10
	DefaultTail     = 16 << 10
	DefaultGrace    = 500 * time.Millisecond
	MaxGrace        = 1500 * time.Millisecond // so that a stop is through within two seconds
	DefaultSpillMax = 64 << 20
	outputFactor    = 64 // a program that writes this many times SpillMax is stopped
)

// Spec is one program to run.
type Spec struct {
	// Argv is the program and its arguments. A name without a slash is looked up
	// in the PATH of Env.
	Argv []string
	// Dir is the absolute working directory.
	Dir string
	// Env is exactly the environment, as KEY=VALUE.
	Env []string
	// Stdin is the program's input; nil is the null device.
	Stdin io.Reader
	// ExtraFiles become descriptors 3, 4, … of the program.
	ExtraFiles []*os.File
	// Timeout ends the program; 0 means that only the context does.
	Timeout time.Duration
	// Grace is the time between the request to end and the kill, at most MaxGrace.
	Grace time.Duration
	// Head and Tail are the bytes of output kept in memory.
	Head, Tail int
	// Spill, when given, gets all output, up to SpillMax bytes.
	Spill    io.Writer
	SpillMax int64
	// OutputMax stops the program when it has written more; 0 is 64 × SpillMax
	// with a Spill and no bound without.
	OutputMax int64
	// Split keeps stdout and stderr apart, each with its own head and tail, in
	// Result.Stdout and Result.Stderr. Otherwise both share one pipe and stand in
	// the order in which they were written.
	Split bool
	// OnOutput sees the output live, from one goroutine, in chunks that are only
	// valid during the call. A slow OnOutput slows the program down.
	OnOutput func(chunk []byte)
	// Contained says that every descendant dies with the direct child (a PID
	// namespace), so that none has to be looked for.
	Contained bool
	// Stop, when given, asks the program to end in place of SIGTERM.
	Stop func()
	// Kill, when given, is tried in place of SIGKILL, which still follows if the
	// program has not ended 250 ms later.
	Kill func()
}

// Result is how a program ended and what it said.
type Result struct {
	Code      int    // exit code; 128 + number when a signal ended it
	Signal    string // "SIGKILL"; "" when it exited
	TimedOut  bool
	Cancelled bool
	Head      []byte // the first bytes of the output
	Tail      []byte // the last bytes that are not in Head
	Dropped   int64  // bytes that are in neither
	Stdout    []byte // with Split: head, remark and tail of each stream
	Stderr    []byte
	Spilled   int64 // bytes written to Spill
	SpillErr  error // why spilling ended early, other than by SpillMax
	LeftNames []string
	Report    domain.ExitReport
}

func (s *Spec) fill() error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return domain.Errorf(domain.CodeInvalid, "no program was named")
	}
	for _, list := range [][]string{s.Argv, s.Env, {s.Dir}} {
		for _, a := range list {
			if strings.IndexByte(a, 0) >= 0 {
				return domain.Errorf(domain.CodeInvalid, "an argument contains a NUL byte, which no program can receive")
			}
		}
	}
	if !filepath.IsAbs(s.Dir) {
		return domain.Errorf(domain.CodeInvalid, "working directory %q is not absolute", s.Dir)
	}
	if s.Head < 0 || s.Tail < 0 || s.SpillMax < 0 {
		return domain.Errorf(domain.CodeInvalid, "output bounds are negative")
	}
	if s.Head == 0 && s.Tail == 0 {
		s.Head, s.Tail = DefaultHead, DefaultTail
	}
	if s.Grace <= 0 {
		s.Grace = DefaultGrace
	}
	s.Grace = min(s.Grace, MaxGrace)
	if s.SpillMax == 0 {
		s.SpillMax = DefaultSpillMax
	}
	if s.OutputMax == 0 && s.Spill != nil {
		s.OutputMax = outputFactor * s.SpillMax
	}
	return nil
}

// LookPath finds name in the directories of path (a PATH value) and returns the
// absolute file. Unlike the standard library it never looks at this process's own
// environment, and relative entries of path are passed over.
func LookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, '/') {
		if err := executable(name); err != nil {
			return "", notFound(name)
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, ext := range executableExts {
			if file := filepath.Join(dir, name+ext); executable(file) == nil {
				return file, nil
			}
		}
	}
	return "", notFound(name)
}

func notFound(name string) error {
	return domain.Errorf(domain.CodeNotFound, "%q is not an executable file or not in the PATH", name)
}

// lookup returns the value of key in env; the last one wins, as for exec.
func lookup(env []string, key string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && k == key {
			return v
		}
	}
	return ""
}
