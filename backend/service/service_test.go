package service_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
	"worksite/backend/service"
	"worksite/backend/service/sample"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) *service.Service {
	t.Helper()
	svc, err := service.Open(t.Context(), service.Config{DataDir: dir, Stays: true, PracticePause: -1, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	return svc
}

// begin opens a session of the given mode on a fresh folder with a scripted model.
func begin(t *testing.T, svc *service.Service, mode domain.Mode, script modeltest.Script) (service.SessionView, string, *modeltest.Server) {
	t.Helper()
	server := modeltest.New(t, script)
	dir := t.TempDir()
	w, err := svc.OpenFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := svc.CreateSession(t.Context(), service.NewSession{
		Workspace: w, Mode: mode, Model: &domain.ModelRef{Provider: "openai", Name: "scripted", BaseURL: server.URL + "/v1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, dir, server
}

func call(name string, args map[string]any) modeltest.Answer {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return modeltest.Answer{Calls: []modeltest.Call{{Name: name, Arguments: string(b)}}}
}

func send(t *testing.T, svc *service.Service, id domain.SessionID, text string) service.Receipt {
	t.Helper()
	r, err := svc.Send(t.Context(), id, service.NewMessage{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// until follows the ledger until cond holds for the session.
func until(t *testing.T, svc *service.Service, id domain.SessionID, what string, cond func(service.SessionView) bool) service.SessionView {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		pos, err := svc.LastPos(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		v, err := svc.Session(ctx, id)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if cond(v) {
			return v
		}
		short, done := context.WithTimeout(ctx, 200*time.Millisecond) // a lease is no event
		err = svc.WaitBeyond(short, pos)
		done()
		if err != nil && ctx.Err() != nil {
			t.Fatalf("%s: it stands at %+v", what, v.Run)
		}
	}
}

func state(s service.RunState) func(service.SessionView) bool {
	return func(v service.SessionView) bool { return v.Run != nil && v.Run.State == s }
}

// R7, R44, R59, R60, R130: the whole sample job through the service: fail, then pass, review,
// report; produced, validated and adopted are three facts.
func TestSampleJob(t *testing.T) {
	svc := open(t, t.TempDir())
	ctx := t.Context()
	w, err := svc.AddSample(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, err := svc.CreateSession(ctx, service.NewSession{Workspace: w.ID, Mode: domain.ModeAuto, Model: &domain.ModelRef{Provider: "practice", Name: "sample"}})
	if err != nil {
		t.Fatal(err)
	}
	if r := send(t, svc, s.ID, sample.Request); !r.Pending || !r.Durable || r.Queued {
		t.Fatalf("receipt %+v", r)
	}
	until(t, svc, s.ID, "the job", state(service.RunDone))
	changes, err := svc.Changes(ctx, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	var cleaner service.FileChange
	for _, f := range changes.Files {
		if f.Path == "cleaner.py" {
			cleaner = f
		}
		if strings.HasPrefix(f.Path, ".git/") {
			t.Errorf("a Git file counts as changed: %s", f.Path)
		}
	}
	if len(cleaner.Hunks) < 3 {
		t.Fatalf("cleaner.py has %d hunks, want at least 3: %+v", len(cleaner.Hunks), changes)
	}
	first, second, third := cleaner.Hunks[0], cleaner.Hunks[1], cleaner.Hunks[2]
	post := cleaner.Post
	for _, h := range []service.Hunk{first, second} {
		if _, err := svc.Accept(ctx, s.ID, service.ReviewRequest{Path: "cleaner.py", Hunks: []string{h.ID}, Post: post}); err != nil {
			t.Fatal(err)
		}
		changes, err = svc.Changes(ctx, s.ID)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range changes.Files {
		if f.Path == "cleaner.py" {
			third = f.Hunks[0]
		}
	}
	before, err := os.ReadFile(filepath.Join(w.Path, "cleaner.py"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := svc.Reject(ctx, s.ID, service.ReviewRequest{Path: "cleaner.py", Hunks: []string{third.ID}, Post: post})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Changes.Accepted != 2 || answer.Changes.Rejected != 1 {
		t.Errorf("accepted %d, rejected %d", answer.Changes.Accepted, answer.Changes.Rejected)
	}
	after, err := os.ReadFile(filepath.Join(w.Path, "cleaner.py"))
	if err != nil || string(after) == string(before) {
		t.Errorf("the rejected hunk is still in the file (%v)", err)
	}
	// A state that is not the shown one is refused.
	if _, err := svc.Reject(ctx, s.ID, service.ReviewRequest{Path: "schema.py", Post: domain.HashBytes([]byte("else"))}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a stale review was taken: %v", err)
	}
	list, err := svc.Artifacts(ctx, s.ID)
	if err != nil || len(list) != 1 || list[0].Produced == nil || list[0].Validated != nil || list[0].Adopted != nil {
		t.Fatalf("artifacts %+v, %v", list, err)
	}
	ref := list[0].Ref
	v, err := svc.ValidateArtifact(ctx, ref.ID, ref.Revision, "")
	if err != nil || v.Validated == nil || v.Adopted != nil {
		t.Fatalf("validated %+v, %v", v, err)
	}
	to := filepath.Join(t.TempDir(), "the report.md")
	if v, err = svc.SaveArtifact(ctx, ref.ID, ref.Revision, to); err != nil || v.Adopted == nil || v.SavedTo != to {
		t.Fatalf("saved %+v, %v", v, err)
	}
	if _, err := svc.SaveArtifact(ctx, ref.ID, ref.Revision, to); err == nil {
		t.Error("a file that was there was replaced")
	}
	if _, err := svc.Verify(ctx, ""); err != nil {
		t.Error(err)
	}
}

// R142: two processes on one session: one runs, the other follows and queues; a
// cancel from the other stops it.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	gate := make(chan struct{})
	s, _, server := begin(t, a, domain.ModeAuto, modeltest.Script{Answers: []modeltest.Answer{{Text: "one", Gate: gate}, {Text: "two"}}})
	send(t, a, s.ID, "first")
	until(t, b, s.ID, "the run", func(v service.SessionView) bool {
		return v.Run != nil && v.Run.State == service.RunWorking && !v.Run.Here
	})
	if r := send(t, b, s.ID, "second"); !r.Queued {
		t.Fatalf("receipt %+v", r)
	}
	if _, err := b.Continue(t.Context(), s.ID); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("two runners: %v", err)
	}
	close(gate)
	until(t, b, s.ID, "both answers", state(service.RunDone))
	if n := len(server.Chats()); n != 2 {
		t.Errorf("%d model calls", n)
	}
	events, err := b.Events(t.Context(), s.ID, domain.Span{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range events {
		if p, ok := domain.PayloadOf[domain.MessageCompleted](e); ok {
			texts = append(texts, p.Text)
		}
	}
	if strings.Join(texts, ",") != "one,two" {
		t.Errorf("answers %v", texts)
	}
}

// R34, R72, R149: cancel from a second process kills the command's whole tree.
func TestCancelFromAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	s, work, _ := begin(t, a, domain.ModeAuto, modeltest.Script{Answers: []modeltest.Answer{call("bash", map[string]any{"command": "touch began; sleep 60 & sleep 60"})}})
	send(t, a, s.ID, "go")
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := os.Stat(filepath.Join(work, "began")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command did not begin")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := b.Cancel(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	v := until(t, b, s.ID, "the end", func(v service.SessionView) bool { return v.Run != nil && v.Run.FinishedAt != nil })
	if v.Run.State != service.RunStopped {
		t.Errorf("state %s", v.Run.State)
	}
	if _, err := b.Continue(t.Context(), s.ID); domain.CodeOf(err) != domain.CodeFinished {
		t.Errorf("a stopped run was continued: %v", err)
	}
}

// R138: two clients answer at once: one wins, the other is told.
func TestApprovalRace(t *testing.T) {
	svc := open(t, t.TempDir())
	s, work, _ := begin(t, svc, domain.ModeAsk, modeltest.Script{Answers: []modeltest.Answer{call("write", map[string]any{"path": "a.txt", "content": "x\n"})}})
	send(t, svc, s.ID, "go")
	until(t, svc, s.ID, "the question", state(service.RunWaits))
	list, err := svc.Approvals(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("approvals %+v, %v", list, err)
	}
	req := list[0].Request
	if !strings.Contains(req.Shown, "+x") || req.Layer != domain.LayerApproval {
		t.Errorf("shown %q, layer %s", req.Shown, req.Layer)
	}
	if err := svc.Answer(t.Context(), req.ApprovalID, service.ApprovalAnswer{Decision: "grant", Digest: domain.HashBytes(nil)}); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("another digest was granted: %v", err)
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		decision := "grant"
		if i%2 == 1 {
			decision = "deny"
		}
		wg.Go(func() {
			errs[i] = svc.Answer(t.Context(), req.ApprovalID, service.ApprovalAnswer{Decision: decision, Digest: req.Digest})
		})
	}
	wg.Wait()
	won, granted := 0, false
	for i, err := range errs {
		if err == nil {
			won++
			granted = i%2 == 0
		} else if domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	if won != 1 {
		t.Fatalf("%d answers won", won)
	}
	until(t, svc, s.ID, "the end", state(service.RunDone))
	if _, err := os.Stat(filepath.Join(work, "a.txt")); (err == nil) != granted {
		t.Errorf("granted %v, file: %v", granted, err)
	}
}

// R54, R55, R58, R69: closing in the middle of a command leaves a run that says what
// happened to it and can be continued; following never computes.
func TestCloseAndContinue(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	s, work, server := begin(t, a, domain.ModeAuto, modeltest.Script{Answers: []modeltest.Answer{call("bash", map[string]any{"command": "touch began; sleep 60"})}})
	send(t, a, s.ID, "go")
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := os.Stat(filepath.Join(work, "began")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command did not begin")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	v := until(t, b, s.ID, "what was left", state(service.RunInterrupted))
	if f := v.Run.Survival; f == nil || f.Conversation.Presence != domain.PresentYes || f.Files.Presence != domain.PresentYes {
		t.Fatalf("survival %+v", v.Run.Survival)
	}
	before := len(server.Chats())
	sub := b.Subscribe(0)
	if _, err := sub.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(server.Chats()); n != before {
		t.Errorf("following asked the model %d times", n-before)
	}
	if _, err := b.Continue(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	until(t, b, s.ID, "the end", state(service.RunDone))
}

// R121: a reader that comes and goes by cursor sees every event once, in order.
func TestSubscriptionsMissNothing(t *testing.T) {
	svc := open(t, t.TempDir())
	s, _, _ := begin(t, svc, domain.ModeAuto, modeltest.Steps(12))
	var got []int64
	done := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		defer close(done)
		var cursor int64
		for ctx.Err() == nil {
			sub := svc.Subscribe(cursor) // every time a new one, as a page that reconnects
			frames, err := sub.Next(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			for _, f := range frames {
				if f.Type == "event" && f.Session == s.ID {
					got = append(got, f.Event.Seq)
					if f.Event.Kind == (domain.RunFinished{}).Kind() {
						return
					}
				}
			}
			cursor = sub.Cursor()
		}
	}()
	send(t, svc, s.ID, "go")
	<-done
	for i, seq := range got {
		if seq != int64(i)+1 {
			t.Fatalf("event %d has seq %d", i, seq)
		}
	}
	if len(got) < 60 {
		t.Errorf("only %d events", len(got))
	}
}

// R8, R145: a session whose folder is gone can still be read, and says so.
func TestFolderGone(t *testing.T) {
	svc := open(t, t.TempDir())
	s, work, _ := begin(t, svc, domain.ModeAuto, modeltest.Script{})
	send(t, svc, s.ID, "hello")
	until(t, svc, s.ID, "the answer", state(service.RunDone))
	if err := os.RemoveAll(work); err != nil {
		t.Fatal(err)
	}
	list, err := svc.Workspaces(t.Context())
	if err != nil || len(list) != 1 || list[0].State != "missing" {
		t.Fatalf("workspaces %+v, %v", list, err)
	}
	events, err := svc.Events(t.Context(), s.ID, domain.Span{})
	if err != nil || len(events) == 0 {
		t.Fatalf("%d events, %v", len(events), err)
	}
}

// R123: a run that only talks provisions nothing: no sandbox, no snapshot.
func TestChatOnlyProvisionsNothing(t *testing.T) {
	dir := t.TempDir()
	svc := open(t, dir)
	s, _, _ := begin(t, svc, domain.ModeAuto, modeltest.Script{Answers: []modeltest.Answer{{Text: "hello"}}})
	send(t, svc, s.ID, "hello")
	until(t, svc, s.ID, "the answer", state(service.RunDone))
	for _, name := range []string{"sandbox", "scan/" + string(s.Workspace) + ".idx"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was made for a run that only talks", name)
		}
	}
	changes, err := svc.Changes(t.Context(), s.ID)
	if err != nil || changes.Based {
		t.Errorf("a snapshot was taken: %+v, %v", changes, err)
	}
}

// R22: a folder's instructions reach the model only after trust in exactly them.
func TestInstructionsOnlyAfterTrust(t *testing.T) {
	svc := open(t, t.TempDir())
	s, work, server := begin(t, svc, domain.ModeAuto, modeltest.Script{Answers: []modeltest.Answer{{Text: "1"}, {Text: "2"}, {Text: "3"}}})
	file := filepath.Join(work, "AGENTS.md")
	if err := os.WriteFile(file, []byte("CANARY-INSTRUCTION"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func() bool {
		t.Helper()
		send(t, svc, s.ID, "go")
		until(t, svc, s.ID, "the answer", state(service.RunDone))
		chats := server.Chats()
		return strings.Contains(string(chats[len(chats)-1].Body), "CANARY-INSTRUCTION")
	}
	if ask() {
		t.Error("instructions were loaded before trust")
	}
	if _, err := svc.Trust(t.Context(), s.Workspace, true); err != nil {
		t.Fatal(err)
	}
	if !ask() {
		t.Error("trusted instructions were not loaded")
	}
	if err := os.WriteFile(file, []byte("CANARY-INSTRUCTION changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ask() {
		t.Error("changed instructions were loaded")
	}
}
