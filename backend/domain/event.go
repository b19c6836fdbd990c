package domain

import (
	"encoding/json"
	"time"
)

// Event is one immutable fact in the ledger, as stored.
//
// Seq is gap-free from 1 within a session and is the only order. Parent makes
// the conversation tree; CausedBy names the event that led to this one. Hash
// covers every other field but Sig and Pos, and PrevHash chains it to the
// event before it in the same session (32 zero bytes for the first).
type Event struct {
	Pos         int64           `json:"pos"` // position in the whole ledger, gap-free from 1; the cursor of streams
	Session     SessionID       `json:"session"`
	Seq         int64           `json:"seq"`
	ID          EventID         `json:"id"`
	Parent      EventID         `json:"parent,omitempty"`
	CausedBy    EventID         `json:"causedBy,omitempty"`
	Run         RunID           `json:"run,omitempty"`
	Kind        Kind            `json:"kind"`
	CreatedAt   time.Time       `json:"createdAt"` // UTC, microseconds; for people, never for order
	Cell        CellID          `json:"cell"`
	Generation  int64           `json:"generation"` // fencing token of the lease it was written under; 0 for what a person did
	Payload     json.RawMessage `json:"payload"`    // canonical JSON (RFC 8785) of the kind's payload struct
	PayloadHash Hash            `json:"payloadHash"`
	PrevHash    Hash            `json:"prevHash"`
	Hash        Hash            `json:"hash"`
	Salt        Hex             `json:"salt"` // 16 random bytes hashed in front of the payload, so that a redacted one cannot be guessed
	Sig         Hex             `json:"sig"`  // Ed25519 over Hash by the cell's key
}

// Draft is an event before the ledger gave it a position. Zero ID and Parent
// are filled in: a fresh ULID, and the session's current leaf.
type Draft struct {
	ID       EventID
	Parent   EventID
	CausedBy EventID
	Run      RunID
	Payload  Payload
}

// Payload is the content of one kind of event. There is one struct per kind;
// it carries its version in the field V and is never reused for another kind.
type Payload interface{ Kind() Kind }

// AppendRequest asks the ledger for one atomic append.
type AppendRequest struct {
	Session SessionID
	// Generation is the fencing token of the session's lease. Kinds that only
	// a runner writes (see [RunnerOnly]) are refused under any other than the
	// current generation; 0 marks what a person did.
	Generation int64
	// ExpectSeq, when not nil, is the last Seq the caller has seen; the append is
	// refused with CodeConflict when the session has moved on.
	ExpectSeq *int64
	Drafts    []Draft
}

// Span selects events of a session: those with After < Seq, in order, at most
// Limit (0: all).
type Span struct {
	After int64
	Limit int
}

// Lease is the exclusive, time-limited right to run a session.
type Lease struct {
	Session    SessionID `json:"session"`
	Holder     string    `json:"holder"` // the cell and a name of the process
	Generation int64     `json:"generation"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// Cell is the identity of one installation.
type Cell struct {
	ID        CellID `json:"id"`
	PublicKey Hex    `json:"publicKey"`
}
