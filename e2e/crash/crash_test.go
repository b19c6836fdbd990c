// Package crash kills the real binary in the middle of real runs and looks at
// what is left. The short form runs with the other tests; WORKSITE_SOAK=1 makes
// it a storm.
package crash_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
)

var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "worksite-crash-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "worksite")
		build := exec.Command("go", "build", "-o", binary, "worksite/backend/cmd/worksite")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// steps is the task: each step writes a file, edits it, and lets a command append
// one line to a log, so that an effect done twice would show.
const steps = 4

func script() modeltest.Script {
	var s modeltest.Script
	call := func(name string, args any) modeltest.Call {
		b, err := json.Marshal(args)
		if err != nil {
			panic(err)
		}
		return modeltest.Call{Name: name, Arguments: string(b)}
	}
	type m = map[string]any
	for i := range steps {
		file := fmt.Sprintf("f%d.txt", i)
		s.Answers = append(s.Answers,
			modeltest.Answer{Text: "write", Calls: []modeltest.Call{call("write", m{"path": file, "content": "one\ntwo\n"})}},
			modeltest.Answer{Text: "edit and look", Calls: []modeltest.Call{
				call("edit", m{"path": file, "old_string": "two", "new_string": fmt.Sprintf("step %d", i)}),
				call("read", m{"path": file}), call("ls", m{"path": "."}),
			}},
			modeltest.Answer{Text: "run", Calls: []modeltest.Call{call("bash", m{"command": fmt.Sprintf("sleep 0.02; echo %d >> log.txt; sleep 0.02", i)})}},
		)
	}
	return s
}

// site is one data folder with a workspace and a model.
type site struct {
	t       *testing.T
	home    string
	dir     string
	model   *modeltest.Server
	session string
	run     string
	acked   int64 // the highest seq that was printed before a kill
	acks    map[int64]string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, home: t.TempDir(), dir: t.TempDir(), model: modeltest.New(t, script()), acks: map[int64]string{}}
	return s
}

func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "WORKSITE_HOME="+s.home, "WORKSITE_ALLOW_ROOT=1", "OPENAI_API_KEY=none")
	return cmd
}

// start runs a command that prints events and kills it after a while; 0 lets it
// end. It returns the exit code, -1 for killed.
func (s *site) start(kill time.Duration, args ...string) int {
	s.t.Helper()
	cmd := s.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if kill > 0 {
		timer := time.AfterFunc(kill, func() { _ = cmd.Process.Kill() }) // it may have ended
		defer timer.Stop()
	}
	s.read(out)
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%v: %s", err, stderr.String())
	}
	code := cmd.ProcessState.ExitCode()
	if code == 1 || code == 2 {
		s.t.Fatalf("%v: exit %d: %s", args, code, stderr.String())
	}
	return code
}

// read remembers every event that was printed whole: it was acknowledged.
func (s *site) read(r io.Reader) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e domain.Event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			continue // the line that the kill cut
		}
		s.session = string(e.Session)
		if e.Run != "" {
			s.run = string(e.Run)
		}
		s.acked = max(s.acked, e.Seq)
		s.acks[e.Seq] = e.Hash.String()
	}
}

func (s *site) output(args ...string) string {
	s.t.Helper()
	cmd := s.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v: %v: %s", args, err, stderr.String())
	}
	return string(out)
}

// events reads the ledger back and checks that nothing acknowledged is missing or
// different.
func (s *site) events() []domain.Event {
	s.t.Helper()
	var out []domain.Event
	for line := range strings.Lines(s.output("events", s.session)) {
		var e domain.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatal(err)
		}
		if e.Seq != int64(len(out))+1 {
			s.t.Fatalf("seq %d after %d", e.Seq, len(out))
		}
		out = append(out, e)
	}
	for seq, hash := range s.acks {
		if seq > int64(len(out)) || out[seq-1].Hash.String() != hash {
			s.t.Fatalf("event %d was acknowledged and is lost or changed", seq)
		}
	}
	return out
}

// finish continues until the run has ended, deciding "skip" on what is unknown.
// It returns how many calls were unknown.
func (s *site) finish(r *rand.Rand, kills int) (unknown int) {
	s.t.Helper()
	for range 40 {
		v := s.view()
		switch v.Run.State {
		case "done":
			return unknown
		case "unknown":
			unknown++
			s.start(0, "sessions", "decide", s.session, string(v.Run.Unknown[0]), "skip", "--json")
			continue
		case "interrupted":
		default:
			s.t.Fatalf("the run is %s: %s", v.Run.State, v.Run.Reason)
		}
		var kill time.Duration
		if kills > 0 {
			kills--
			kill = time.Duration(20+r.IntN(500)) * time.Millisecond
		}
		s.start(kill, "continue", s.run, "--json")
	}
	s.t.Fatal("the run does not end")
	return 0
}

type view struct {
	Run struct {
		State   string
		Reason  string
		Unknown []domain.CallID
	}
}

func (s *site) view() view {
	s.t.Helper()
	var v view
	if err := json.Unmarshal([]byte(s.output("sessions", "show", "--json", s.session)), &v); err != nil {
		s.t.Fatal(err)
	}
	return v
}

// check looks at what the whole run has left: files as they should be, no effect
// twice, a ledger that verifies.
func (s *site) check(unknown int) {
	s.t.Helper()
	events := s.events()
	started, completed := map[domain.CallID]int{}, map[domain.CallID]int{}
	names := map[domain.CallID]string{}
	for _, e := range events {
		if p, ok := domain.PayloadOf[domain.ToolCallRequested](e); ok {
			names[p.CallID] = p.Name
		}
		if p, ok := domain.PayloadOf[domain.ToolCallExecuting](e); ok {
			started[p.CallID]++
		}
		if p, ok := domain.PayloadOf[domain.ToolCallCompleted](e); ok {
			completed[p.CallID]++
		}
	}
	for id, n := range started {
		if names[id] == "bash" && n > 1 {
			s.t.Errorf("command %s was started %d times", id, n)
		}
		if completed[id] > 1 {
			s.t.Errorf("call %s was completed %d times", id, completed[id])
		}
	}
	for i := range steps {
		want := fmt.Sprintf("one\nstep %d\n", i)
		if got, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprintf("f%d.txt", i))); err != nil || string(got) != want {
			s.t.Errorf("f%d.txt is %q, %v", i, got, err)
		}
	}
	log, err := os.ReadFile(filepath.Join(s.dir, "log.txt"))
	if err != nil && unknown < steps {
		s.t.Error(err)
	}
	lines := map[string]int{}
	for line := range strings.Lines(string(log)) {
		lines[line]++
	}
	missing := steps
	for line, n := range lines {
		missing--
		if n != 1 {
			s.t.Errorf("the effect %q happened %d times", strings.TrimSpace(line), n)
		}
	}
	if missing > unknown {
		s.t.Errorf("%d effects are missing, %d were said to be unknown: log %q", missing, unknown, log)
	}
	s.output("journal", "verify")
}

// R55, R63, R69, R74, R135, R141: kill -9 at random instants of a real run with
// real edits and real sandboxed commands; continue; nothing acknowledged is lost,
// no effect happens twice, and every unknown is said.
func TestKillStorm(t *testing.T) {
	seeds := 6
	if os.Getenv("WORKSITE_SOAK") != "" {
		seeds = 250
	}
	kills, unknowns := 0, 0
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			s := newSite(t)
			first := time.Duration(60+r.IntN(700)) * time.Millisecond
			if s.start(first, "run", "-w", s.dir, "--mode", "auto", "--model", "openai:scripted", "--base-url", s.model.URL+"/v1", "--json", "do the steps") == 0 {
				s.check(0) // it was faster than the kill
				return
			}
			if s.session == "" {
				kills++
				return // killed before the first event was acknowledged
			}
			unknown := s.finish(r, 3)
			kills += 4
			unknowns += unknown
			s.check(unknown)
		})
	}
	t.Logf("%d seeds, about %d kills, %d unknown effects decided by a person, 0 acknowledged events lost", seeds, kills, unknowns)
}
