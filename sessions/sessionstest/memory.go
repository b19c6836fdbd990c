package sessionstest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/internal/chain"
	"worksite/sessions/internal/journal"
	"worksite/sessions/projection"
)

// Memory is a ledger in memory with the rules, hashes and signatures of the real
// one. Set its hooks before it is used.
type Memory struct {
	// Clock is the clock of times and leases; nil is time.Now.
	Clock func() time.Time
	// FailAppend, when set, is asked before every append; an error refuses it.
	FailAppend func(domain.AppendRequest) error

	cell domain.Cell
	key  ed25519.PrivateKey

	mu       sync.Mutex
	events   []domain.Event // by position
	owner    map[domain.EventID]domain.SessionID
	sessions map[domain.SessionID]*record
	grown    chan struct{}
	closed   bool
}

// record is one session.
type record struct {
	tail    journal.Tail
	last    int64 // position of the last event
	book    bookPages
	lease   domain.Lease
	deleted bool
}

// NewMemory returns an empty ledger with a fresh cell key.
func NewMemory() *Memory {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic("no system randomness: " + err.Error())
	}
	return &Memory{
		cell: domain.Cell{ID: chain.CellID(public), PublicKey: domain.Hex(public)}, key: key,
		owner: map[domain.EventID]domain.SessionID{}, sessions: map[domain.SessionID]*record{}, grown: make(chan struct{}),
	}
}

// Cell returns the identity that this ledger writes under.
func (m *Memory) Cell() domain.Cell { return m.cell }

// Now is the clock that leases expire by.
func (m *Memory) Now() time.Time {
	if m.Clock != nil {
		return m.Clock()
	}
	return time.Now()
}

// Close makes every wait return; there is nothing else to close.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.grown)
	}
	return nil
}

// get returns a session that is there.
func (m *Memory) get(id domain.SessionID) (*record, error) {
	r := m.sessions[id]
	if r == nil || r.deleted || !r.tail.Exists() {
		return nil, domain.Errorf(domain.CodeNotFound, "there is no session %s", id)
	}
	return r, nil
}

// Append adds events to a session's end, all or none.
func (m *Memory) Append(ctx context.Context, req domain.AppendRequest) ([]domain.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	drafts, err := journal.Prepare(req)
	if err != nil {
		return nil, err
	}
	if m.FailAppend != nil {
		if err := m.FailAppend(req); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, domain.Errorf(domain.CodeUnavailable, "the ledger is closed")
	}
	r := m.sessions[req.Session]
	if r == nil {
		r = &record{book: newPages()}
	}
	if r.deleted {
		return nil, domain.Errorf(domain.CodeNotFound, "session %s was deleted", req.Session)
	}
	pages := r.book.clone()
	events, tail, err := journal.Admit(&memoryBook{bookPages: pages, owner: m.owner}, r.tail, r.lease, req, drafts,
		journal.Author{Cell: m.cell.ID, Key: m.key, Now: m.Now()})
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if _, ok := m.owner[e.ID]; ok {
			return nil, journal.Duplicate(e.ID)
		}
	}
	for i := range events {
		events[i].Pos = int64(len(m.events)) + 1
		m.events = append(m.events, events[i])
		m.owner[events[i].ID] = req.Session
	}
	r.tail, r.book, r.last = tail, pages, int64(len(m.events))
	m.sessions[req.Session] = r
	close(m.grown)
	m.grown = make(chan struct{})
	return events, nil
}

// Read returns the events of a session that span selects, in order.
func (m *Memory) Read(ctx context.Context, id domain.SessionID, span domain.Span) ([]domain.Event, error) {
	return m.pick(ctx, id, func(e domain.Event) bool { return e.Seq > span.After }, span.Limit)
}

// ReadBefore returns the limit events before a seq, in order.
func (m *Memory) ReadBefore(ctx context.Context, id domain.SessionID, before int64, limit int) ([]domain.Event, error) {
	out, err := m.pick(ctx, id, func(e domain.Event) bool { return e.Seq < before }, 0)
	if limit > 0 && len(out) > limit {
		out = out[len(out)-limit:]
	}
	return out, err
}

func (m *Memory) pick(ctx context.Context, id domain.SessionID, want func(domain.Event) bool, limit int) ([]domain.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.get(id); err != nil {
		return nil, err
	}
	var out []domain.Event
	for _, e := range m.events {
		if e.Session == id && want(e) && (limit <= 0 || len(out) < limit) {
			out = append(out, e)
		}
	}
	return out, nil
}

// ReadLedger returns the events of all sessions after a position, in order.
func (m *Memory) ReadLedger(ctx context.Context, afterPos int64, limit int) ([]domain.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rest := m.events[min(max(afterPos, 0), int64(len(m.events))):]
	if limit > 0 && len(rest) > limit {
		rest = rest[:limit]
	}
	return slices.Clone(rest), nil
}

// LastPos returns the position of the newest event, 0 when there is none.
func (m *Memory) LastPos(ctx context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.events)), ctx.Err()
}

// Wait returns nil when the ledger's last position is beyond afterPos.
func (m *Memory) Wait(ctx context.Context, afterPos int64) error {
	for {
		m.mu.Lock()
		last, grown, closed := int64(len(m.events)), m.grown, m.closed
		m.mu.Unlock()
		switch {
		case last > afterPos:
			return nil
		case closed:
			return domain.Errorf(domain.CodeUnavailable, "the ledger is closed")
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// View returns the head of a session.
func (m *Memory) View(ctx context.Context, id domain.SessionID) (projection.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.get(id)
	if err != nil {
		return projection.Session{}, err
	}
	return r.tail.Head, ctx.Err()
}

// Views returns the heads of all sessions, the one written to last first.
func (m *Memory) Views(ctx context.Context, archived bool) ([]projection.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var live []*record
	for _, r := range m.sessions {
		if !r.deleted && (archived || !r.tail.Head.Archived) {
			live = append(live, r)
		}
	}
	slices.SortFunc(live, func(a, b *record) int { return int(b.last - a.last) })
	var out []projection.Session
	for _, r := range live {
		out = append(out, r.tail.Head)
	}
	return out, ctx.Err()
}

// Search finds messages and titles that contain every word of text.
func (m *Memory) Search(ctx context.Context, text string, limit int) ([]projection.Hit, error) {
	words := projection.Words(text)
	if len(words) == 0 {
		return nil, nil
	}
	if limit <= 0 {
		limit = 50
	}
	all, err := m.Views(ctx, true)
	if err != nil {
		return nil, err
	}
	titles := map[domain.SessionID]string{}
	var hits []projection.Hit
	for _, v := range all {
		titles[v.ID] = v.Title
		if projection.Matches(v.Title, words) {
			hits = append(hits, projection.Hit{Session: v.ID, Title: v.Title, Seq: v.TitleSeq, At: v.UpdatedAt, Snippet: projection.Snippet(v.Title, words)})
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range slices.Backward(m.events) {
		if e.Payload == nil {
			continue
		}
		p, err := domain.DecodePayload(e.Kind, e.Payload)
		if err != nil {
			return nil, err
		}
		if t := projection.Text(p); t != "" && projection.Matches(t, words) {
			hits = append(hits, projection.Hit{Session: e.Session, Title: titles[e.Session], Seq: e.Seq, At: e.CreatedAt, Snippet: projection.Snippet(t, words)})
		}
	}
	return hits[:min(len(hits), limit)], nil
}

// Delete takes a session's content away; its events stay as tombstones.
func (m *Memory) Delete(ctx context.Context, id domain.SessionID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.get(id)
	if err != nil {
		return err
	}
	if r.lease.Holder != "" && r.lease.ExpiresAt.After(m.Now()) {
		return domain.Errorf(domain.CodeConflict, "session %s is run by %s", id, r.lease.Holder)
	}
	for i := range m.events {
		if m.events[i].Session == id {
			m.events[i].Payload, m.events[i].Salt = nil, nil
		}
	}
	*r = record{deleted: true}
	return ctx.Err()
}

// bookPages is a session's part of the journal's book.
type bookPages struct {
	calls     map[domain.CallID]journal.Call
	approvals map[domain.ApprovalID]journal.Approval
	runs      map[domain.RunID]journal.Run
}

func newPages() bookPages {
	return bookPages{calls: map[domain.CallID]journal.Call{}, approvals: map[domain.ApprovalID]journal.Approval{}, runs: map[domain.RunID]journal.Run{}}
}

func (b bookPages) clone() bookPages {
	return bookPages{calls: maps.Clone(b.calls), approvals: maps.Clone(b.approvals), runs: maps.Clone(b.runs)}
}

// memoryBook implements journal.Book over a copy of a session's pages.
type memoryBook struct {
	bookPages
	owner map[domain.EventID]domain.SessionID
}

func (b *memoryBook) Call(id domain.CallID) (journal.Call, bool, error) {
	c, ok := b.calls[id]
	return c, ok, nil
}

func (b *memoryBook) PutCall(c journal.Call) error {
	b.calls[c.ID] = c
	return nil
}

func (b *memoryBook) Approval(id domain.ApprovalID) (journal.Approval, bool, error) {
	a, ok := b.approvals[id]
	return a, ok, nil
}

func (b *memoryBook) PutApproval(a journal.Approval) error {
	b.approvals[a.ID] = a
	return nil
}

func (b *memoryBook) Run(id domain.RunID) (journal.Run, bool, error) {
	r, ok := b.runs[id]
	return r, ok, nil
}

func (b *memoryBook) PutRun(r journal.Run) error {
	b.runs[r.ID] = r
	return nil
}

func (b *memoryBook) Event(id domain.EventID) (domain.SessionID, bool, error) {
	s, ok := b.owner[id]
	return s, ok, nil
}
