package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"worksite/backend/domain"
)

const (
	drainTime = 250 * time.Millisecond // for output still in the pipe after the program ended
	killTime  = 2 * time.Second        // after SIGKILL; only a process stuck in the kernel needs longer
	chunkSize = 32 << 10
)

var chunks = sync.Pool{New: func() any { b := make([]byte, chunkSize); return &b }}

// Run runs s and returns how it ended. It returns an error only when the program
// could not be started: nothing happened then.
func Run(ctx context.Context, s Spec) (Result, error) {
	if err := s.fill(); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	file, err := LookPath(s.Argv[0], lookup(s.Env, "PATH"))
	if err != nil {
		return Result{}, err
	}
	cmd := &exec.Cmd{
		Path: file, Args: s.Argv, Dir: s.Dir, ExtraFiles: s.ExtraFiles, Stdin: s.Stdin,
		Env: append([]string{}, s.Env...), // not nil: nil would inherit
	}
	if _, isFile := s.Stdin.(*os.File); s.Stdin != nil && !isFile {
		cmd.WaitDelay = drainTime // a reader that blocks must not hold us
	}
	out, err := newOutput(&s, cmd)
	if err != nil {
		return Result{}, err
	}

	// The kernel's parent-death signal watches the thread that started the child,
	// so this goroutine keeps its thread until the end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t := newTree(cmd, &s)
	begin := time.Now()
	if err := t.start(); err != nil {
		out.abort()
		t.close()
		return Result{}, startError(s, err)
	}
	out.start()

	exited := make(chan struct{})
	go func() { t.await(); close(exited) }()
	r := Result{}
	stuck := !t.watch(ctx, s, out.over, exited, &r)
	if !stuck {
		r.LeftNames = t.killLeft()
		r.Report.Left = len(r.LeftNames)
		_ = cmd.Wait() // its news are in ProcessState
	} else {
		r.LeftNames, r.Report.Left = []string{s.Argv[0]}, 1
	}
	out.finish(&r)
	t.close()
	r.Report.DurationMS = time.Since(begin).Milliseconds()
	r.describe(cmd.ProcessState)
	return r, nil
}

// watch waits for the end and brings it about when it has to. It returns false
// when the program cannot be ended, which only a broken device driver or file
// system does.
func (t *tree) watch(ctx context.Context, s Spec, over, exited <-chan struct{}, r *Result) bool {
	var timeout <-chan time.Time
	if s.Timeout > 0 {
		timer := time.NewTimer(s.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-exited:
		return true
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.TimedOut, r.Report.KilledBy = true, "timeout"
		} else {
			r.Cancelled, r.Report.KilledBy = true, "cancel"
		}
	case <-timeout:
		r.TimedOut, r.Report.KilledBy = true, "timeout"
	case <-over:
		r.Report.KilledBy = "output"
	}
	if s.Stop != nil {
		s.Stop()
	} else {
		t.terminate()
	}
	grace := time.NewTimer(s.Grace)
	defer grace.Stop()
	select {
	case <-exited:
		return true
	case <-grace.C:
	}
	if s.Kill != nil {
		s.Kill()
		soft := time.NewTimer(drainTime)
		defer soft.Stop()
		select {
		case <-exited:
			return true
		case <-soft.C:
		}
	}
	t.kill()
	last := time.NewTimer(killTime)
	defer last.Stop()
	select {
	case <-exited:
		return true
	case <-last.C:
		return false
	}
}

func (r *Result) describe(ps *os.ProcessState) {
	if ps == nil {
		r.Code, r.Signal = 128+9, "SIGKILL"
		return
	}
	r.Code, r.Signal = exitOf(ps)
	r.Report.UserMS = ps.UserTime().Milliseconds()
	r.Report.SystemMS = ps.SystemTime().Milliseconds()
	r.Report.MaxRSSKiB = maxRSS(ps)
}

func startError(s Spec, err error) error {
	if _, statErr := os.Stat(s.Dir); statErr != nil {
		return domain.Errorf(domain.CodeNotFound, "working directory %s: %w", s.Dir, statErr)
	}
	if errors.Is(err, fs.ErrPermission) {
		return domain.Errorf(domain.CodeForbidden, "start %s: %w", s.Argv[0], err)
	}
	return domain.Errorf(domain.CodeInvalid, "start %s: %w", s.Argv[0], err)
}

// output reads what the program writes.
type output struct {
	s       *Spec
	over    chan struct{} // closed when OutputMax is passed
	once    sync.Once
	streams []*stream
	mu      sync.Mutex // one chunk at a time, also with Split
	spill   spill
	total   int64
	wg      sync.WaitGroup
}

type stream struct {
	r, w *os.File
	keep keep
}

func newOutput(s *Spec, cmd *exec.Cmd) (*output, error) {
	o := &output{s: s, over: make(chan struct{}), spill: spill{w: s.Spill, max: s.SpillMax}}
	n := 1
	if s.Split {
		n = 2
	}
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			o.abort()
			return nil, err
		}
		o.streams = append(o.streams, &stream{r: r, w: w, keep: keep{headMax: s.Head, tailMax: s.Tail}})
	}
	cmd.Stdout, cmd.Stderr = o.streams[0].w, o.streams[n-1].w
	return o, nil
}

func (o *output) abort() {
	for _, st := range o.streams {
		_ = st.r.Close()
		_ = st.w.Close()
	}
}

func (o *output) start() {
	for _, st := range o.streams {
		_ = st.w.Close()
		o.wg.Add(1)
		go func() { defer o.wg.Done(); o.read(st) }()
	}
}

func (o *output) read(st *stream) {
	buf := chunks.Get().(*[]byte)
	defer chunks.Put(buf)
	for {
		n, err := st.r.Read(*buf)
		if n > 0 {
			o.take(st, (*buf)[:n])
		}
		if err != nil { // end of file, or the deadline of finish
			return
		}
	}
}

func (o *output) take(st *stream, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	st.keep.write(p)
	o.spill.write(p)
	o.total += int64(len(p))
	if o.s.OnOutput != nil {
		o.s.OnOutput(p)
	}
	if o.s.OutputMax > 0 && o.total > o.s.OutputMax {
		o.once.Do(func() { close(o.over) })
	}
}

// finish takes what is still in the pipes, but does not wait for whoever holds them.
func (o *output) finish(r *Result) {
	deadline := time.Now().Add(drainTime)
	for _, st := range o.streams {
		if st.r.SetReadDeadline(deadline) != nil {
			timer := time.AfterFunc(drainTime, func() { _ = st.r.Close() })
			defer timer.Stop()
		}
	}
	o.wg.Wait()
	for _, st := range o.streams {
		_ = st.r.Close()
	}
	r.Spilled, r.SpillErr = o.spill.written, o.spill.err
	first, last := o.streams[0], o.streams[len(o.streams)-1]
	r.Report.Stdout = first.keep.total
	if !o.s.Split {
		r.Head, r.Tail, r.Dropped = first.keep.parts()
		return
	}
	r.Report.Stderr = last.keep.total
	_, _, d1 := first.keep.parts()
	_, _, d2 := last.keep.parts()
	r.Stdout, r.Stderr, r.Dropped = first.keep.joined(), last.keep.joined(), d1+d2
}
