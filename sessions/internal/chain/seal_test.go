package chain

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"worksite/backend/domain"
)

var update = flag.Bool("update", false, "write testdata/vector.json if it is missing")

const vectorFile = "testdata/vector.json"

// vector is what a verifier in another language is tested against.
type vector struct {
	PublicKey domain.Hex   `json:"publicKey"`
	Event     domain.Event `json:"event"`
}

func sample() (domain.Event, ed25519.PrivateKey) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	e := domain.Event{
		Pos: 1, Session: "ses_01M8KZ00000000000000000SES", Seq: 2, ID: "01M8KZ0000000000000000EVNT", Parent: "01M8KZ000000000000000PARNT",
		CausedBy: "01M8KZ0000000000000000CAUS", Run: "run_01M8KZ00000000000000000RUN", Kind: "message.sent",
		CreatedAt: time.Date(2026, 11, 29, 12, 0, 0, 123456000, time.UTC), Cell: CellID(key.Public().(ed25519.PublicKey)), Generation: 3,
		Payload: json.RawMessage(`{"messageId":"msg_1","text":"März & <b>","v":1}`), Salt: bytes.Repeat([]byte{9}, SaltSize), PrevHash: domain.HashBytes([]byte("before")),
	}
	e.PayloadHash = PayloadHash(e.Salt, e.Payload)
	e.Hash = Hash(&e)
	one := []domain.Event{e}
	Sign(one, key)
	return one[0], key
}

// R64: the byte layout of the documentation, put together here a second time.
func TestHashFollowsTheDocumentedLayout(t *testing.T) {
	e, key := sample()
	var b bytes.Buffer
	u64 := func(v uint64) { _ = binary.Write(&b, binary.BigEndian, v) }
	lp := func(s string) { _ = binary.Write(&b, binary.BigEndian, uint32(len(s))); b.WriteString(s) }
	b.WriteString("worksite/event/v1")
	b.WriteByte(0)
	lp("ses_01M8KZ00000000000000000SES")
	lp("01M8KZ0000000000000000EVNT")
	lp("01M8KZ000000000000000PARNT")
	lp("01M8KZ0000000000000000CAUS")
	lp("run_01M8KZ00000000000000000RUN")
	lp("message.sent")
	lp(string(e.Cell))
	u64(2)
	u64(3)
	u64(uint64(1795953600123456))
	prev := sha256.Sum256([]byte("before"))
	b.Write(prev[:])
	payload := sha256.Sum256(append(bytes.Repeat([]byte{9}, 16), []byte(`{"messageId":"msg_1","text":"März & <b>","v":1}`)...))
	b.Write(payload[:])
	if want := sha256.Sum256(b.Bytes()); e.Hash != domain.Hash(want) {
		t.Errorf("hash %s, by the documentation %x", e.Hash, want)
	}
	public := key.Public().(ed25519.PublicKey)
	id := sha256.Sum256(public)
	if want := "cell_" + hex.EncodeToString(id[:])[:26]; string(e.Cell) != want {
		t.Errorf("cell %s, by the documentation %s", e.Cell, want)
	}
	if !ed25519.Verify(public, e.Hash[:], e.Sig) {
		t.Error("the signature is not over the hash")
	}
}

// The layout never changes: what was once written must verify for ever.
func TestVectorVerifiesForEver(t *testing.T) {
	e, key := sample()
	if _, err := os.Stat(vectorFile); *update && os.IsNotExist(err) {
		raw, err := json.MarshalIndent(vector{PublicKey: domain.Hex(key.Public().(ed25519.PublicKey)), Event: e}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorFile, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	var v vector
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if v.Event.Payload, err = Canonical(v.Event.Payload); err != nil { // the file is indented
		t.Fatal(err)
	}
	if err := Check(&v.Event, ed25519.PublicKey(v.PublicKey)); err != nil {
		t.Error(err)
	}
	if v.Event.Hash != e.Hash || !bytes.Equal(v.Event.Sig, e.Sig) {
		t.Errorf("hash and signature are different now: %s", e.Hash)
	}
}

// R64: every field is covered.
func TestCheckFindsEveryChange(t *testing.T) {
	for name, change := range map[string]func(*domain.Event){
		"session":      func(e *domain.Event) { e.Session += "x" },
		"seq":          func(e *domain.Event) { e.Seq++ },
		"id":           func(e *domain.Event) { e.ID = "x" },
		"parent":       func(e *domain.Event) { e.Parent, e.CausedBy = e.CausedBy, e.Parent },
		"boundary":     func(e *domain.Event) { e.ID, e.Parent = e.ID+e.Parent[:1], e.Parent[1:] },
		"run":          func(e *domain.Event) { e.Run = "" },
		"kind":         func(e *domain.Event) { e.Kind = "message.queued" },
		"created at":   func(e *domain.Event) { e.CreatedAt = e.CreatedAt.Add(time.Microsecond) },
		"cell":         func(e *domain.Event) { e.Cell = "cell_x" },
		"generation":   func(e *domain.Event) { e.Generation = 0 },
		"payload":      func(e *domain.Event) { e.Payload = json.RawMessage(`{}`) },
		"salt":         func(e *domain.Event) { e.Salt = append(domain.Hex{1}, e.Salt...) },
		"payload hash": func(e *domain.Event) { e.PayloadHash[31] ^= 1 },
		"prev hash":    func(e *domain.Event) { e.PrevHash[0] ^= 1 },
		"hash":         func(e *domain.Event) { e.Hash[0] ^= 1 },
		"sig":          func(e *domain.Event) { e.Sig = append(domain.Hex{}, e.Sig...); e.Sig[5] ^= 1 },
	} {
		e, key := sample()
		public := key.Public().(ed25519.PublicKey)
		if err := Check(&e, public); err != nil {
			t.Fatal(err)
		}
		if change(&e); Check(&e, public) == nil {
			t.Errorf("a changed %s is not found", name)
		}
	}
	e, key := sample()
	e.Payload, e.Salt = nil, nil
	if err := Check(&e, key.Public().(ed25519.PublicKey)); err != nil || !Redacted(&e) {
		t.Errorf("a tombstone: %v", err)
	}
	if Check(&e, nil) == nil {
		t.Error("without a key nothing is proven")
	}
}

func TestSignOnSeveralCores(t *testing.T) {
	_, key := sample()
	for n := range 20 {
		events := make([]domain.Event, n)
		for i := range events {
			events[i].Hash = domain.HashBytes([]byte{byte(i)})
		}
		Sign(events, key)
		for i := range events {
			if !ed25519.Verify(key.Public().(ed25519.PublicKey), events[i].Hash[:], events[i].Sig) {
				t.Fatalf("event %d of %d has no good signature", i, n)
			}
		}
	}
}

// The golden payloads of every kind are hashed as the same bytes for ever.
func TestGoldenPayloadsStayCanonical(t *testing.T) {
	const dir = "../../../backend/domain/testdata/events/"
	for kind := range domain.Kinds() {
		raw, err := os.ReadFile(dir + string(kind) + ".json")
		if err != nil {
			t.Error(err)
			continue
		}
		p, err := domain.DecodePayload(kind, raw)
		if err != nil {
			t.Error(err)
			continue
		}
		want, err := Canonical(raw)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := Encode(p); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %s %v\nwant %s", kind, got, err, want)
		}
	}
}
