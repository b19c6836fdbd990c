package crash_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
	"worksite/backend/workspace/rooted"
)

// steps is the task: each step writes a file, edits it, and lets a command append
// one line to a log, so that an effect done twice would show. Then a file that was
// there before is edited, and one is kept as an artifact.
const steps = 3

const (
	oldText = "alpha\nbeta\n"
	newText = "alpha\ngamma\n"
)

// script is what the model answers; pause is how long the first command takes.
func script(pause time.Duration) modeltest.Script {
	var s modeltest.Script
	type m = map[string]any
	call := func(name string, args m) modeltest.Call {
		b, err := json.Marshal(args)
		if err != nil {
			panic(err)
		}
		return modeltest.Call{Name: name, Arguments: string(b)}
	}
	answer := func(text string, calls ...modeltest.Call) {
		s.Answers = append(s.Answers, modeltest.Answer{Text: text, Calls: calls})
	}
	for i := range steps {
		file := fmt.Sprintf("f%d.txt", i)
		answer("write", call("write", m{"path": file, "content": "one\ntwo\n"}))
		answer("edit and look",
			call("edit", m{"path": file, "old_string": "two", "new_string": fmt.Sprintf("step %d", i)}),
			call("read", m{"path": file}), call("ls", m{"path": "."}))
		answer("run", call("bash", m{"command": fmt.Sprintf("sleep 0.02; echo %d >> log.txt; sleep %.2f", i, pause.Seconds())}))
		pause = 20 * time.Millisecond
	}
	answer("look", call("read", m{"path": "old.txt"}))
	answer("edit and keep",
		call("edit", m{"path": "old.txt", "old_string": "beta", "new_string": "gamma"}),
		call("save_artifact", m{"path": "f0.txt"}))
	return s
}

// site is one data folder with a workspace and a model.
type site struct {
	t       *testing.T
	home    string
	dir     string
	log     string // of the fail points that were reached
	model   *modeltest.Server
	session string
	acks    map[int64]string // seq and hash of every event that was printed
	unknown int              // calls of which nobody knew, decided by looking
	retried map[domain.CallID]int
}

func newSite(t *testing.T, pause time.Duration) *site {
	t.Helper()
	s := &site{
		t: t, home: t.TempDir(), dir: t.TempDir(), model: modeltest.New(t, script(pause)),
		acks: map[int64]string{}, retried: map[domain.CallID]int{},
	}
	s.log = filepath.Join(t.TempDir(), "reached")
	if err := os.WriteFile(filepath.Join(s.dir, "old.txt"), []byte(oldText), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// command is the binary with a fail point, none when it is empty.
func (s *site) command(point string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "WORKSITE_HOME="+s.home, "WORKSITE_ALLOW_ROOT=1", "OPENAI_API_KEY=none",
		"WORKSITE_FAILPOINT="+point, "WORKSITE_FAILPOINT_LOG="+s.log)
	return cmd
}

// start runs a command that prints events, and reports whether it was killed: by
// its fail point, or after a while.
func (s *site) start(point string, after time.Duration, args ...string) (killed bool) {
	s.t.Helper()
	cmd := s.command(point, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
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
	return code == -1
}

// read remembers every event that was printed whole: it was acknowledged.
func (s *site) read(r io.Reader) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e domain.Event
		if json.Unmarshal(in.Bytes(), &e) != nil || e.Seq == 0 {
			continue // the line that the kill cut, or no event
		}
		s.session = string(e.Session)
		s.acks[e.Seq] = e.Hash.String()
	}
}

func (s *site) output(args ...string) string {
	s.t.Helper()
	cmd := s.command("", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v: %v: %s", args, err, stderr.String())
	}
	return string(out)
}

func (s *site) decode(v any, args ...string) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.output(args...)), v); err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
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

// files reads the workspace, except what the commands write, and the temporary
// files of killed writes, which a later scan removes.
func (s *site) files() map[string]string {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		if e.Name() == "log.txt" || rooted.IsTemp(e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(s.dir, e.Name()))
		if err != nil {
			s.t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

// lines counts the lines of the log that the commands append to.
func (s *site) lines() map[string]int {
	s.t.Helper()
	out := map[string]int{}
	b, err := os.ReadFile(filepath.Join(s.dir, "log.txt"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		out[strings.TrimSpace(line)]++
	}
	return out
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
	s.decode(&v, "sessions", "show", "--json", s.session)
	return v
}

// decide settles an unknown call as a person would who looks at the log: it was
// done, or it is to be done again.
func (s *site) decide(point string, id domain.CallID) (killed bool) {
	s.t.Helper()
	s.unknown++
	how := "retry"
	for _, e := range s.events() {
		p, ok := domain.PayloadOf[domain.ToolCallRequested](e)
		if !ok || p.CallID != id {
			continue
		}
		for line := range s.lines() {
			if strings.Contains(p.Input, "echo "+line+" ") {
				how = "done"
			}
		}
	}
	if how == "retry" {
		s.retried[id]++
	}
	return s.start(point, 0, "sessions", "decide", s.session, string(id), how, "--json")
}

// check looks at what the whole run has left: files as they should be, no effect
// twice, a ledger that verifies.
func (s *site) check() {
	s.t.Helper()
	type fate struct {
		name, line                  string
		started, completed, unknown int
	}
	calls := map[domain.CallID]*fate{}
	based, promoted := 0, 0
	for _, e := range s.events() {
		switch p := decoded(s.t, e).(type) {
		case domain.ToolCallRequested:
			f := &fate{name: p.Name}
			if _, rest, ok := strings.Cut(p.Input, "echo "); ok {
				f.line, _, _ = strings.Cut(rest, " ")
			}
			calls[p.CallID] = f
		case domain.ToolCallExecuting:
			calls[p.CallID].started++
		case domain.ToolCallCompleted:
			calls[p.CallID].completed++
		case domain.ToolCallUnknown:
			calls[p.CallID].unknown++
		case domain.WorkspaceBased:
			based++
		case domain.ArtifactPromoted:
			promoted++
		}
	}
	lines := s.lines()
	for id, f := range calls {
		if f.completed > 1 {
			s.t.Errorf("%s %s was completed %d times", f.name, id, f.completed)
		}
		if f.name != "bash" {
			continue
		}
		if f.started > 1+s.retried[id] {
			s.t.Errorf("command %s was started %d times, %d retries were asked for", id, f.started, s.retried[id])
		}
		if lines[f.line] != 1 {
			s.t.Errorf("the effect of command %s happened %d times; started %d, completed %d, unknown %d, retried %d",
				id, lines[f.line], f.started, f.completed, f.unknown, s.retried[id])
		}
	}
	if len(lines) != steps {
		s.t.Errorf("the log has %v", lines)
	}
	if based != 1 || promoted != 1 {
		s.t.Errorf("the ledger has the base of the session %d times and %d artifacts", based, promoted)
	}
	want := map[string]string{"old.txt": newText}
	for i := range steps {
		want[fmt.Sprintf("f%d.txt", i)] = fmt.Sprintf("one\nstep %d\n", i)
	}
	if got := s.files(); fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("the folder has %v", got)
	}
	var artifact struct{ Ref domain.ArtifactRef }
	s.decode(&artifact, "artifacts", "list", "--json") // a second line would be an error
	if artifact.Ref.Revision != 0 || artifact.Ref.SHA256 != domain.HashBytes([]byte(want["f0.txt"])) {
		s.t.Errorf("the artifact is %+v", artifact)
	}
	s.output("journal", "verify")
}

func decoded(t *testing.T, e domain.Event) domain.Payload {
	t.Helper()
	p, err := domain.DecodePayload(e.Kind, e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
