package sessionstest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/projection"
)

// R73: compare-and-swap, a generation one higher each time, expiry by the
// ledger's clock. R25: no lease without a run.
func testLeases(f *fixture) {
	t := f.t
	id := f.session()
	_, err := f.Acquire(t.Context(), id, "alice", time.Minute, nil)
	f.wants(domain.CodeConflict, err, "lease without a run")
	_, err = f.Acquire(t.Context(), "ses_none", "alice", time.Minute, nil)
	f.wants(domain.CodeNotFound, err, "lease of an unknown session")
	if _, held, err := f.LeaseOf(t.Context(), id); held || err != nil {
		t.Errorf("held before it was ever taken (%v)", err)
	}
	f.append(domain.AppendRequest{Session: id, Drafts: drafts("run_1", domain.RunStarted{V: 1})})
	for _, bad := range []struct {
		holder string
		ttl    time.Duration
	}{{"", time.Minute}, {"alice", 0}} {
		_, err := f.Acquire(t.Context(), id, bad.holder, bad.ttl, nil)
		f.wants(domain.CodeInvalid, err, "senseless lease")
	}

	a := f.acquire(id, "alice")
	if a.Generation != 1 || a.Holder != "alice" || !a.ExpiresAt.Equal(f.clock.Now().Add(time.Minute)) {
		t.Errorf("first lease: %+v", a)
	}
	for _, holder := range []string{"bob", "alice"} {
		_, err := f.Acquire(t.Context(), id, holder, time.Minute, func(string) bool { return false })
		f.wants(domain.CodeConflict, err, "lease that is held, for "+holder)
		if err != nil && !strings.Contains(err.Error(), "alice") {
			t.Errorf("the refusal does not name the holder: %v", err)
		}
	}
	f.clock.Add(50 * time.Second)
	if a, err = f.Renew(t.Context(), a, time.Minute); err != nil || !a.ExpiresAt.Equal(f.clock.Now().Add(time.Minute)) {
		t.Errorf("renewed: %+v, %v", a, err)
	}
	f.clock.Add(59 * time.Second)
	_, err = f.Acquire(t.Context(), id, "bob", time.Minute, nil)
	f.wants(domain.CodeConflict, err, "lease that was renewed")
	f.clock.Add(2 * time.Second)
	b := f.acquire(id, "bob") // past its time
	if b.Generation != 2 {
		t.Errorf("generation after take-over: %d", b.Generation)
	}
	_, err = f.Renew(t.Context(), a, time.Minute)
	f.wants(domain.CodeStaleLease, err, "renew after take-over")
	f.wants(domain.CodeStaleLease, f.Release(t.Context(), a), "release after take-over")
	asked := ""
	c, err := f.Acquire(t.Context(), id, "carol", time.Minute, func(h string) bool { asked = h; return true })
	if err != nil || c.Generation != 3 || asked != "bob" {
		t.Errorf("take-over from a dead holder: %+v, %v, asked %q", c, err, asked)
	}
	if l, held, err := f.LeaseOf(t.Context(), id); !held || err != nil || l.Holder != "carol" {
		t.Errorf("lease of: %+v %v %v", l, held, err)
	}
	f.wants("", f.Release(t.Context(), c), "release")
	f.wants(domain.CodeStaleLease, f.Release(t.Context(), c), "second release")
	if l, held, err := f.LeaseOf(t.Context(), id); held || err != nil || l.Generation != 3 {
		t.Errorf("after release: %+v %v %v", l, held, err)
	}
	if d := f.acquire(id, "alice"); d.Generation != 4 {
		t.Errorf("generation after release: %d", d.Generation)
	}
}

// R73: the old generation's writes are refused, whatever it writes.
func testFencing(f *fixture) {
	t := f.t
	r := f.running()
	r.must(domain.RunContinued{V: 1, Reason: "asked"})
	f.clock.Add(2 * time.Minute)
	r.must(domain.RunContinued{V: 1, Reason: "late, but nobody took it"})
	stale := r.lease
	r.lease = f.acquire(r.id, "bob")
	for _, p := range []domain.Payload{domain.RunContinued{V: 1}, domain.SessionRenamed{V: 1, Title: "x"}} {
		_, err := f.Append(t.Context(), domain.AppendRequest{Session: r.id, Generation: stale.Generation, Drafts: drafts(r.run, p)})
		f.wants(domain.CodeStaleLease, err, "old generation writes "+string(p.Kind()))
	}
	r.must(domain.RunContinued{V: 1, Reason: "recovered"})
	f.wants("", f.Release(t.Context(), r.lease), "release")
	f.wants(domain.CodeStaleLease, r.try(domain.RunContinued{V: 1}), "released generation writes")
}

// R63: the states of a call follow each other in order, and each attempt is its own.
func testJournal(f *fixture) {
	t := f.t
	r := f.running()
	const c = domain.CallID("call_1")
	requested := domain.ToolCallRequested{V: 1, CallID: c, Name: "bash"}
	gate := domain.GateDecided{V: 1, CallID: c}
	intent := func(n int) domain.Payload { return domain.ToolCallIntent{V: 1, CallID: c, Attempt: n} }
	executing := func(n int) domain.Payload { return domain.ToolCallExecuting{V: 1, CallID: c, Attempt: n} }
	completed := func(n int) domain.Payload { return domain.ToolCallCompleted{V: 1, CallID: c, Attempt: n} }
	failed := func(n int) domain.Payload { return domain.ToolCallFailed{V: 1, CallID: c, Attempt: n} }
	unknown := func(n int) domain.Payload { return domain.ToolCallUnknown{V: 1, CallID: c, Attempt: n} }
	resolved := func(how string) domain.Payload {
		return domain.ToolCallResolved{V: 1, CallID: c, Resolution: how}
	}
	finished := domain.RunFinished{V: 1, Outcome: domain.OutcomeDone}
	refuse := func(code domain.Code, list ...domain.Payload) {
		t.Helper()
		for _, p := range list {
			f.wants(code, r.try(p), string(p.Kind()))
		}
	}
	refuse(domain.CodeInvalid, gate, intent(1), executing(1), completed(1), failed(1), unknown(1), domain.ToolCallRefused{V: 1, CallID: c})
	r.must(requested)
	refuse(domain.CodeConflict, requested)
	refuse(domain.CodeInvalid, intent(1), executing(1), completed(1), unknown(1)) // R68: no gate decision yet
	r.must(gate, intent(1))
	refuse(domain.CodeInvalid, completed(1), unknown(1), executing(2), failed(2), intent(1))
	r.must(executing(1))
	refuse(domain.CodeInvalid, executing(1), completed(2), intent(1), finished)
	refuse(domain.CodeConflict, resolved("retry"))
	r.must(unknown(1))
	refuse(domain.CodeInvalid, completed(1), executing(1), intent(2), resolved("perhaps"))
	r.must(resolved("retry"), intent(2), executing(2))
	r.must(intent(3), executing(3)) // a crash: recovery tries again
	refuse(domain.CodeInvalid, completed(2))
	r.must(completed(3))
	refuse(domain.CodeInvalid, completed(3), failed(3), intent(4), gate, domain.ApprovalRequested{V: 1, ApprovalID: "apr_1", CallID: c})
	r.must(domain.ToolCallRequested{V: 1, CallID: "call_2"}, domain.ToolCallFailed{V: 1, CallID: "call_2"}) // malformed: never began
	r.must(domain.ToolCallRequested{V: 1, CallID: "call_3"}, domain.ToolCallRefused{V: 1, CallID: "call_3"})
	r.must(finished)
}

// R138: a request is answered exactly once. R132: and only what was asked.
func testApprovals(f *fixture) {
	t := f.t
	r := f.running()
	digest := domain.HashBytes([]byte("effect"))
	r.must(domain.ToolCallRequested{V: 1, CallID: "call_1"}, domain.GateDecided{V: 1, CallID: "call_1"},
		domain.ApprovalRequested{V: 1, ApprovalID: "apr_1", CallID: "call_1", Digest: digest, Title: "Run", Shown: "rm x"})
	v, err := f.View(t.Context(), r.id)
	if err != nil || v.Run.State != projection.RunWaits || len(v.Approvals) != 1 || v.Approvals[0].Request.Shown != "rm x" || v.Approvals[0].Run != r.run {
		t.Fatalf("while it waits: %+v, %v", v, err)
	}
	answer := func(p domain.Payload) error {
		_, err := f.Append(t.Context(), domain.AppendRequest{Session: r.id, Drafts: drafts(r.run, p)})
		return err
	}
	f.wants(domain.CodeConflict, answer(domain.ApprovalGranted{V: 1, ApprovalID: "apr_1", CallID: "call_1", Digest: domain.HashBytes(nil), By: "a"}), "another digest")
	f.wants(domain.CodeInvalid, answer(domain.ApprovalDenied{V: 1, ApprovalID: "apr_1", CallID: "call_2", By: "a"}), "another call")
	f.wants(domain.CodeConflict, r.try(domain.ApprovalRequested{V: 1, ApprovalID: "apr_1", CallID: "call_1"}), "asked twice")
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			var p domain.Payload = domain.ApprovalGranted{V: 1, ApprovalID: "apr_1", CallID: "call_1", Digest: digest, By: "window"}
			if i%2 == 0 {
				p = domain.ApprovalDenied{V: 1, ApprovalID: "apr_1", CallID: "call_1", By: "window"}
			}
			err := answer(p)
			if err == nil {
				won.Add(1)
			} else if f.wants(domain.CodeConflict, err, "second answer"); !strings.Contains(err.Error(), "by window") {
				t.Errorf("the refusal does not say who answered: %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d answers were taken", won.Load())
	}
	v, err = f.View(t.Context(), r.id)
	if err != nil || v.Run.State != projection.RunWorking || len(v.Approvals) != 0 {
		t.Errorf("after the answer: %+v, %v", v, err)
	}
}

// R142: one run at a time. R72: an ended one stays ended.
func testRuns(f *fixture) {
	t := f.t
	r := f.running()
	start := func(run domain.RunID) error {
		_, err := f.Append(t.Context(), domain.AppendRequest{Session: r.id, Drafts: drafts(run, domain.MessageSent{V: 1, MessageID: "msg_2", Text: "more"}, domain.RunStarted{V: 1, MessageID: "msg_2"})})
		return err
	}
	f.wants(domain.CodeConflict, start("run_2"), "second run")
	f.wants(domain.CodeInvalid, start(""), "run without a name")
	f.wants(domain.CodeInvalid, func() error {
		_, err := f.Append(t.Context(), domain.AppendRequest{Session: r.id, Generation: r.lease.Generation, Drafts: drafts("", domain.RunContinued{V: 1})})
		return err
	}(), "work of no run")
	r.must(domain.ToolCallRequested{V: 1, CallID: "call_1"}, domain.ApprovalRequested{V: 1, ApprovalID: "apr_1", CallID: "call_1"})
	r.must(domain.MessageCompleted{V: 1, MessageID: "msg_9", Usage: domain.Usage{InputTokens: 7}})
	f.clock.Add(time.Second)
	r.must(domain.RunFinished{V: 1, Outcome: domain.OutcomeCancelled, Reason: "Stopped by you.", Steps: 1})
	v, err := f.View(t.Context(), r.id)
	if err != nil || v.Run.State != projection.RunStopped || v.Run.FinishedAt == nil || !v.Run.FinishedAt.Equal(f.clock.Now()) || len(v.Approvals) != 0 {
		t.Errorf("after the end: %+v, %v", v.Run, err)
	}
	f.wants(domain.CodeFinished, r.try(domain.RunContinued{V: 1}), "work after the end")
	_, err = f.Append(t.Context(), domain.AppendRequest{Session: r.id, Drafts: drafts(r.run, domain.RunCancelRequested{V: 1})})
	f.wants(domain.CodeFinished, err, "cancel after the end")
	_, err = f.Append(t.Context(), domain.AppendRequest{Session: r.id, Drafts: drafts(r.run, domain.HunkAccepted{V: 1, Path: "a"})})
	f.wants("", err, "what a person says of the results")
	f.wants("", start("run_2"), "another run after the end")
	f.wants(domain.CodeFinished, start(r.run), "the same run again")
}

// R142, R159: a queued message is taken or taken back, once.
func testQueue(f *fixture) {
	t := f.t
	r := f.running()
	queued := func(id domain.MessageID) domain.Payload {
		return domain.MessageQueued{V: 1, MessageID: id, Text: "later"}
	}
	f.add(r.id, queued("msg_a"), queued("msg_b"))
	v, err := f.View(t.Context(), r.id)
	if err != nil || len(v.Queue) != 2 || v.Queue[0].Message.MessageID != "msg_a" {
		t.Fatalf("%+v, %v", v.Queue, err)
	}
	f.add(r.id, domain.MessageUnqueued{V: 1, MessageID: "msg_a"})
	f.wants(domain.CodeConflict, r.try(domain.MessageSent{V: 1, MessageID: "msg_a", FromQueue: true}), "a message that was taken back")
	r.must(domain.MessageSent{V: 1, MessageID: "msg_b", FromQueue: true})
	_, err = f.Append(t.Context(), domain.AppendRequest{Session: r.id, Drafts: drafts("", domain.MessageUnqueued{V: 1, MessageID: "msg_b"})})
	f.wants(domain.CodeConflict, err, "a message that was sent")
	r.must(domain.RunFinished{V: 1, Outcome: domain.OutcomeDone})
	_, err = f.Append(t.Context(), domain.AppendRequest{Session: r.id, Drafts: drafts("", queued("msg_c"))})
	f.wants(domain.CodeConflict, err, "a queue that nobody empties")
}

// R121: who waits is woken by an append, by its context, and by nothing else.
func testWait(f *fixture) {
	t := f.t
	id := f.session()
	last, err := f.LastPos(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.wants("", f.Wait(t.Context(), last-1), "wait for what is there")
	ctx, cancel := context.WithCancel(t.Context())
	woken := make(chan error, 1)
	var appended atomic.Bool
	go func() {
		err := f.Wait(ctx, last)
		if err == nil && !appended.Load() {
			err = errors.New("woken by nothing")
		}
		woken <- err
	}()
	appended.Store(true)
	f.add(id, domain.SessionRenamed{V: 1, Title: "x"})
	if err := <-woken; err != nil {
		t.Errorf("woken by an append: %v", err)
	}
	go func() { woken <- f.Wait(ctx, last+1) }()
	cancel()
	if err := <-woken; !errors.Is(err, context.Canceled) {
		t.Errorf("woken by its context: %v", err)
	}
}

func testViews(f *fixture) {
	t := f.t
	a, b := f.session(), f.session()
	f.add(a, domain.SessionRenamed{V: 1, Title: "newer"}, domain.ModeChanged{V: 1, Mode: domain.ModeAuto}, domain.SandboxConsented{V: 1, By: "me"})
	list, err := f.Views(t.Context(), false)
	if err != nil || len(list) != 2 || list[0].ID != a || list[1].ID != b {
		t.Fatalf("%+v, %v", list, err)
	}
	if v := list[0]; v.Title != "newer" || v.TitleSeq != 2 || v.Mode != domain.ModeAuto || !v.Consented || v.LastSeq != 4 {
		t.Errorf("%+v", v)
	}
	f.add(b, domain.SessionArchived{V: 1, Archived: true})
	if list, err = f.Views(t.Context(), false); err != nil || len(list) != 1 {
		t.Errorf("archived sessions are listed: %d, %v", len(list), err)
	}
	if list, err = f.Views(t.Context(), true); err != nil || len(list) != 2 || list[0].ID != b || !list[0].Archived {
		t.Errorf("with archived ones: %+v, %v", list, err)
	}
}

// R159: full-text search over sessions.
func testSearch(f *fixture) {
	t := f.t
	a, b := f.session(), f.session()
	f.add(a, domain.MessageSent{V: 1, MessageID: "msg_1", Text: strings.Repeat("filler ", 60) + "the ÄQUATOR region,\nplease" + strings.Repeat(" filler", 60)})
	f.add(b, domain.SessionRenamed{V: 1, Title: "Äquator"}, domain.MessageSent{V: 1, MessageID: "msg_2", Text: "100% sure_"})
	f.add(b, domain.MessageSent{V: 1, MessageID: "msg_3", Text: "Äquator in the newest"})
	hits, err := f.Search(t.Context(), "äquator", 0)
	if err != nil || len(hits) != 3 {
		t.Fatalf("%+v, %v", hits, err)
	}
	if hits[0].Session != b || hits[0].Seq != 2 || hits[0].Snippet != "Äquator" || hits[1].Seq != 4 || hits[2].Session != a || hits[2].Title != "Region field" {
		t.Errorf("%+v", hits)
	}
	if s := hits[2].Snippet; !strings.Contains(s, "the ÄQUATOR region, please") || !strings.HasPrefix(s, "… ") || !strings.HasSuffix(s, " …") || len([]rune(s)) > 170 {
		t.Errorf("snippet %q", s)
	}
	for query, want := range map[string]int{"region äquator please": 1, "nothing": 0, "%": 1, "_": 1, "' OR 1": 0, "": 0, "  ": 0, "REGION FIELD": 1} {
		if hits, err := f.Search(t.Context(), query, 0); err != nil || len(hits) != want {
			t.Errorf("%q: %d hits, %v; want %d", query, len(hits), err, want)
		}
	}
	if hits, err = f.Search(t.Context(), "äquator", 2); err != nil || len(hits) != 2 {
		t.Errorf("limit 2: %d hits, %v", len(hits), err)
	}
}

// R70: content goes, the chain stays.
func testDelete(f *fixture) {
	t := f.t
	r := f.running()
	other := f.session()
	f.add(r.id, domain.MessageSent{V: 1, MessageID: "msg_1", Text: "the canary sings"})
	f.wants(domain.CodeConflict, f.Delete(t.Context(), r.id), "delete while it is run")
	f.wants("", f.Release(t.Context(), r.lease), "release")
	before, err := f.Read(t.Context(), r.id, domain.Span{})
	if err != nil {
		t.Fatal(err)
	}
	f.wants("", f.Delete(t.Context(), r.id), "delete")
	f.wants(domain.CodeNotFound, f.Delete(t.Context(), r.id), "delete twice")
	_, err = f.Read(t.Context(), r.id, domain.Span{})
	f.wants(domain.CodeNotFound, err, "read")
	_, err = f.ReadBefore(t.Context(), r.id, 9, 9)
	f.wants(domain.CodeNotFound, err, "read before")
	_, err = f.View(t.Context(), r.id)
	f.wants(domain.CodeNotFound, err, "view")
	_, err = f.Acquire(t.Context(), r.id, "x", time.Minute, nil)
	f.wants(domain.CodeNotFound, err, "acquire")
	_, err = f.Append(t.Context(), domain.AppendRequest{Session: r.id, Drafts: drafts("", domain.SessionRenamed{V: 1, Title: "x"})})
	f.wants(domain.CodeNotFound, err, "append")
	_, err = f.Append(t.Context(), domain.AppendRequest{Session: r.id, Drafts: drafts("", domain.SessionCreated{V: 1})})
	f.wants(domain.CodeNotFound, err, "create again")
	if hits, err := f.Search(t.Context(), "canary", 0); err != nil || len(hits) != 0 {
		t.Errorf("found after deletion: %+v, %v", hits, err)
	}
	if list, err := f.Views(t.Context(), true); err != nil || len(list) != 1 || list[0].ID != other {
		t.Errorf("listed after deletion: %+v, %v", list, err)
	}
	all, err := f.ReadLedger(t.Context(), 0, 0)
	if err != nil || len(all) != len(before)+1 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	stones := 0
	for i, e := range all {
		if e.Pos != int64(i+1) {
			t.Errorf("position %d where %d belongs", e.Pos, i+1)
		}
		if e.Session == r.id {
			if want := before[e.Seq-1]; e.Payload != nil || e.Salt != nil || e.Hash != want.Hash || e.PayloadHash != want.PayloadHash {
				t.Errorf("tombstone %+v of %+v", e, want)
			}
			stones++
		}
	}
	if stones != len(before) {
		t.Errorf("%d tombstones of %d events", stones, len(before))
	}
	f.add(other, domain.SessionRenamed{V: 1, Title: "goes on"})
}
