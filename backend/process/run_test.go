//go:build unix

package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"worksite/backend/domain"
)

const testPath = "PATH=/usr/local/bin:/usr/bin:/bin"

func sh(t *testing.T, script string) Spec {
	t.Helper()
	return Spec{Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: []string{testPath}, Timeout: 20 * time.Second}
}

func run(t *testing.T, s Spec) Result {
	t.Helper()
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// R110
func TestArgumentsAreLiterals(t *testing.T) {
	r := run(t, Spec{Argv: []string{"printf", "%s|", "a;b", "$(id)", "`id`", "x > y", "a\nb"}, Dir: t.TempDir(), Env: []string{testPath}})
	if got := string(r.Head); got != "a;b|$(id)|`id`|x > y|a\nb|" || r.Code != 0 {
		t.Fatalf("program received %q (code %d)", got, r.Code)
	}
}

// R111
func TestEnvironmentIsExact(t *testing.T) {
	t.Setenv("WORKSITE_TEST_SECRET", "canary")
	for _, env := range [][]string{nil, {"ONLY=this"}} {
		r := run(t, Spec{Argv: []string{"/usr/bin/env"}, Dir: t.TempDir(), Env: env})
		if want := strings.Join(append(env, ""), "\n"); string(r.Head) != want {
			t.Errorf("environment of %v is %q", env, r.Head)
		}
	}
}

func TestOnlyNamedFilesAreInherited(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := sh(t, "ls /proc/self/fd | wc -l; [ -e /proc/self/fd/3 ]")
	if runtime.GOOS != "linux" {
		t.Skip("skipped: needs /proc")
	}
	if r := run(t, s); r.Code == 0 {
		t.Error("descriptor 3 is open without being named")
	}
	s.ExtraFiles = []*os.File{f}
	if r := run(t, s); r.Code != 0 {
		t.Error("named file did not become descriptor 3")
	}
}

func TestRefusals(t *testing.T) {
	for name, s := range map[string]Spec{
		"no program":     {Dir: "/", Env: []string{testPath}},
		"NUL":            {Argv: []string{"echo", "a\x00b"}, Dir: "/", Env: []string{testPath}},
		"NUL in env":     {Argv: []string{"echo"}, Dir: "/", Env: []string{testPath, "A=\x00"}},
		"relative dir":   {Argv: []string{"echo"}, Dir: "x", Env: []string{testPath}},
		"not found":      {Argv: []string{"no-such-program"}, Dir: "/", Env: []string{testPath}},
		"no PATH":        {Argv: []string{"true"}, Dir: "/"},
		"missing dir":    {Argv: []string{"true"}, Dir: "/no/such/dir", Env: []string{testPath}},
		"directory":      {Argv: []string{"/usr"}, Dir: "/", Env: []string{testPath}},
		"negative bound": {Argv: []string{"true"}, Dir: "/", Env: []string{testPath}, Head: -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Run(t.Context(), s)
			if code := domain.CodeOf(err); code != domain.CodeInvalid && code != domain.CodeNotFound {
				t.Fatalf("error is %v", err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, sh(t, "true")); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled context: %v", err)
	}
}

func TestExit(t *testing.T) {
	for script, want := range map[string]struct {
		code   int
		signal string
	}{
		"exit 0":     {0, ""},
		"exit 3":     {3, ""},
		"kill -9 $$": {137, "SIGKILL"},
		"kill $$":    {143, "SIGTERM"},
	} {
		if r := run(t, sh(t, script)); r.Code != want.code || r.Signal != want.signal || r.TimedOut || r.Cancelled {
			t.Errorf("%s: code %d signal %q", script, r.Code, r.Signal)
		}
	}
}

// within fails when f needs longer than d; it is a bound on waiting, not a sleep.
func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if took := time.Since(begin); took > d {
		t.Errorf("%s took %v, allowed %v", what, took, d)
	}
}

// R149
func TestReturnsWhenDirectChildEnded(t *testing.T) {
	for name, script := range map[string]string{
		"background":          "sleep 61 & echo done",
		"background of shell": "(sleep 61; echo late) & echo done",
		"ignores the request": "sh -c 'trap \"\" TERM HUP INT; sleep 61; sleep 61' & echo done",
	} {
		t.Run(name, func(t *testing.T) {
			within(t, 5*time.Second, "return", func() {
				r := run(t, sh(t, script))
				if string(r.Head) != "done\n" || r.Code != 0 || r.Report.KilledBy != "" {
					t.Errorf("result %+v", r)
				}
				if r.Report.Left == 0 || len(r.LeftNames) != r.Report.Left {
					t.Errorf("left-over process is not reported: %+v", r.Report)
				}
			})
		})
	}
}

// R149
func TestStopEndsTheWholeTree(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: descendants outside the process group are found on Linux only")
	}
	for name, script := range map[string]string{
		"child":            `sleep 62 & echo $! > pids; wait`,
		"setsid":           `setsid sh -c 'echo $$ > pids; exec sleep 62' & wait; sleep 62`,
		"double fork":      `(setsid sh -c 'echo $$ > pids; exec sleep 62 >/dev/null 2>&1 </dev/null' &) ; sleep 62`,
		"emptied":          `(setsid env -i /bin/sh -c 'echo $$ > pids; exec /bin/sleep 62 >/dev/null 2>&1 </dev/null' &) ; sleep 62`,
		"ignores":          `trap '' TERM HUP INT; sh -c 'echo $$ > pids; while :; do sleep 1; done' & while :; do sleep 1; done`,
		"stopped":          `sh -c 'echo $$ > pids; kill -STOP $$' & wait; sleep 62`,
		"stopped itself":   `echo $$ > pids; kill -STOP $$`,
		"fifo":             `mkfifo f; echo $$ > pids; cat f`,
		"forks on request": `echo $$ > pids; trap 'setsid sh -c "echo \$\$ >> pids; exec sleep 62" & exit 0' TERM; while :; do sleep .01; done`,
	} {
		t.Run(name, func(t *testing.T) {
			s := sh(t, script)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var cancelled time.Time
			go func() {
				waitFor(t, func() bool { return len(pidsOf(t, s.Dir)) > 0 })
				cancelled = time.Now()
				cancel()
			}()
			r, err := Run(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(cancelled); took > 2*time.Second {
				t.Errorf("stop took %v", took)
			}
			if !r.Cancelled || r.TimedOut || r.Report.KilledBy != "cancel" {
				t.Errorf("result %+v", r)
			}
			for _, pid := range pidsOf(t, s.Dir) {
				waitFor(t, func() bool { return !alive(pid) })
			}
		})
	}
}

// R149: a daemon that the ended command left behind.
func TestDaemonLeftBehindIsStoppedAndListed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: needs /proc")
	}
	s := sh(t, `(setsid sh -c 'echo $$ > pids; exec sleep 63 >/dev/null 2>&1 </dev/null' &); while [ ! -s pids ]; do :; done; echo started`)
	r := run(t, s)
	if r.Code != 0 || len(r.LeftNames) == 0 {
		t.Fatalf("result %+v", r)
	}
	for _, pid := range pidsOf(t, s.Dir) {
		waitFor(t, func() bool { return !alive(pid) })
	}
}

func TestNeighboursStay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: needs /proc")
	}
	ctx, cancel := context.WithCancel(t.Context())
	other := sh(t, "echo $$ > pids; exec sleep 64")
	done := make(chan Result)
	go func() { r, _ := Run(ctx, other); done <- r }()
	waitFor(t, func() bool { return len(pidsOf(t, other.Dir)) > 0 })
	run(t, sh(t, "sleep 61 & echo done"))
	s := sh(t, "sleep 65")
	s.Timeout = 10 * time.Millisecond
	run(t, s)
	for _, pid := range pidsOf(t, other.Dir) {
		if !alive(pid) {
			t.Error("the sweep killed a process of another run")
		}
	}
	cancel()
	if r := <-done; !r.Cancelled {
		t.Errorf("other run: %+v", r)
	}
}

// R111
func TestTimeoutAndInheritedDeadline(t *testing.T) {
	s := sh(t, "echo before; sleep 62")
	s.Timeout = 100 * time.Millisecond
	within(t, 3*time.Second, "timeout", func() {
		if r := run(t, s); !r.TimedOut || r.Cancelled || r.Report.KilledBy != "timeout" || string(r.Head) != "before\n" {
			t.Errorf("result %+v", r)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r, err := Run(ctx, sh(t, "sleep 62"))
	if err != nil || !r.TimedOut || r.Signal != "SIGTERM" {
		t.Fatalf("deadline of the context: %+v %v", r, err)
	}
}

// R111, R122, R150
func TestGibibyteStreamNeedsBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	const size = 1 << 30
	s := sh(t, fmt.Sprintf("printf begin; head -c %d /dev/zero; printf end", size))
	spilled := &counter{}
	s.Head, s.Tail, s.Spill, s.SpillMax = 4096, 4096, spilled, 1<<20
	s.Timeout, s.OutputMax = 2*time.Minute, 2*size
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := run(t, s)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("allocated %d bytes for 1 GiB", grown)
	}
	if r.Report.Stdout != size+8 || r.Dropped != size+8-8192 || spilled.n != 1<<20 || r.Spilled != 1<<20 {
		t.Errorf("stdout %d dropped %d spilled %d", r.Report.Stdout, r.Dropped, spilled.n)
	}
	if !bytes.HasPrefix(r.Head, []byte("begin")) || !bytes.HasSuffix(r.Tail, []byte("end")) {
		t.Error("head or tail is not kept")
	}
	if text := r.Text(); !strings.Contains(text, fmt.Sprintf("… %d bytes left out …", r.Dropped)) {
		t.Error("text does not say what is missing")
	}
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func TestEndlessOutputIsStopped(t *testing.T) {
	s := sh(t, "yes")
	s.OutputMax = 1 << 20
	if r := run(t, s); r.Report.KilledBy != "output" || r.TimedOut || r.Report.Stdout <= 1<<20 {
		t.Fatalf("result %+v", r.Report)
	}
}

// R150
func TestLongLine(t *testing.T) {
	s := sh(t, "head -c 250011 /dev/zero | tr '\\0' x")
	s.Head, s.Tail = 1000, 500
	var spill bytes.Buffer
	s.Spill = &spill
	r := run(t, s)
	if r.Dropped != 250011-1500 || spill.Len() != 250011 {
		t.Fatalf("dropped %d, spilled %d", r.Dropped, spill.Len())
	}
	want := strings.Repeat("x", 1000) + "\n… 248511 bytes left out …\n" + strings.Repeat("x", 500)
	if r.Text() != want {
		t.Error("text is not head, remark, tail")
	}
}

func TestSpillErrorDoesNotStopTheProgram(t *testing.T) {
	s := sh(t, "echo one; echo two")
	s.Spill = failing{}
	if r := run(t, s); r.SpillErr == nil || string(r.Head) != "one\ntwo\n" || r.Code != 0 {
		t.Fatalf("result %+v", r)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestSplitAndCombined(t *testing.T) {
	s := sh(t, "echo one; echo two >&2; echo three")
	if r := run(t, s); string(r.Head) != "one\ntwo\nthree\n" {
		t.Errorf("combined output is %q", r.Head)
	}
	s.Split = true
	var live bytes.Buffer
	s.OnOutput = func(p []byte) { live.Write(p) }
	r := run(t, s)
	if string(r.Stdout) != "one\nthree\n" || string(r.Stderr) != "two\n" || r.Report.Stdout != 10 || r.Report.Stderr != 4 {
		t.Errorf("stdout %q stderr %q", r.Stdout, r.Stderr)
	}
	if live.Len() != 14 {
		t.Errorf("live output is %q", live.Bytes())
	}
}

func TestLiveOutputComesWhileRunning(t *testing.T) {
	s := sh(t, "echo ready; read line; echo got $line")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.Stdin = r
	var seen bytes.Buffer
	s.OnOutput = func(p []byte) {
		if seen.Len() == 0 {
			fmt.Fprintln(w, "answer") // deadlocks unless the output is live
			w.Close()
		}
		seen.Write(p)
	}
	if run(t, s); seen.String() != "ready\ngot answer\n" {
		t.Fatalf("live output is %q", seen.String())
	}
}

func TestStdinReader(t *testing.T) {
	s := sh(t, "cat")
	s.Stdin = strings.NewReader("through a reader")
	if r := run(t, s); string(r.Head) != "through a reader" {
		t.Fatalf("output %q", r.Head)
	}
}

func TestReportTellsWhatWasUsed(t *testing.T) {
	r := run(t, sh(t, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))
	if r.Report.MaxRSSKiB <= 0 || r.Report.UserMS+r.Report.SystemMS <= 0 || r.Report.DurationMS <= 0 {
		t.Fatalf("report %+v", r.Report)
	}
}

// R150
func TestResultTextIsValidJSON(t *testing.T) {
	r := run(t, sh(t, `printf 'a\000b\033[31mred\033[0m\377\376 \033]52;c;cHduZWQ=\007 end'`))
	b, err := json.Marshal(r.Text())
	if err != nil || !json.Valid(b) {
		t.Fatal(err)
	}
	if want := "a␀bred� \u2002end"; r.Text() != strings.Replace(want, "\u2002", " ", 1) {
		t.Fatalf("text %q", r.Text())
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Error("waited in vain")
			return
		}
	}
}

func pidsOf(t *testing.T, dir string) []int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil || !bytes.HasSuffix(b, []byte("\n")) {
		return nil
	}
	var pids []int
	for _, f := range strings.Fields(string(b)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Error(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// alive is true unless the process is gone or a zombie that nobody reaps.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return f[0] != "Z" && f[0] != "X"
}
