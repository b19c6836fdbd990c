package workspace

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
)

// crashEnv names the folder in which the test binary plays a process that is killed.
const crashEnv = "WORKSITE_TEST_CRASH"

// crashLine is a line of the child's stand-in for the ledger.
type crashLine struct {
	Kind    domain.Kind
	Payload json.RawMessage
	Done    bool
}

// crashChild works on a workspace without end: writes, accepts, rejects, restores.
// Each decision is in its ledger before it is carried out.
func crashChild() {
	top := os.Getenv(crashEnv)
	try := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	}
	s, err := Open(Config{Dir: filepath.Join(top, "data"), Home: filepath.Join(top, "home")})
	try(err)
	w, err := s.Add(ctx, filepath.Join(top, "project"), "")
	try(err)
	h, err := s.Handle(ctx, w.ID)
	try(err)
	const session = domain.SessionID("ses_crash")
	_, _, err = s.Base(ctx, session, h)
	try(err)
	ledger, err := os.OpenFile(filepath.Join(top, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	try(err)
	say := func(l crashLine) {
		b, err := json.Marshal(l)
		try(err)
		_, err = ledger.Write(append(b, '\n'))
		try(err)
	}
	carry := func(p domain.Payload, c ...Change) {
		raw, err := json.Marshal(p)
		try(err)
		say(crashLine{Kind: p.Kind(), Payload: raw})
		try(s.Apply(ctx, h, c...))
		say(crashLine{Done: true})
	}
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	fmt.Println("begun")
	for {
		rel := fmt.Sprintf("f%d", r.IntN(3))
		img, err := h.root.Image(ctx, rel)
		try(err)
		wr, err := h.WriteFile(ctx, rel, img.Hash, []byte(crashContent(r)), 0)
		try(err)
		try(s.RecordImages(ctx, session, []domain.FileImage{wr}))
		open, err := s.Changes(ctx, session, h)
		try(err)
		for _, f := range open.Files {
			plan := s.PlanAccept
			if r.IntN(2) == 0 {
				plan = s.PlanReject
			}
			var hunks []string
			if len(f.Hunks) > 0 && r.IntN(3) > 0 {
				hunks = []string{f.Hunks[r.IntN(len(f.Hunks))].ID}
			}
			c, err := plan(ctx, session, h, f.Path, hunks, f.Post)
			try(err)
			carry(c.Payload("person"), c)
		}
		if r.IntN(3) == 0 {
			p, err := s.PlanRestore(ctx, session, h, nil)
			try(err)
			if len(p.Changes) > 0 {
				carry(p.Restored("", "person"), p.Changes...)
			}
		}
	}
}

// crashContent is some lines with an end, so that a torn file shows.
func crashContent(r *rand.Rand) string {
	var sb strings.Builder
	for range 20 + r.IntN(200) {
		fmt.Fprintf(&sb, "line %d\n", r.IntN(5))
	}
	return sb.String() + "END\n"
}

// R55, R131, R151
// Killed at any point of writing, accepting, rejecting and restoring, each file is
// whole, the one in flight is at the version before or after, and applying the
// recorded decision again finishes it.
func TestKilledAtAnyPoint(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"home", "data", "project"} {
		must(t, os.Mkdir(filepath.Join(top, d), 0o755))
	}
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 3 {
		writeFile(t, filepath.Join(top, "project", fmt.Sprintf("f%d", i)), crashContent(r))
	}
	inFlight := 0
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashEnv+"="+top)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var buf [5]byte
		if _, err := out.Read(buf[:]); err != nil {
			t.Fatal("the child did not begin")
		}
		time.Sleep(time.Duration(r.IntN(80)) * time.Millisecond) // when to kill; not an assertion
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() == 3 {
			t.Fatalf("round %d: the child ended by itself", round)
		}
		inFlight += checkKilled(t, top)
	}
	t.Logf("%d kills, %d with a decision in flight", rounds, inFlight)
}

// checkKilled looks at what a kill left, finishes it, and returns 1 when a recorded
// decision was not carried out yet.
func checkKilled(t *testing.T, top string) (inFlight int) {
	t.Helper()
	for i := range 3 {
		b, err := os.ReadFile(filepath.Join(top, "project", fmt.Sprintf("f%d", i)))
		if err != nil || !strings.HasSuffix(string(b), "END\n") || strings.Count(string(b), "END\n") != 1 {
			t.Fatalf("f%d is torn: %v %q", i, err, b)
		}
	}
	s, err := Open(Config{Dir: filepath.Join(top, "data"), Home: filepath.Join(top, "home")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := s.Notices(); len(n) != 0 {
		t.Fatal(n)
	}
	list, err := s.List(ctx)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	h, err := s.Handle(ctx, list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	raw, err := os.ReadFile(filepath.Join(top, "ledger"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	var last crashLine
	if text := lines[len(lines)-1]; text != "" {
		if err := json.Unmarshal([]byte(text), &last); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	if last.Done || last.Kind == "" {
		return 0
	}
	p, err := domain.DecodePayload(last.Kind, last.Payload)
	if err != nil {
		t.Fatal(err)
	}
	changes := ChangesOf("ses_crash", p)
	for _, c := range changes {
		if c.Kind == ChangeAccept {
			continue
		}
		if img, err := h.root.Image(ctx, c.Path); err != nil || img.Hash != c.File.Pre && img.Hash != c.File.Post {
			t.Fatalf("%s is neither before nor after: %v", c.Path, err)
		}
	}
	if err := s.Apply(ctx, h, changes...); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.Kind == ChangeAccept {
			continue
		}
		if img, err := h.root.Image(ctx, c.Path); err != nil || img.Hash != c.File.Post {
			t.Fatalf("%s was not finished: %v", c.Path, err)
		}
	}
	f, err := os.OpenFile(filepath.Join(top, "ledger"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"Done":true}` + "\n"); err != nil {
		t.Fatal(err)
	}
	return 1
}
