package domain

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
)

// Identifiers are a prefix and a ULID (26 characters of Crockford base 32,
// 48 bits of milliseconds and 80 random bits), so they sort roughly by age.
// Order in the ledger never comes from them, only from [Event.Seq].
type (
	SessionID   string // "ses_…": one durable conversation and its events
	RunID       string // "run_…": the work on one instruction
	EventID     string // a bare ULID: one fact in the ledger
	MessageID   string // "msg_…"
	CallID      string // "call_…": one tool call
	ApprovalID  string // "apr_…"
	WorkspaceID string // "wsp_…"
	ArtifactID  string // "art_…"
	CellID      string // "cell_…": derived from an installation's public key
)

var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// NewID returns prefix followed by a fresh ULID.
func NewID(prefix string) string {
	var raw [20]byte // 16 bytes of ULID, front-padded so that base 32 aligns as the ULID format wants
	ms := uint64(time.Now().UnixMilli())
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], ms<<16)
	if _, err := rand.Read(id[6:]); err != nil {
		panic("no system randomness: " + err.Error())
	}
	// A ULID is 130 bits with two leading zero bits: shift the 128 bits right by
	// two within 17 bytes, then take the first 26 digits.
	var carry byte
	for i, b := range id {
		raw[i] = carry | b>>2
		carry = b << 6
	}
	raw[16] = carry
	return prefix + strings.ToUpper(crockford.EncodeToString(raw[:])[:26])
}

// Constructors for each kind of identifier.
func NewSessionID() SessionID     { return SessionID(NewID("ses_")) }
func NewRunID() RunID             { return RunID(NewID("run_")) }
func NewEventID() EventID         { return EventID(NewID("")) }
func NewMessageID() MessageID     { return MessageID(NewID("msg_")) }
func NewCallID() CallID           { return CallID(NewID("call_")) }
func NewApprovalID() ApprovalID   { return ApprovalID(NewID("apr_")) }
func NewWorkspaceID() WorkspaceID { return WorkspaceID(NewID("wsp_")) }
func NewArtifactID() ArtifactID   { return ArtifactID(NewID("art_")) }
