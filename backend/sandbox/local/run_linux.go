package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
	"worksite/backend/process"
	"worksite/backend/sandbox"
)

// report is what the helper says, one JSON object per line.
type report struct {
	Ready     bool     `json:"ready"`
	Landlock  int      `json:"landlock"`
	Refused   string   `json:"refused"` // what the command could not be started for
	Errno     int      `json:"errno"`
	Ended     bool     `json:"ended"`
	Code      int      `json:"code"`
	Signal    int      `json:"signal"`
	UserUS    int64    `json:"userUs"`
	SystemUS  int64    `json:"systemUs"`
	MaxRSSKiB int64    `json:"maxRssKib"`
	Left      []string `json:"left"`
}

// Run runs one command in a sandbox made for it. An error means that the command did
// not run; how it ended, and that it could not be found inside, is a Result.
func (l *Local) Run(ctx context.Context, s sandbox.Spec, c sandbox.Command) (sandbox.Result, error) {
	if s.Unsandboxed {
		return l.unsandboxed(ctx, s, c)
	}
	dir, err := l.check(s, c)
	if err != nil {
		return sandbox.Result{}, err
	}
	st := l.Status(ctx)
	if !st.OK {
		return sandbox.Result{}, refusal(st)
	}
	for again := false; ; again = true {
		host, err := l.machine()
		if err != nil {
			return sandbox.Result{}, err
		}
		r, err := l.launch(ctx, l.program(), host, s, c, dir)
		// Nothing has run when the sandbox did not start: a toolchain may be gone.
		if again || c.Stdin != nil || !errors.Is(err, errNotStarted) {
			return r, err
		}
		l.lookAgain()
	}
}

// errNotStarted marks the errors of a sandbox that did not come to stand.
var errNotStarted = errors.New("the sandbox did not start")

func (l *Local) program() string {
	l.statusMu.Lock()
	defer l.statusMu.Unlock()
	return l.bwrap
}

// launch enters the workspace, runs bubblewrap and leaves again.
func (l *Local) launch(ctx context.Context, bwrap string, host Host, s sandbox.Spec, c sandbox.Command, dir string) (sandbox.Result, error) {
	for _, w := range s.Writable {
		if !exists(w) {
			if err := os.MkdirAll(w, 0o700); err != nil {
				return sandbox.Result{}, domain.Errorf(domain.CodeUnavailable, "make %s: %w", w, err)
			}
		}
	}
	p, err := l.enter(s)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer p.leave()
	plan := NewPlan(s, host, p.facts)

	ch, err := l.channels(plan)
	if err != nil {
		return sandbox.Result{}, domain.Errorf(domain.CodeUnavailable, "prepare the sandbox: %w", err)
	}
	defer ch.close()
	out := newSpill(c)
	failpoint.Reach(failpoint.SandboxBeforeStart)
	r, err := process.Run(ctx, process.Spec{
		Argv: plan.Argv(bwrap, dir, c.Argv), Dir: "/", Env: nil, ExtraFiles: ch.inside, Timeout: c.Timeout,
		Head: c.Head, Tail: c.Tail, Spill: out, SpillMax: c.SpillMax, OnOutput: c.OnOutput, Stdin: c.Stdin,
		Contained: true, Stop: ch.ask, Kill: ch.cut,
	})
	failpoint.Reach(failpoint.SandboxAfterEnd)
	rep := ch.report()
	spill, spillErr := out.close(err == nil)
	if err != nil {
		return sandbox.Result{}, err
	}
	if !rep.Ready && r.Report.KilledBy == "" {
		if spill != "" {
			_ = os.Remove(spill)
		}
		return sandbox.Result{}, domain.Errorf(domain.CodeUnavailable, "%w: %s", errNotStarted, oneLine(r.Text())).
			WithHint("Run “worksite doctor”; it says what is missing.")
	}
	if r.SpillErr == nil {
		r.SpillErr = spillErr
	}
	rep.describe(&r)
	return sandbox.Result{Result: r, SpillPath: spill, Planted: p.planted()}, nil
}

// describe replaces what is known of bubblewrap by what is known of the command.
func (rep report) describe(r *process.Result) {
	switch {
	case rep.Ended:
		r.Code, r.Signal = rep.Code, ""
		if rep.Signal != 0 {
			r.Signal = process.SignalName(rep.Signal)
		}
		r.LeftNames, r.Report.Left = rep.Left, len(rep.Left)
		r.Report.UserMS += rep.UserUS / 1000
		r.Report.SystemMS += rep.SystemUS / 1000
		r.Report.MaxRSSKiB = rep.MaxRSSKiB
	case rep.Refused != "":
		r.Code, r.Signal = rep.Code, ""
	default: // ended together with its sandbox
		r.Code, r.Signal = 128+int(unix.SIGKILL), "SIGKILL"
		if r.Report.KilledBy == "" {
			r.Report.KilledBy = "sandbox"
		}
	}
}

func oneLine(s string) string {
	b := bytes.TrimSpace([]byte(s))
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	if len(b) == 0 {
		return "it gave no reason"
	}
	return string(b)
}

// channels are the descriptors between this process, bubblewrap and the helper.
type channels struct {
	inside  []*os.File // in the order of the fd constants
	reports *os.File
	control *os.File
	once    sync.Once
}

func (l *Local) channels(plan Plan) (ch *channels, err error) {
	ch = &channels{}
	defer func() {
		if err != nil {
			ch.close()
		}
	}()
	var args bytes.Buffer
	for _, a := range plan.Args {
		args.WriteString(a)
		args.WriteByte(0)
	}
	filter, err := filterBytes()
	if err != nil {
		return ch, err
	}
	for _, b := range [][]byte{args.Bytes(), filter} {
		f, err := memory(b)
		if err != nil {
			return ch, err
		}
		ch.inside = append(ch.inside, f)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return ch, err
	}
	ch.reports, ch.inside = r, append(ch.inside, w)
	if r, w, err = os.Pipe(); err != nil {
		return ch, err
	}
	ch.control, ch.inside = w, append(ch.inside, r)
	for _, path := range plan.Held {
		f, err := hold(path)
		if err != nil {
			return ch, err
		}
		ch.inside = append(ch.inside, f)
	}
	return ch, nil
}

// hold opens a path for mounting, and for nothing else. Its folders were resolved
// before, so a link anywhere in it was put there by somebody.
func hold(path string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ENOSYS) {
		fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// memory returns an anonymous file with b in it.
func memory(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("worksite", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "worksite")
	if _, err := f.WriteAt(b, 0); err != nil {
		_ = f.Close() // memory: the failure to write is what counts
		return nil, err
	}
	return f, nil
}

// ask has the helper ask the command to end.
func (ch *channels) ask() { _, _ = ch.control.Write([]byte{'t'}) }

// cut takes the helper's reason to live away; its end is the end of everything in
// the sandbox, and bubblewrap waits for that.
func (ch *channels) cut() {
	ch.once.Do(func() { _ = ch.control.Close() }) // a socket is gone even when Close fails
}

// report reads what the helper said. The pipe is at its end once the sandbox is gone.
func (ch *channels) report() report {
	for _, f := range ch.inside {
		_ = f.Close() // our copy only
	}
	ch.inside = nil
	ch.cut()
	_ = ch.reports.SetReadDeadline(time.Now().Add(2 * time.Second))
	b, _ := io.ReadAll(io.LimitReader(ch.reports, 1<<20))
	var rep report
	dec := json.NewDecoder(bytes.NewReader(b))
	for dec.Decode(&rep) == nil {
	}
	return rep
}

func (ch *channels) close() {
	for _, f := range ch.inside {
		_ = f.Close() // our copy only
	}
	ch.inside = nil
	if ch.reports != nil {
		_ = ch.reports.Close() // it was only read
	}
	if ch.control != nil {
		ch.cut()
	}
}
