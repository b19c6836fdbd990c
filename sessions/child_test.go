package sessions_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/sessions"
)

// The test binary starts itself again as another process of the same ledger.
const (
	roleEnv = "SESSIONS_TEST_ROLE"
	dirEnv  = "SESSIONS_TEST_DIR"
	argEnv  = "SESSIONS_TEST_ARG"
)

// child returns what this process does when a test has started it again, nil in
// the test itself.
func child() func() {
	role, ok := map[string]func(context.Context, *sessions.Store, domain.SessionID) error{
		"append": childAppend, "append-once": childAppendOnce, "lease": childLease, "powercut": childPowerCut,
	}[os.Getenv(roleEnv)]
	if !ok {
		return nil
	}
	return func() {
		ctx := context.Background()
		s, err := sessions.Open(ctx, sessions.Config{Dir: os.Getenv(dirEnv)})
		if err == nil {
			err = role(ctx, s, domain.SessionID(os.Getenv(argEnv)))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// childAppend appends for ever and prints each seq once it is acknowledged.
func childAppend(ctx context.Context, s *sessions.Store, id domain.SessionID) error {
	for n := 0; ; n++ {
		events, err := s.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{
			{Payload: domain.SessionRenamed{V: 1, Title: fmt.Sprint(n)}}, {Payload: domain.MessageSent{V: 1, MessageID: "msg_1", Text: fmt.Sprint(n)}},
		}})
		if err != nil {
			return err
		}
		fmt.Printf("acked %d %s\n", events[1].Seq, events[1].Hash)
	}
}

// childAppendOnce waits for a line on its input, then appends once.
func childAppendOnce(ctx context.Context, s *sessions.Store, id domain.SessionID) error {
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if _, err := s.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.SessionRenamed{V: 1, Title: "from next door"}}}}); err != nil {
			return err
		}
		fmt.Println("appended")
	}
	return s.Close()
}

// childLease takes the lease, writes under it and holds on until it is killed.
func childLease(ctx context.Context, s *sessions.Store, id domain.SessionID) error {
	l, err := s.Acquire(ctx, id, fmt.Sprintf("process-%d", os.Getpid()), time.Hour, nil)
	if err != nil {
		return err
	}
	v, err := s.View(ctx, id)
	if err != nil {
		return err
	}
	if _, err := s.Append(ctx, domain.AppendRequest{Session: id, Generation: l.Generation, Drafts: []domain.Draft{{Run: v.Run.ID, Payload: domain.RunContinued{V: 1, Reason: "asked"}}}}); err != nil {
		return err
	}
	fmt.Println("holds", l.Generation, l.Holder)
	select {}
}

// process is a child with its standard output.
type process struct {
	*exec.Cmd
	out *bufio.Scanner
	in  interface {
		Write([]byte) (int, error)
		Close() error
	}
}

func start(t *testing.T, role, dir string, arg domain.SessionID) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir, argEnv+"="+string(arg))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // gone already in most tests
		_ = cmd.Wait()
	})
	return &process{Cmd: cmd, out: bufio.NewScanner(out), in: in}
}

// line returns the next line of the child's output that starts with want.
func (p *process) line(t *testing.T, want string) string {
	t.Helper()
	for p.out.Scan() {
		if strings.HasPrefix(p.out.Text(), want) {
			return p.out.Text()
		}
	}
	t.Fatalf("the child ended without saying %q", want)
	return ""
}

// R55, R141: kill -9 at any instant: every acknowledged event is there.
func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	dir := t.TempDir()
	acked := map[domain.SessionID]map[int64]string{}
	for round := range rounds {
		s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		id := newSession(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		acked[id] = map[int64]string{}
		p := start(t, "append", dir, id)
		for n := 0; n < 5+round*9 && p.out.Scan(); n++ { // another instant each time
			var seq int64
			var hash string
			if _, err := fmt.Sscanf(p.out.Text(), "acked %d %s", &seq, &hash); err != nil {
				t.Fatalf("%q: %v", p.out.Text(), err)
			}
			acked[id][seq] = hash
		}
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for p.out.Scan() { // what it had printed before it died counts
			var seq int64
			var hash string
			if n, _ := fmt.Sscanf(p.out.Text(), "acked %d %s", &seq, &hash); n == 2 && len(hash) == 64 {
				acked[id][seq] = hash
			}
		}
		_ = p.Wait()
	}
	s := openStore(t, dir)
	if len(s.Report()) > 0 {
		t.Errorf("after the kills: %q", s.Report())
	}
	total := 0
	for id, seqs := range acked {
		events, err := s.Read(t.Context(), id, domain.Span{})
		if err != nil {
			t.Fatal(err)
		}
		for seq, hash := range seqs {
			if int64(len(events)) < seq || events[seq-1].Hash.String() != hash {
				t.Errorf("%s: acknowledged event %d is not there", id, seq)
			}
			total++
		}
	}
	r, err := s.Verify(t.Context(), "")
	if err != nil || !r.OK() {
		t.Errorf("%v, %v", r.Bad, err)
	}
	if total < rounds*5 {
		t.Errorf("only %d events were acknowledged: the test shows nothing", total)
	}
}

// R121, R142: an append of another process wakes who waits here.
func TestWaitSeesAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	id := newSession(t, s)
	p := start(t, "append-once", dir, id)
	p.line(t, "ready")
	for round := range 3 {
		last, err := s.LastPos(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		woken := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { woken <- s.Wait(ctx, last) }()
		if _, err := p.in.Write([]byte("go\n")); err != nil {
			t.Fatal(err)
		}
		p.line(t, "appended")
		began := time.Now()
		if err := <-woken; err != nil {
			t.Fatal(err)
		}
		t.Logf("seen %v after its acknowledgement", time.Since(began).Round(time.Millisecond))
		page, err := s.ReadLedger(t.Context(), last, 10)
		if err != nil || len(page) != 1 {
			t.Fatalf("round %d: %d events, %v", round, len(page), err)
		}
		add(t, s, id, domain.SessionRenamed{V: 1, Title: "from here"}) // continues where the other left off
	}
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if r, err := s.Verify(t.Context(), ""); err != nil || !r.OK() || r.Events != 7 {
		t.Errorf("%+v %v %v", r, r.Bad, err)
	}
}

// R73, R74: a peer takes over from a process that was killed, and its generation counts.
func TestTakeOverFromAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	id := newSession(t, s)
	run := domain.NewRunID()
	if _, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Run: run, Payload: domain.RunStarted{V: 1}}}}); err != nil {
		t.Fatal(err)
	}
	p := start(t, "lease", dir, id)
	var generation int64
	var holder string
	if _, err := fmt.Sscanf(p.line(t, "holds"), "holds %d %s", &generation, &holder); err != nil {
		t.Fatal(err)
	}
	_, err := s.Acquire(t.Context(), id, "me", time.Minute, func(string) bool { return false })
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), holder) {
		t.Errorf("while it lives: %v", err)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	l, err := s.Acquire(t.Context(), id, "me", time.Minute, func(h string) bool { return h == holder })
	if err != nil || l.Generation != generation+1 {
		t.Fatalf("take-over: %+v, %v", l, err)
	}
	_, err = s.Append(t.Context(), domain.AppendRequest{Session: id, Generation: generation, Drafts: []domain.Draft{{Run: run, Payload: domain.RunContinued{V: 1}}}})
	if domain.CodeOf(err) != domain.CodeStaleLease {
		t.Errorf("the dead one's generation: %v", err)
	}
	if _, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Generation: l.Generation, Drafts: []domain.Draft{{Run: run, Payload: domain.RunContinued{V: 1, Reason: "recovered"}}}}); err != nil {
		t.Error(err)
	}
}
