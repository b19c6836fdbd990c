package check

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	payloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "urn:worksite:audit:v1"
	eventDomain   = "worksite/event/v1\x00"
	saltSize      = 16
	notAsExported = "it is not in the form of an export"
)

type (
	sum      [32]byte // 64 hexadecimal digits
	hexBytes []byte

	cell struct {
		ID        string   `json:"id"`
		PublicKey hexBytes `json:"publicKey"`
	}
	keyFile struct {
		Cells []cell `json:"cells"`
	}
	envelope struct {
		PayloadType string `json:"payloadType"`
		Payload     []byte `json:"payload"`
		Signatures  []struct {
			KeyID string `json:"keyid"`
			Sig   []byte `json:"sig"`
		} `json:"signatures"`
	}
	statement struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string `json:"name"`
			Digest struct {
				SHA256 sum `json:"sha256"`
			} `json:"digest"`
		} `json:"subject"`
		PredicateType string    `json:"predicateType"`
		Predicate     predicate `json:"predicate"`
	}
	predicate struct {
		Product  string `json:"product"`
		Cell     string `json:"cell"`
		Size     int64  `json:"size"`
		Events   int64  `json:"events"`
		Sessions []struct {
			ID    string `json:"id"`
			First int64  `json:"first"`
			Last  int64  `json:"last"`
		} `json:"sessions"`
		Cells    []cell `json:"cells"`
		Redacted struct {
			Kinds     []string `json:"kinds"`
			Positions []int64  `json:"positions"`
		} `json:"redacted"`
		Absent []sum `json:"absent"`
	}
	event struct {
		Pos         int64    `json:"pos"`
		Session     string   `json:"session"`
		Seq         int64    `json:"seq"`
		ID          string   `json:"id"`
		Parent      string   `json:"parent"`
		CausedBy    string   `json:"causedBy"`
		Run         string   `json:"run"`
		Kind        string   `json:"kind"`
		CreatedAt   int64    `json:"createdAt"`
		Cell        string   `json:"cell"`
		Generation  int64    `json:"generation"`
		PayloadHash sum      `json:"payloadHash"`
		PrevHash    sum      `json:"prevHash"`
		Hash        sum      `json:"hash"`
		Sig         hexBytes `json:"sig"`
		Salt        hexBytes `json:"salt,omitempty"`
		Payload     []byte   `json:"payload,omitempty"`
		Redacted    *sum     `json:"redacted,omitempty"`
	}
	proofFile struct {
		Events []struct {
			Pos  int64       `json:"pos"`
			Path []tlog.Hash `json:"path"`
		} `json:"events"`
		Since []tlog.Hash `json:"since"`
	}
)

func (h sum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }
func (h *sum) UnmarshalText(b []byte) error {
	if len(b) != 2*len(h) {
		return hex.ErrLength
	}
	_, err := hex.Decode(h[:], b)
	return err
}

func (h hexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }
func (h *hexBytes) UnmarshalText(b []byte) (err error) {
	*h, err = hex.DecodeString(string(b))
	return err
}

// strict decodes a line of JSON that must be exactly what its content encodes to:
// printable ASCII that needs no escape, no null, nothing that v does not have.
func strict(raw []byte, v any) bool {
	if slices.ContainsFunc(bytes.TrimSuffix(raw, []byte("\n")), func(b byte) bool { return b < ' ' || b > '~' || b == '\\' }) ||
		bytes.Contains(raw, []byte(":null")) || json.Unmarshal(raw, v) != nil {
		return false
	}
	var again bytes.Buffer
	enc := json.NewEncoder(&again)
	enc.SetEscapeHTML(false)
	return enc.Encode(v) == nil && bytes.Equal(again.Bytes(), raw)
}

var ident = regexp.MustCompile(`^[A-Za-z0-9._-]{0,128}$`)

// wellFormed is what a line of events.ndjson must be beyond its JSON.
func (e *event) wellFormed() bool {
	for _, s := range [...]string{e.Session, e.ID, e.Parent, e.CausedBy, e.Run, e.Kind, e.Cell} {
		if !ident.MatchString(s) {
			return false
		}
	}
	if e.Redacted != nil {
		return e.Salt == nil && e.Payload == nil
	}
	return len(e.Salt) == saltSize && len(e.Payload) > 0
}

// hash is the hash of the header, in the byte layout of package sessions.
func (e *event) hash() (out sum) {
	b := []byte(eventDomain)
	for _, s := range [...]string{e.Session, e.ID, e.Parent, e.CausedBy, e.Run, e.Kind, e.Cell} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	for _, n := range [...]int64{e.Seq, e.Generation, e.CreatedAt} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return sha256.Sum256(append(append(b, e.PrevHash[:]...), e.PayloadHash[:]...))
}

func cellID(key []byte) string {
	h := sha256.Sum256(key)
	return "cell_" + hex.EncodeToString(h[:])[:26]
}

func (c cell) origin() string { return "worksite/" + c.ID }

func (c cell) verify(message, sig []byte) bool {
	return len(c.PublicKey) == ed25519.PublicKeySize && ed25519.Verify(ed25519.PublicKey(c.PublicKey), message, sig)
}

// vkey is the cell's key as a note verifier key.
func (c cell) vkey() string {
	s, _ := note.NewEd25519VerifierKey(c.origin(), ed25519.PublicKey(c.PublicKey)) // the length was checked
	return s
}

// pae is what a DSSE signature is over.
func pae(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}

// head is an opened checkpoint.
type head struct {
	size int64
	root tlog.Hash
}

// openHead checks the signature of a checkpoint by c and reads it. Nothing else may
// stand in it, and no base 64 may be spelled otherwise.
func openHead(raw []byte, c cell) (h head, ok bool) {
	v, err := note.NewVerifier(c.vkey())
	if err != nil {
		return h, false
	}
	n, err := note.Open(raw, note.VerifierList(v))
	if err != nil {
		return h, false
	}
	var root string
	_, err = fmt.Sscanf(n.Text, c.origin()+"\n%d\n%s\n", &h.size, &root)
	if err == nil {
		h.root, err = tlog.ParseHash(root)
	}
	sig, _ := base64.StdEncoding.DecodeString(n.Sigs[0].Base64) // note.Open did
	again := fmt.Sprintf("%s\n%d\n%s\n\n— %s %s\n", c.origin(), h.size, h.root, c.origin(), base64.StdEncoding.EncodeToString(sig))
	return h, err == nil && h.size > 0 && string(raw) == again
}
