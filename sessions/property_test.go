package sessions_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"worksite/backend/domain"
	"worksite/sessions"
	"worksite/sessions/projection"
	"worksite/sessions/sessionstest"
)

// drawPayload makes any payload that the rules look at, over few names, so that
// what is allowed and what is not both come up often.
func drawPayload(t *rapid.T) domain.Payload {
	pick := func(label string, list ...string) string { return rapid.SampledFrom(list).Draw(t, label) }
	call := domain.CallID(pick("call", "call_1", "call_2"))
	msg := domain.MessageID(pick("message", "msg_1", "msg_2"))
	apr := domain.ApprovalID(pick("approval", "apr_1", "apr_2"))
	art := domain.ArtifactRef{ID: domain.ArtifactID(pick("artifact", "art_1", "art_2"))}
	attempt := rapid.IntRange(1, 3).Draw(t, "attempt")
	text := rapid.String().Draw(t, "text")
	usage := domain.Usage{InputTokens: attempt, OutputTokens: 1}
	digest := domain.HashBytes([]byte{byte(rapid.IntRange(0, 1).Draw(t, "digest"))})
	list := []domain.Payload{
		domain.SessionRenamed{V: 1, Title: text},
		domain.SessionArchived{V: 1, Archived: attempt > 1},
		domain.ModeChanged{V: 1, Mode: domain.ModeAuto},
		domain.ModelSelected{V: 1, Model: domain.ModelRef{Provider: "practice", Name: text}},
		domain.MessageSent{V: 1, MessageID: msg, Text: text, FromQueue: attempt == 3},
		domain.MessageQueued{V: 1, MessageID: msg, Text: text},
		domain.MessageUnqueued{V: 1, MessageID: msg},
		domain.MessageCompleted{V: 1, MessageID: msg, Text: text, Usage: usage},
		domain.RunStarted{V: 1, MessageID: msg, Budget: domain.Budget{Steps: int64(attempt)}},
		domain.RunContinued{V: 1},
		domain.RunInterrupted{V: 1, Reason: text, Found: &domain.Survival{}},
		domain.RunCancelRequested{V: 1},
		domain.RunFinished{V: 1, Outcome: domain.Outcome(pick("outcome", "done", "failed", "cancelled", "budget")), Usage: usage, Steps: 2},
		domain.ModelCallFailed{V: 1, Message: text},
		domain.ToolCallRequested{V: 1, CallID: call, Name: "bash", Input: text},
		domain.GateDecided{V: 1, CallID: call},
		domain.ToolCallRefused{V: 1, CallID: call},
		domain.ToolCallIntent{V: 1, CallID: call, Attempt: attempt},
		domain.ToolCallExecuting{V: 1, CallID: call, Attempt: attempt, Where: "here"},
		domain.ToolCallCompleted{V: 1, CallID: call, Attempt: attempt},
		domain.ToolCallFailed{V: 1, CallID: call, Attempt: attempt},
		domain.ToolCallUnknown{V: 1, CallID: call, Attempt: attempt},
		domain.ToolCallResolved{V: 1, CallID: call, Resolution: pick("resolution", "retry", "done", "skip")},
		domain.ApprovalRequested{V: 1, ApprovalID: apr, CallID: call, Digest: digest, Shown: text},
		domain.ApprovalGranted{V: 1, ApprovalID: apr, CallID: call, Digest: digest},
		domain.ApprovalDenied{V: 1, ApprovalID: apr, CallID: call},
		domain.ApprovalExpired{V: 1, ApprovalID: apr, CallID: call},
		domain.SandboxConsented{V: 1, Revoked: attempt == 2},
		domain.BudgetSet{V: 1, Budget: domain.Budget{Calls: int64(attempt)}},
		domain.ArtifactPromoted{V: 1, Artifact: art},
		domain.ArtifactWithdrawn{V: 1, Artifact: art},
	}
	return rapid.SampledFrom(list).Draw(t, "payload")
}

// R63, R117: the database and the fake allow and refuse the same, and show the
// same; folding the events again gives the head that was kept, and rebuilding
// everything derived changes nothing.
func TestStoreAgreesWithTheFakeAndRebuilds(t *testing.T) {
	dir := t.TempDir()
	clock := sessionstest.NewClock()
	store, err := sessions.Open(t.Context(), sessions.Config{Dir: dir, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	memory := sessionstest.NewMemory()
	memory.Clock = clock.Now
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := domain.SessionID(fmt.Sprintf("ses_%d", n))
		run := domain.RunID(fmt.Sprintf("run_%d", n))
		generation := int64(0)
		both := func(req domain.AppendRequest) {
			for i := range req.Drafts {
				req.Drafts[i].ID = domain.NewEventID()
			}
			got, gotErr := store.Append(t.Context(), req)
			want, wantErr := memory.Append(t.Context(), req)
			if domain.CodeOf(gotErr) != domain.CodeOf(wantErr) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				rt.Fatalf("store: %v\nfake:  %v", gotErr, wantErr)
			}
			for i := range got {
				if got[i].Pos != want[i].Pos || got[i].Seq != want[i].Seq || got[i].Parent != want[i].Parent || string(got[i].Payload) != string(want[i].Payload) {
					rt.Fatalf("store: %+v\nfake:  %+v", got[i], want[i])
				}
			}
		}
		both(domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.SessionCreated{V: 1, Title: "t"}}}})
		both(domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Run: run, Payload: domain.RunStarted{V: 1}}}})
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				req := domain.AppendRequest{Session: id, Generation: rapid.SampledFrom([]int64{generation, generation, generation, 0, generation + 1}).Draw(rt, "generation")}
				for range rapid.IntRange(1, 3).Draw(rt, "drafts") {
					d := domain.Draft{Payload: drawPayload(rt), Run: rapid.SampledFrom([]domain.RunID{run, run, run, "", "run_other"}).Draw(rt, "run")}
					req.Drafts = append(req.Drafts, d)
				}
				both(req)
			},
			"acquire": func(rt *rapid.T) {
				dead := rapid.Bool().Draw(rt, "dead")
				got, gotErr := store.Acquire(t.Context(), id, "me", time.Minute, func(string) bool { return dead })
				want, wantErr := memory.Acquire(t.Context(), id, "me", time.Minute, func(string) bool { return dead })
				if domain.CodeOf(gotErr) != domain.CodeOf(wantErr) || got != want {
					rt.Fatalf("store: %+v %v\nfake:  %+v %v", got, gotErr, want, wantErr)
				}
				if gotErr == nil {
					generation = got.Generation
				}
			},
			"time": func(rt *rapid.T) {
				clock.Add(time.Duration(rapid.IntRange(-30, 90).Draw(rt, "seconds")) * time.Second)
			},
			"": func(rt *rapid.T) {
				got, err := store.View(t.Context(), id)
				want, err2 := memory.View(t.Context(), id)
				if err != nil || err2 != nil || text(rt, got) != text(rt, want) {
					rt.Fatalf("store: %s %v\nfake:  %s %v", text(rt, got), err, text(rt, want), err2)
				}
			},
		})
		events, err := store.Read(t.Context(), id, domain.Span{})
		if err != nil {
			rt.Fatal(err)
		}
		var folded projection.Session
		for _, e := range events {
			p, err := domain.DecodePayload(e.Kind, e.Payload)
			if err != nil {
				rt.Fatal(err)
			}
			folded = projection.Apply(folded, e, p)
		}
		kept, err := store.View(t.Context(), id)
		if err != nil || text(rt, kept) != text(rt, folded) {
			rt.Fatalf("kept:   %s %v\nfolded: %s", text(rt, kept), err, text(rt, folded))
		}
	})
	before := derived(t, dir)
	if err := store.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := derived(t, dir); after != before {
		t.Errorf("rebuilding changed what is derived:\n%.2000s\nwas\n%.2000s", after, before)
	}
	if r, err := store.Verify(t.Context(), ""); err != nil || !r.OK() {
		t.Errorf("verify: %v, %v", r.Bad, err)
	}
	if events, err := store.Append(t.Context(), domain.AppendRequest{Session: "ses_1", Drafts: []domain.Draft{{Payload: domain.SessionRenamed{V: 1, Title: "goes on"}}}}); err != nil || len(events) != 1 {
		t.Errorf("append after rebuild: %v", err)
	}
}

type fataler interface{ Fatal(...any) }

func text(t fataler, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// openSQL opens the database file beside the store, as another program could.
func openSQL(t testing.TB, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "sessions.db")+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// derived is everything that is rebuilt from the events, as text.
func derived(t *testing.T, dir string) string {
	t.Helper()
	db := openSQL(t, dir)
	defer db.Close()
	out := ""
	for _, q := range []string{
		"SELECT json_array(id, last_seq, last_pos, hex(last_hash), archived, head, waiting) FROM session ORDER BY id",
		"SELECT json_array(session, id, started, finished) FROM run ORDER BY session, id",
		"SELECT json_array(session, id, state, attempt, decided) FROM call ORDER BY session, id",
		"SELECT json_array(session, id, call, hex(digest), answer, by_whom, at) FROM approval ORDER BY session, id",
		"SELECT json_array(pos, folded) FROM search ORDER BY pos",
	} {
		out += lines(t, db, q)
	}
	return out
}

func lines(t *testing.T, db *sql.DB, query string) (out string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		out += line + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
