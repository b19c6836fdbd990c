package audit

import (
	"bytes"
	"encoding/json"
	"regexp"

	"worksite/backend/domain"
)

const (
	payloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "urn:worksite:audit:v1"
)

// The order of fields and the absence of anything that JSON would escape are part
// of the format: verifiers refuse every other spelling.
type (
	digest  struct{ SHA256 domain.Hex } // see MarshalJSON
	subject struct {
		Name   string `json:"name"`
		Digest digest `json:"digest"`
	}
	statement struct {
		Type          string    `json:"_type"`
		Subject       []subject `json:"subject"` // the log's root, then every member
		PredicateType string    `json:"predicateType"`
		Predicate     predicate `json:"predicate"`
	}
	predicate struct {
		Product  string        `json:"product"`
		Cell     domain.CellID `json:"cell"` // that signs
		Size     int64         `json:"size"` // of the log
		Events   int64         `json:"events"`
		Sessions []span        `json:"sessions"`
		Cells    []domain.Cell `json:"cells"` // as in keys.json
		Redacted redactions    `json:"redacted"`
		Absent   []domain.Hash `json:"absent"` // blobs that events name and the file does not have
	}
	span struct {
		ID    domain.SessionID `json:"id"`
		First int64            `json:"first"` // seq
		Last  int64            `json:"last"`  // seq
	}
	redactions struct {
		Kinds     []domain.Kind `json:"kinds"`     // that the caller asked for
		Positions []int64       `json:"positions"` // without content, ascending
	}
	line struct {
		Pos         int64            `json:"pos"`
		Session     domain.SessionID `json:"session"`
		Seq         int64            `json:"seq"`
		ID          domain.EventID   `json:"id"`
		Parent      domain.EventID   `json:"parent"`
		CausedBy    domain.EventID   `json:"causedBy"`
		Run         domain.RunID     `json:"run"`
		Kind        domain.Kind      `json:"kind"`
		CreatedAt   int64            `json:"createdAt"` // microseconds since 1970
		Cell        domain.CellID    `json:"cell"`
		Generation  int64            `json:"generation"`
		PayloadHash domain.Hex       `json:"payloadHash"`
		PrevHash    domain.Hex       `json:"prevHash"`
		Hash        domain.Hex       `json:"hash"`
		Sig         domain.Hex       `json:"sig"`
		Salt        domain.Hex       `json:"salt,omitempty"`
		Payload     []byte           `json:"payload,omitempty"`
		Redacted    domain.Hex       `json:"redacted,omitempty"`
	}
)

// MarshalJSON writes an in-toto digest set.
func (d digest) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		SHA256 domain.Hex `json:"sha256"`
	}{d.SHA256})
}

// lineOf is an event as it stands in events.ndjson. A redacted one shows neither
// its payload nor its salt, without which a short payload could be guessed.
func lineOf(e *domain.Event, redacted bool) line {
	l := line{
		Pos: e.Pos, Session: e.Session, Seq: e.Seq, ID: e.ID, Parent: e.Parent, CausedBy: e.CausedBy, Run: e.Run, Kind: e.Kind,
		CreatedAt: e.CreatedAt.UnixMicro(), Cell: e.Cell, Generation: e.Generation,
		PayloadHash: e.PayloadHash[:], PrevHash: e.PrevHash[:], Hash: e.Hash[:], Sig: e.Sig,
	}
	if redacted {
		l.Redacted = e.PayloadHash[:]
	} else {
		l.Salt, l.Payload = e.Salt, e.Payload
	}
	return l
}

var ident = regexp.MustCompile(`^[A-Za-z0-9._-]{0,128}$`)

// checkNames refuses what could be spelled in more than one way.
func checkNames(e *domain.Event) error {
	for _, s := range [...]string{string(e.Session), string(e.ID), string(e.Parent), string(e.CausedBy), string(e.Run), string(e.Kind), string(e.Cell)} {
		if !ident.MatchString(s) {
			return domain.Errorf(domain.CodeInvalid, "event %d of %s has the name %q in it, which an audit export cannot carry", e.Seq, e.Session, s).
				WithHint("Export it without --format audit.")
		}
	}
	return nil
}

// encode is one line of JSON with its newline.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.Bytes(), err
}
