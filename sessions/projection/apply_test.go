package projection_test

import (
	"encoding/json"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/projection"
)

// story folds payloads as events of one run, and checks that no fold changes
// what an earlier one returned.
func story(t *testing.T, list ...domain.Payload) projection.Session {
	t.Helper()
	var s projection.Session
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for i, p := range list {
		before := s
		frozen := encode(t, before)
		e := domain.Event{Session: "ses_1", Seq: int64(i + 1), ID: domain.NewEventID(), Run: "run_1", Kind: p.Kind(), CreatedAt: at.Add(time.Duration(i) * time.Second)}
		s = projection.Apply(before, e, p)
		after := encode(t, s)
		_ = projection.Apply(before, e, domain.ApprovalRequested{ApprovalID: "apr_other"}) // another future of the same past
		if encode(t, before) != frozen || encode(t, s) != after {
			t.Fatalf("%s changed a value that was returned before", p.Kind())
		}
		if s.LastSeq != e.Seq || s.Leaf != e.ID || !s.UpdatedAt.Equal(e.CreatedAt) {
			t.Fatalf("%s: %+v", p.Kind(), s)
		}
	}
	return s
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestRunStates(t *testing.T) {
	created, started := domain.SessionCreated{V: 1, Title: "t"}, domain.RunStarted{V: 1, MessageID: "msg_1", Budget: domain.Budget{Steps: 3}}
	asked := func(id domain.ApprovalID) domain.Payload {
		return domain.ApprovalRequested{V: 1, ApprovalID: id, CallID: "call_1"}
	}
	executing := domain.ToolCallExecuting{V: 1, CallID: "call_1", Attempt: 1}
	unknown := domain.ToolCallUnknown{V: 1, CallID: "call_1", Attempt: 1}
	for _, c := range []struct {
		name string
		list []domain.Payload
		want projection.RunState
	}{
		{"working", nil, projection.RunWorking},
		{"waits", []domain.Payload{asked("apr_1"), asked("apr_2"), domain.ApprovalDenied{V: 1, ApprovalID: "apr_1"}}, projection.RunWaits},
		{"waits for many", []domain.Payload{asked("apr_1"), asked("apr_2"), asked("apr_3"), asked("apr_4"), asked("apr_5")}, projection.RunWaits},
		{"answered", []domain.Payload{asked("apr_1"), domain.ApprovalGranted{V: 1, ApprovalID: "apr_1"}}, projection.RunWorking},
		{"expired", []domain.Payload{asked("apr_1"), domain.ApprovalExpired{V: 1, ApprovalID: "apr_1"}}, projection.RunWorking},
		{"unknown before waits", []domain.Payload{asked("apr_1"), executing, unknown}, projection.RunUnknown},
		{"resolved", []domain.Payload{executing, unknown, domain.ToolCallResolved{V: 1, CallID: "call_1", Resolution: "done"}}, projection.RunWorking},
		{"done", []domain.Payload{domain.RunFinished{V: 1, Outcome: domain.OutcomeDone}}, projection.RunDone},
		{"failed", []domain.Payload{domain.RunFinished{V: 1, Outcome: domain.OutcomeFailed}}, projection.RunFailed},
		{"cancelled", []domain.Payload{domain.RunFinished{V: 1, Outcome: domain.OutcomeCancelled}}, projection.RunStopped},
		{"budget", []domain.Payload{domain.RunFinished{V: 1, Outcome: domain.OutcomeBudget}}, projection.RunStopped},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := story(t, append([]domain.Payload{created, started}, c.list...)...)
			if s.Run.State != c.want || s.Run.ID != "run_1" || s.Run.MessageID != "msg_1" {
				t.Errorf("%+v", s.Run)
			}
			if ended := c.want == projection.RunDone || c.want == projection.RunFailed || c.want == projection.RunStopped; s.Run.State.Ended() != ended || (s.Run.FinishedAt != nil) != ended {
				t.Errorf("ended: %+v", s.Run)
			}
		})
	}
}

func TestWhatIsOpenIsBounded(t *testing.T) {
	list := []domain.Payload{domain.SessionCreated{V: 1}, domain.RunStarted{V: 1}}
	for n := range 300 {
		call := domain.CallID(string(rune('a' + n%26)))
		list = append(list,
			domain.MessageQueued{V: 1, MessageID: "msg_1", Text: "x"}, domain.MessageSent{V: 1, MessageID: "msg_1", FromQueue: true},
			domain.ToolCallExecuting{V: 1, CallID: call, Attempt: 1}, domain.ToolCallIntent{V: 1, CallID: call, Attempt: 2},
			domain.ToolCallExecuting{V: 1, CallID: call, Attempt: 2}, domain.ToolCallCompleted{V: 1, CallID: call, Attempt: 2},
			domain.ApprovalRequested{V: 1, ApprovalID: "apr_1"}, domain.ApprovalGranted{V: 1, ApprovalID: "apr_1"},
			domain.ArtifactPromoted{V: 1, Artifact: domain.ArtifactRef{ID: "art_1"}},
			domain.MessageCompleted{V: 1, Usage: domain.Usage{InputTokens: 2, OutputTokens: 1}},
		)
	}
	s := story(t, list...)
	if n := len(encode(t, s)); n > 1500 {
		t.Errorf("%d bytes after %d events: %s", n, len(list), encode(t, s))
	}
	if s.Run.Steps != 300 || s.Run.Usage.InputTokens != 600 || s.Artifacts != 1 {
		t.Errorf("%+v %+v", s.Run, s)
	}
}

func TestInterruptionAndBudget(t *testing.T) {
	list := []domain.Payload{
		domain.SessionCreated{V: 1},
		domain.RunStarted{V: 1},
		domain.BudgetSet{V: 1, Budget: domain.Budget{Calls: 9}},
		domain.RunCancelRequested{V: 1},
		domain.RunInterrupted{V: 1, Reason: "killed", Found: &domain.Survival{Files: domain.Finding{Presence: domain.PresentYes}}},
	}
	s := story(t, list...)
	if s.Run.Reason != "killed" || s.Run.Found == nil || s.Run.Budget.Calls != 9 || !s.Run.Cancel {
		t.Errorf("%+v", s.Run)
	}
	if s = story(t, append(list, domain.RunContinued{V: 1})...); s.Run.Reason != "" || s.Run.Found != nil {
		t.Errorf("after it went on: %+v", s.Run)
	}
}

func TestSnippets(t *testing.T) {
	for _, c := range []struct{ text, query, want string }{
		{"short and plain", "PLAIN", "short and plain"},
		{"line one\n\n\tline two", "two", "line one line two"},
		{"", "x", ""},
		{"İstanbul'da ÇAĞRI", "çağrı", "İstanbul'da ÇAĞRI"},
	} {
		if got := projection.Snippet(c.text, projection.Words(c.query)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
	if projection.Matches("one two", projection.Words("two  ONE")) != true || projection.Matches("one two", projection.Words("two three")) {
		t.Error("all words must occur")
	}
}
