package local

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"worksite/backend/failpoint"
	"worksite/backend/process"
	"worksite/backend/sandbox"
)

// unsandboxed runs a command with the person's own rights, after their consent. Even
// so the environment is a list of what is needed, not this process's own.
func (l *Local) unsandboxed(ctx context.Context, s sandbox.Spec, c sandbox.Command) (sandbox.Result, error) {
	dir, err := l.check(s, c)
	if err != nil {
		return sandbox.Result{}, err
	}
	env := map[string]string{
		"PATH": l.cfg.Path, "HOME": l.cfg.Home, "USER": l.cfg.User, "LOGNAME": l.cfg.User, "TMPDIR": os.TempDir(),
		"LANG": "C.UTF-8", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_EDITOR": "true", "GIT_TERMINAL_PROMPT": "0",
	}
	if runtime.GOOS == "windows" { // without these hardly any program starts
		for _, k := range []string{"SystemRoot", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"} {
			if v := os.Getenv(k); v != "" {
				env[k] = v
			}
		}
	}
	for k, v := range s.Env {
		env[k] = v
	}
	for _, w := range s.Writable {
		if err := os.MkdirAll(w, 0o700); err != nil {
			return sandbox.Result{}, err
		}
	}
	out := newSpill(c)
	failpoint.Reach(failpoint.SandboxBeforeStart)
	r, err := process.Run(ctx, process.Spec{
		Argv: c.Argv, Dir: dir, Env: pairs(env), Timeout: c.Timeout,
		Head: c.Head, Tail: c.Tail, Spill: out, SpillMax: c.SpillMax, OnOutput: c.OnOutput, Stdin: c.Stdin,
	})
	failpoint.Reach(failpoint.SandboxAfterEnd)
	spill, closeErr := out.close(err == nil)
	if err != nil {
		return sandbox.Result{}, err
	}
	if r.SpillErr == nil {
		r.SpillErr = closeErr
	}
	return sandbox.Result{Result: r, SpillPath: spill, Unsandboxed: true}, nil
}

func pairs(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, k := range sortedKeys(env) {
		out = append(out, k+"="+env[k])
	}
	return out
}

// spill keeps the first bytes in memory and makes a file only when there are more
// than the result holds anyway.
type spill struct {
	dir  string
	held []byte
	room int
	file *os.File
}

func newSpill(c sandbox.Command) *spill {
	room := c.Head + c.Tail
	if room == 0 {
		room = process.DefaultHead + process.DefaultTail
	}
	return &spill{dir: c.SpillDir, room: room}
}

// Write implements io.Writer.
func (s *spill) Write(p []byte) (int, error) {
	if s.dir == "" {
		return len(p), nil
	}
	if s.file == nil {
		if len(s.held)+len(p) <= s.room {
			s.held = append(s.held, p...)
			return len(p), nil
		}
		f, err := os.CreateTemp(s.dir, "output-*.txt")
		if err != nil {
			return 0, err
		}
		s.file = f
		if _, err := f.Write(s.held); err != nil {
			return 0, err
		}
		s.held = nil
	}
	return s.file.Write(p)
}

// close returns the file, if there is one to keep.
func (s *spill) close(keep bool) (string, error) {
	if s.file == nil {
		return "", nil
	}
	err := s.file.Close()
	if !keep {
		_ = os.Remove(s.file.Name())
		return "", nil
	}
	return filepath.Clean(s.file.Name()), err
}
