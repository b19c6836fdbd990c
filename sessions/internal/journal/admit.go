package journal

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/internal/chain"
	"worksite/sessions/projection"
)

// MaxDrafts is the largest number of events in one append.
const MaxDrafts = 10_000

type (
	// Prepared is a draft whose payload is encoded and hashed.
	Prepared struct {
		Draft   domain.Draft
		Kind    domain.Kind
		Payload []byte
		Salt    []byte
		Hash    domain.Hash // of salt and payload
	}
	// Tail is the end of a session that an append continues; the zero value is a
	// session that does not exist yet.
	Tail struct {
		Head projection.Session
		Hash domain.Hash // of the last event
	}
	// Author is who writes and when.
	Author struct {
		Cell domain.CellID
		Key  ed25519.PrivateKey
		Now  time.Time
	}
)

// Exists reports whether the session was created.
func (t Tail) Exists() bool { return t.Head.LastSeq > 0 }

// Prepare does what needs no transaction: it encodes, salts and hashes the payloads.
func Prepare(req domain.AppendRequest) ([]Prepared, error) {
	switch {
	case req.Session == "":
		return nil, domain.Errorf(domain.CodeInvalid, "the append names no session")
	case len(req.Drafts) == 0:
		return nil, domain.Errorf(domain.CodeInvalid, "the append has no events")
	case len(req.Drafts) > MaxDrafts:
		return nil, domain.Errorf(domain.CodeTooLarge, "the append has %d events, the limit is %d", len(req.Drafts), MaxDrafts)
	case req.Generation < 0:
		return nil, domain.Errorf(domain.CodeInvalid, "generation %d is below zero", req.Generation)
	}
	salts := make([]byte, chain.SaltSize*len(req.Drafts))
	if _, err := rand.Read(salts); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	out := make([]Prepared, len(req.Drafts))
	for i, d := range req.Drafts {
		p, err := byValue(d.Payload)
		if err != nil {
			return nil, err
		}
		raw, err := chain.Encode(p)
		if err != nil {
			if domain.CodeOf(err) != domain.CodeInternal {
				return nil, err
			}
			return nil, domain.Errorf(domain.CodeInvalid, "payload of %s: %w", p.Kind(), err)
		}
		d.Payload = p
		salt := salts[i*chain.SaltSize:][:chain.SaltSize:chain.SaltSize]
		out[i] = Prepared{Draft: d, Kind: p.Kind(), Payload: raw, Salt: salt, Hash: chain.PayloadHash(salt, raw)}
	}
	return out, nil
}

// kinds is the registered payload type of every kind.
var kinds = sync.OnceValue(domain.Kinds)

// byValue accepts only the registered struct of a kind, with its version set.
func byValue(p domain.Payload) (domain.Payload, error) {
	if p == nil {
		return nil, domain.Errorf(domain.CodeInvalid, "a draft has no payload")
	}
	v := reflect.ValueOf(p)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, domain.Errorf(domain.CodeInvalid, "a draft has no payload")
		}
		v = v.Elem()
		q, ok := v.Interface().(domain.Payload)
		if !ok {
			return nil, domain.Errorf(domain.CodeInvalid, "%T is not a payload", p)
		}
		p = q
	}
	if kinds()[p.Kind()] != v.Type() {
		return nil, domain.Errorf(domain.CodeInvalid, "%T is not the payload of %s", p, p.Kind())
	}
	if version := v.FieldByName("V"); version.IsValid() && version.Int() < 1 {
		return nil, domain.Errorf(domain.CodeInvalid, "the payload of %s states no version (V)", p.Kind())
	}
	return p, nil
}

// Admit checks req against the session's tail, the book and the lease, and
// returns the sealed events (Pos is still missing) with the new tail. The
// caller holds the transaction and undoes the book when it returns an error; it
// also refuses an event whose id is in the ledger already ([Duplicate]).
func Admit(b Book, tail Tail, lease domain.Lease, req domain.AppendRequest, drafts []Prepared, by Author) ([]domain.Event, Tail, error) {
	if err := admissible(tail, lease, req, drafts); err != nil {
		return nil, tail, err
	}
	seen := &pending{Book: b, session: req.Session}
	now := by.Now.UTC().Truncate(time.Microsecond)
	events := make([]domain.Event, len(drafts))
	for i, d := range drafts {
		e := &events[i]
		*e = domain.Event{
			Session: req.Session, Seq: tail.Head.LastSeq + 1, ID: d.Draft.ID,
			Parent: d.Draft.Parent, CausedBy: d.Draft.CausedBy, Run: d.Draft.Run, Kind: d.Kind,
			CreatedAt: now, Cell: by.Cell, Generation: req.Generation,
			Payload: d.Payload, PayloadHash: d.Hash, Salt: d.Salt, PrevHash: tail.Hash,
		}
		if err := place(seen, tail.Head.Leaf, e, d.Draft.Payload); err != nil {
			return nil, tail, at(err, i, len(drafts))
		}
		if err := Check(seen, tail.Head, e, d.Draft.Payload); err != nil {
			return nil, tail, at(err, i, len(drafts))
		}
		if err := Record(seen, e, d.Draft.Payload); err != nil {
			return nil, tail, err
		}
		e.Hash = chain.Hash(e)
		seen.ids = append(seen.ids, e.ID)
		tail = Tail{Head: projection.Apply(tail.Head, *e, d.Draft.Payload), Hash: e.Hash}
	}
	chain.Sign(events, by.Key)
	return events, tail, nil
}

// Duplicate is the refusal of an event that the ledger has already.
func Duplicate(id domain.EventID) error {
	return domain.Errorf(domain.CodeConflict, "event %s is in the ledger already", id)
}

// at says which draft of several was refused.
func at(err error, i, n int) error {
	if n == 1 || domain.CodeOf(err) == domain.CodeInternal {
		return err
	}
	e := *err.(*domain.Error) //nolint:errorlint // every coded refusal of this package is one
	e.Message = fmt.Sprintf("event %d of %d: %s", i+1, n, e.Message)
	return &e
}

// admissible checks what concerns the request as a whole.
func admissible(tail Tail, lease domain.Lease, req domain.AppendRequest, drafts []Prepared) error {
	begins := drafts[0].Kind == domain.SessionCreated{}.Kind()
	switch {
	case !tail.Exists() && !begins:
		return domain.Errorf(domain.CodeNotFound, "there is no session %s", req.Session)
	case tail.Exists() && begins:
		return domain.Errorf(domain.CodeConflict, "session %s exists already", req.Session)
	}
	for _, d := range drafts[1:] {
		if d.Kind == (domain.SessionCreated{}).Kind() {
			return domain.Errorf(domain.CodeInvalid, "session.created can only be the first event of a session")
		}
	}
	if req.ExpectSeq != nil && *req.ExpectSeq != tail.Head.LastSeq {
		return domain.Errorf(domain.CodeConflict, "the session has moved on: its last event is %d, %d was expected", tail.Head.LastSeq, *req.ExpectSeq).
			WithHint("Read the events after %d and decide again.", *req.ExpectSeq)
	}
	if req.Generation != 0 {
		return Holds(lease, req.Generation)
	}
	for _, d := range drafts {
		if domain.RunnerOnly(d.Kind) {
			return domain.Errorf(domain.CodeStaleLease, "%s is written by the session's runner only, under its lease", d.Kind)
		}
	}
	return nil
}

// Holds checks that generation is the one that lease is held under. A lease past
// its time holds until somebody else takes it: the generation is what fences.
func Holds(lease domain.Lease, generation int64) error {
	switch {
	case lease.Generation != generation && lease.Holder != "":
		return domain.Errorf(domain.CodeStaleLease, "this lease (generation %d) was taken over by %s (generation %d)", generation, lease.Holder, lease.Generation).
			WithHint("Another process runs this session now; follow it there.")
	case lease.Generation != generation, lease.Holder == "":
		return domain.Errorf(domain.CodeStaleLease, "this lease (generation %d) is not held any more", generation).
			WithHint("Acquire the lease again before writing.")
	}
	return nil
}

// pending is a book that knows the events of the append itself too.
type pending struct {
	Book
	session domain.SessionID
	ids     []domain.EventID
}

// Event implements Book.
func (b *pending) Event(id domain.EventID) (domain.SessionID, bool, error) {
	if slices.Contains(b.ids, id) {
		return b.session, true, nil
	}
	return b.Book.Event(id)
}

// place gives e its id and parent and proves that what it points at exists.
func place(b *pending, leaf domain.EventID, e *domain.Event, p domain.Payload) error {
	if e.ID == "" {
		e.ID = domain.NewEventID()
	} else if slices.Contains(b.ids, e.ID) {
		return domain.Errorf(domain.CodeConflict, "event %s occurs twice in the append", e.ID)
	}
	if e.Parent == "" {
		e.Parent = leaf
		if to, ok := p.(domain.LeafMoved); ok {
			e.Parent = to.To
		}
	}
	if e.Parent != "" && e.Parent != leaf {
		session, ok, err := b.Event(e.Parent)
		if err != nil {
			return err
		}
		if !ok || session != e.Session {
			return domain.Errorf(domain.CodeInvalid, "the parent %s is not an event of this session", e.Parent)
		}
	}
	if e.CausedBy != "" && e.CausedBy != leaf {
		_, ok, err := b.Event(e.CausedBy)
		if !ok || err != nil {
			return wrap(err, domain.CodeInvalid, "%s was caused by %s, which is not in the ledger", e.Kind, e.CausedBy)
		}
	}
	return nil
}
