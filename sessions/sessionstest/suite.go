package sessionstest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/internal/chain"
	"worksite/sessions/projection"
)

// Ledger is what the suite proves.
type Ledger interface {
	Append(context.Context, domain.AppendRequest) ([]domain.Event, error)
	Read(context.Context, domain.SessionID, domain.Span) ([]domain.Event, error)
	ReadBefore(ctx context.Context, session domain.SessionID, before int64, limit int) ([]domain.Event, error)
	ReadLedger(ctx context.Context, afterPos int64, limit int) ([]domain.Event, error)
	LastPos(context.Context) (int64, error)
	Wait(ctx context.Context, afterPos int64) error
	Acquire(ctx context.Context, session domain.SessionID, holder string, ttl time.Duration, holderDead func(string) bool) (domain.Lease, error)
	Renew(context.Context, domain.Lease, time.Duration) (domain.Lease, error)
	Release(context.Context, domain.Lease) error
	LeaseOf(context.Context, domain.SessionID) (domain.Lease, bool, error)
	Views(ctx context.Context, archived bool) ([]projection.Session, error)
	View(context.Context, domain.SessionID) (projection.Session, error)
	Search(ctx context.Context, text string, limit int) ([]projection.Hit, error)
	Delete(context.Context, domain.SessionID) error
	Cell() domain.Cell
}

// OpenFunc makes an empty ledger that lives as long as t and reads its time from now.
type OpenFunc func(t *testing.T, now func() time.Time) Ledger

// Clock is a clock that tests move.
type Clock struct{ micros atomic.Int64 }

// NewClock starts at a fixed instant.
func NewClock() *Clock {
	c := &Clock{}
	c.micros.Store(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

// Now returns the instant.
func (c *Clock) Now() time.Time { return time.UnixMicro(c.micros.Load()) }

// Add moves it.
func (c *Clock) Add(d time.Duration) { c.micros.Add(d.Microseconds()) }

// Suite proves the contract of a ledger.
func Suite(t *testing.T, open OpenFunc) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*fixture)
	}{
		{"AppendAndRead", testAppendAndRead},
		{"Paging", testPaging},
		{"Refusals", testRefusals},
		{"AllOrNothing", testAllOrNothing},
		{"Leaf", testLeaf},
		{"ExpectSeq", testExpectSeq},
		{"Leases", testLeases},
		{"Fencing", testFencing},
		{"Journal", testJournal},
		{"Approvals", testApprovals},
		{"Runs", testRuns},
		{"Queue", testQueue},
		{"Wait", testWait},
		{"Views", testViews},
		{"Search", testSearch},
		{"Delete", testDelete},
		{"ManyWriters", testManyWriters},
		{"Clocks", testClocks},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := NewClock()
			c.run(&fixture{t: t, clock: clock, Ledger: open(t, clock.Now)})
		})
	}
}

// fixture is a ledger with short words for what tests do all the time.
type fixture struct {
	Ledger
	t     *testing.T
	clock *Clock
}

func (f *fixture) append(req domain.AppendRequest) []domain.Event {
	f.t.Helper()
	events, err := f.Append(f.t.Context(), req)
	if err != nil {
		f.t.Fatal(err)
	}
	return events
}

func (f *fixture) add(id domain.SessionID, list ...domain.Payload) []domain.Event {
	f.t.Helper()
	return f.append(domain.AppendRequest{Session: id, Drafts: drafts("", list...)})
}

func drafts(run domain.RunID, list ...domain.Payload) []domain.Draft {
	out := make([]domain.Draft, len(list))
	for i, p := range list {
		out[i] = domain.Draft{Run: run, Payload: p}
	}
	return out
}

func (f *fixture) session() domain.SessionID {
	f.t.Helper()
	id := domain.NewSessionID()
	f.add(id, domain.SessionCreated{V: 1, Title: "Region field", Mode: domain.ModeAsk})
	return id
}

// running is a session with a run and its lease.
type running struct {
	*fixture
	id    domain.SessionID
	run   domain.RunID
	lease domain.Lease
}

func (f *fixture) running() *running {
	f.t.Helper()
	r := &running{fixture: f, id: f.session(), run: domain.NewRunID()}
	f.append(domain.AppendRequest{Session: r.id, Drafts: drafts(r.run, domain.RunStarted{V: 1, MessageID: "msg_1"})})
	r.lease = f.acquire(r.id, "alice")
	return r
}

func (f *fixture) acquire(id domain.SessionID, holder string) domain.Lease {
	f.t.Helper()
	l, err := f.Acquire(f.t.Context(), id, holder, time.Minute, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

func (r *running) try(list ...domain.Payload) error {
	_, err := r.Append(r.t.Context(), domain.AppendRequest{Session: r.id, Generation: r.lease.Generation, Drafts: drafts(r.run, list...)})
	return err
}

func (r *running) must(list ...domain.Payload) {
	r.t.Helper()
	if err := r.try(list...); err != nil {
		r.t.Fatal(err)
	}
}

// wants fails unless err has a code; "" wants success.
func (f *fixture) wants(code domain.Code, err error, what string) {
	f.t.Helper()
	if got := domain.CodeOf(err); got != code {
		f.t.Errorf("%s: got %q (%v), want %q", what, got, err, code)
	}
}

// R117, R120: gap-free seq and position, the tree's parents, canonical payload.
// R64, R65: each event is hashed, chained and signed by the cell.
func testAppendAndRead(f *fixture) {
	t := f.t
	id := domain.NewSessionID()
	first := f.add(id, domain.SessionCreated{V: 1, Title: "<b>"}, domain.MessageSent{V: 1, MessageID: "msg_1", Text: "a & b"})
	second := f.append(domain.AppendRequest{Session: id, Drafts: []domain.Draft{
		{ID: "01EVENT", CausedBy: first[1].ID, Payload: &domain.SessionRenamed{V: 1, Title: "pointer"}},
	}})
	events, err := f.Read(t.Context(), id, domain.Span{})
	if err != nil {
		t.Fatal(err)
	}
	want := append(first, second...)
	if got, want := asJSON(t, events), asJSON(t, want); got != want {
		t.Fatalf("read\n%s\nwant\n%s", got, want)
	}
	var prev domain.Event
	for i, e := range events {
		if e.Seq != int64(i+1) || e.Pos != prev.Pos+1 || e.PrevHash != prev.Hash || e.Parent != prev.ID {
			t.Errorf("event %d does not follow: %+v", i, e)
		}
		if e.Session != id || e.Cell != f.Cell().ID || e.Generation != 0 || !e.CreatedAt.Equal(f.clock.Now()) {
			t.Errorf("event %d has a wrong header: %+v", i, e)
		}
		if err := chain.Check(&e, []byte(f.Cell().PublicKey)); err != nil {
			t.Errorf("event %d: %v", i, err)
		}
		prev = e
	}
	if got := string(events[1].Payload); got != `{"messageId":"msg_1","text":"a & b","v":1}` {
		t.Errorf("payload is not canonical: %s", got)
	}
	if events[2].CausedBy != first[1].ID || events[2].ID != "01EVENT" {
		t.Errorf("id and cause were not kept: %+v", events[2])
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// R117, R121: a reader that gives its last position or seq misses nothing.
func testPaging(f *fixture) {
	t := f.t
	a, b := f.session(), f.session()
	for range 4 {
		f.add(a, domain.SessionRenamed{V: 1, Title: "a"})
		f.add(b, domain.SessionRenamed{V: 1, Title: "b"})
	}
	seqs := func(events []domain.Event, err error) []int64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		out := []int64{}
		for _, e := range events {
			out = append(out, e.Seq)
		}
		return out
	}
	for _, c := range []struct {
		name string
		got  []int64
		want string
	}{
		{"all", seqs(f.Read(t.Context(), a, domain.Span{})), "[1,2,3,4,5]"},
		{"page", seqs(f.Read(t.Context(), a, domain.Span{After: 2, Limit: 2})), "[3,4]"},
		{"beyond", seqs(f.Read(t.Context(), a, domain.Span{After: 5})), "[]"},
		{"before", seqs(f.ReadBefore(t.Context(), a, 5, 3)), "[2,3,4]"},
		{"before all", seqs(f.ReadBefore(t.Context(), a, 3, 0)), "[1,2]"},
		{"before first", seqs(f.ReadBefore(t.Context(), a, 1, 9)), "[]"},
	} {
		raw, _ := json.Marshal(c.got)
		if string(raw) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, raw, c.want)
		}
	}
	last, err := f.LastPos(t.Context())
	if err != nil || last != 10 {
		t.Fatalf("last position %d, %v", last, err)
	}
	for after := int64(0); after < last; {
		page, err := f.ReadLedger(t.Context(), after, 3)
		if err != nil || len(page) == 0 {
			t.Fatal(len(page), err)
		}
		for _, e := range page {
			if after++; e.Pos != after {
				t.Fatalf("position %d where %d belongs", e.Pos, after)
			}
		}
	}
}

// Every way to ask for what cannot be, with its code; nothing of it is written.
func testRefusals(f *fixture) {
	t := f.t
	id, other := f.session(), f.session()
	mine := f.add(id, domain.MessageSent{V: 1, MessageID: "msg_1", Text: "hi"})[0]
	foreign := f.add(other, domain.MessageSent{V: 1, MessageID: "msg_2", Text: "hi"})[0]
	before, err := f.LastPos(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rename := domain.SessionRenamed{V: 1, Title: "x"}
	one := func(d domain.Draft) []domain.Draft { return []domain.Draft{d} }
	for _, c := range []struct {
		name string
		code domain.Code
		req  domain.AppendRequest
	}{
		{"no session named", domain.CodeInvalid, domain.AppendRequest{Drafts: drafts("", rename)}},
		{"no events", domain.CodeInvalid, domain.AppendRequest{Session: id}},
		{"no payload", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{}}}},
		{"nil pointer", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: one(domain.Draft{Payload: (*domain.SessionRenamed)(nil)})}},
		{"no version", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: drafts("", domain.SessionRenamed{Title: "x"})}},
		{"not a payload of its kind", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: drafts("", impostor{})}},
		{"a number that JSON cannot keep", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: drafts("", domain.WorkspaceBased{V: 1, Bytes: 1<<53 + 1})}},
		{"negative generation", domain.CodeInvalid, domain.AppendRequest{Session: id, Generation: -1, Drafts: drafts("", rename)}},
		{"unknown session", domain.CodeNotFound, domain.AppendRequest{Session: "ses_none", Drafts: drafts("", rename)}},
		{"created twice", domain.CodeConflict, domain.AppendRequest{Session: id, Drafts: drafts("", domain.SessionCreated{V: 1})}},
		{"created in the middle", domain.CodeInvalid, domain.AppendRequest{Session: "ses_new", Drafts: drafts("", domain.SessionCreated{V: 1}, domain.SessionCreated{V: 1})}},
		{"parent of another session", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: one(domain.Draft{Parent: foreign.ID, Payload: rename})}},
		{"parent that is not", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: one(domain.Draft{Parent: "01NONE", Payload: rename})}},
		{"cause that is not", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: one(domain.Draft{CausedBy: "01NONE", Payload: rename})}},
		{"id that is taken", domain.CodeConflict, domain.AppendRequest{Session: id, Drafts: one(domain.Draft{ID: foreign.ID, Payload: rename})}},
		{"id twice", domain.CodeConflict, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{ID: "01TWICE", Payload: rename}, {ID: "01TWICE", Payload: rename}}}},
		{"leaf of another session", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: drafts("", domain.LeafMoved{V: 1, To: foreign.ID})}},
		{"leaf with another parent", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: one(domain.Draft{Parent: mine.Parent, Payload: domain.LeafMoved{V: 1, To: mine.ID}})}},
		{"runner's kind by a person", domain.CodeStaleLease, domain.AppendRequest{Session: id, Drafts: drafts("run_x", domain.RunContinued{V: 1})}},
		{"lease that was never", domain.CodeStaleLease, domain.AppendRequest{Session: id, Generation: 1, Drafts: drafts("", rename)}},
		{"cancel of no run", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: drafts("", domain.RunCancelRequested{V: 1})}},
		{"cancel of another run", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: drafts("run_x", domain.RunCancelRequested{V: 1})}},
		{"answer to nothing", domain.CodeNotFound, domain.AppendRequest{Session: id, Drafts: drafts("", domain.ApprovalDenied{V: 1, ApprovalID: "apr_x"})}},
		{"decision on nothing", domain.CodeInvalid, domain.AppendRequest{Session: id, Drafts: drafts("", domain.ToolCallResolved{V: 1, CallID: "call_x", Resolution: "done"})}},
	} {
		_, err := f.Append(t.Context(), c.req)
		f.wants(c.code, err, c.name)
	}
	if after, err := f.LastPos(t.Context()); err != nil || after != before {
		t.Errorf("refused appends left something: position %d, was %d (%v)", after, before, err)
	}
	_, err = f.Read(t.Context(), "ses_none", domain.Span{})
	f.wants(domain.CodeNotFound, err, "read of an unknown session")
	_, err = f.View(t.Context(), "ses_none")
	f.wants(domain.CodeNotFound, err, "view of an unknown session")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = f.Append(ctx, domain.AppendRequest{Session: id, Drafts: drafts("", rename)}); !errors.Is(err, context.Canceled) {
		t.Errorf("append with an ended context: %v", err)
	}
}

// impostor claims a kind that is not its own.
type impostor struct{}

// Kind implements domain.Payload.
func (impostor) Kind() domain.Kind { return domain.SessionRenamed{}.Kind() }

// R119: an append is one fact: what is refused at its end leaves nothing of its beginning.
func testAllOrNothing(f *fixture) {
	t := f.t
	r := f.running()
	before, _ := f.Read(t.Context(), r.id, domain.Span{})
	err := r.try(
		domain.ToolCallRequested{V: 1, CallID: "call_1", Name: "read"},
		domain.GateDecided{V: 1, CallID: "call_1"},
		domain.ToolCallIntent{V: 1, CallID: "call_1", Attempt: 1},
		domain.ToolCallCompleted{V: 1, CallID: "call_1", Attempt: 1}, // not executing
	)
	f.wants(domain.CodeInvalid, err, "completed after intent")
	after, _ := f.Read(t.Context(), r.id, domain.Span{})
	if len(after) != len(before) {
		t.Errorf("%d events stayed", len(after)-len(before))
	}
	r.must(domain.ToolCallRequested{V: 1, CallID: "call_1", Name: "read"}) // as if it had never been asked
}

// R20: the leaf is an event, so a fork survives a restart.
func testLeaf(f *fixture) {
	t := f.t
	id := f.session()
	a := f.add(id, domain.MessageSent{V: 1, MessageID: "msg_a", Text: "a"})[0]
	f.add(id, domain.MessageSent{V: 1, MessageID: "msg_b", Text: "b"})
	moved := f.add(id, domain.LeafMoved{V: 1, To: a.ID})[0]
	if moved.Parent != a.ID {
		t.Errorf("parent of leaf.moved is %s, want %s", moved.Parent, a.ID)
	}
	v, err := f.View(t.Context(), id)
	if err != nil || v.Leaf != moved.ID {
		t.Errorf("leaf %s, %v; want %s", v.Leaf, err, moved.ID)
	}
	c := f.add(id, domain.MessageSent{V: 1, MessageID: "msg_c", Text: "c"})[0]
	if c.Parent != moved.ID {
		t.Errorf("the branch does not continue from the leaf: parent %s", c.Parent)
	}
	side := f.append(domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Parent: a.ID, Payload: domain.MessageSent{V: 1, MessageID: "msg_d", Text: "d"}}}})[0]
	if side.Parent != a.ID || side.Seq != c.Seq+1 {
		t.Errorf("an explicit parent was not kept: %+v", side)
	}
}

func testExpectSeq(f *fixture) {
	t := f.t
	id := f.session()
	seen := int64(1)
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := f.Append(t.Context(), domain.AppendRequest{Session: id, ExpectSeq: &seen, Drafts: drafts("", domain.SessionRenamed{V: 1, Title: "x"})})
			if err == nil {
				won.Add(1)
			} else {
				f.wants(domain.CodeConflict, err, "second append after the same seq")
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d appends after seq 1 were taken", won.Load())
	}
}

// R143: order comes from the sequence, never from clocks.
func testClocks(f *fixture) {
	t := f.t
	id := f.session()
	f.clock.Add(10 * time.Minute)
	f.add(id, domain.SessionRenamed{V: 1, Title: "ahead"})
	f.clock.Add(-20 * time.Minute)
	f.add(id, domain.SessionRenamed{V: 1, Title: "behind"})
	v, err := f.View(t.Context(), id)
	if err != nil || v.Title != "behind" || v.LastSeq != 3 {
		t.Errorf("%+v, %v", v, err)
	}
}

// R117: gap-free seq and positions under many writers and readers.
func testManyWriters(f *fixture) {
	t := f.t
	const writers, readers, each = 8, 4, 25
	shared := f.session()
	ctx, stop := context.WithCancel(t.Context())
	var writing, reading sync.WaitGroup
	for range writers {
		writing.Go(func() {
			own := domain.NewSessionID()
			if _, err := f.Append(ctx, domain.AppendRequest{Session: own, Drafts: drafts("", domain.SessionCreated{V: 1})}); err != nil {
				t.Error(err)
				return
			}
			for range each {
				for _, id := range []domain.SessionID{shared, own} {
					if _, err := f.Append(ctx, domain.AppendRequest{Session: id, Drafts: drafts("", domain.SessionRenamed{V: 1, Title: "x"}, domain.SessionRenamed{V: 1, Title: "y"})}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range readers {
		reading.Go(func() {
			for after := int64(0); ; {
				if err := f.Wait(ctx, after); err != nil {
					return
				}
				page, err := f.ReadLedger(ctx, after, 50)
				if err != nil {
					return
				}
				for _, e := range page {
					if after++; e.Pos != after {
						t.Errorf("a reader met position %d where %d belongs", e.Pos, after)
						return
					}
				}
			}
		})
	}
	writing.Wait()
	stop()
	reading.Wait()
	events, err := f.Read(t.Context(), shared, domain.Span{})
	if err != nil || len(events) != 1+2*writers*each {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Fatalf("seq %d where %d belongs", e.Seq, i+1)
		}
	}
}
