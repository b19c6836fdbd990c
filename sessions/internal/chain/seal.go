package chain

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"runtime"
	"sync"

	"worksite/backend/domain"
)

// Domain separates the hash of an event from every other use of SHA-256.
const Domain = "worksite/event/v1\x00"

// SaltSize is the number of random bytes hashed in front of a payload.
const SaltSize = 16

// What can be wrong with one event; each is found by [Check].
var (
	ErrPayload   = errors.New("the payload does not match its hash")
	ErrHash      = errors.New("the header does not match the event's hash")
	ErrSignature = errors.New("the signature does not match the cell's key")
)

// CellID derives the identity of a cell from its public key.
func CellID(key ed25519.PublicKey) domain.CellID {
	sum := sha256.Sum256(key)
	return domain.CellID("cell_" + hex.EncodeToString(sum[:])[:26])
}

// PayloadHash is SHA-256 over the salt and the canonical payload.
func PayloadHash(salt, payload []byte) (out domain.Hash) {
	h := sha256.New()
	h.Write(salt)
	h.Write(payload)
	h.Sum(out[:0])
	return out
}

// Hash is the hash of an event's header; see package sessions for the layout.
func Hash(e *domain.Event) domain.Hash {
	var room [512]byte
	b := append(room[:0], Domain...)
	for _, s := range [...]string{
		string(e.Session), string(e.ID), string(e.Parent), string(e.CausedBy),
		string(e.Run), string(e.Kind), string(e.Cell),
	} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Generation))
	b = binary.BigEndian.AppendUint64(b, uint64(e.CreatedAt.UnixMicro()))
	b = append(b, e.PrevHash[:]...)
	b = append(b, e.PayloadHash[:]...)
	return sha256.Sum256(b)
}

// Sign fills in the signatures of events whose Hash is set, on several cores
// when there are several: it is the dearest step of an append.
func Sign(events []domain.Event, key ed25519.PrivateKey) {
	const fewest = 3 // that a goroutine is worth
	workers := min(runtime.GOMAXPROCS(0), len(events)/fewest)
	if workers < 2 {
		sign(events, key)
		return
	}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { sign(events[len(events)*i/workers:len(events)*(i+1)/workers], key) })
	}
	wg.Wait()
}

func sign(events []domain.Event, key ed25519.PrivateKey) {
	for i := range events {
		events[i].Sig = ed25519.Sign(key, events[i].Hash[:])
	}
}

// Redacted reports whether e is a tombstone: its content was deleted for good,
// what is left still carries the chain.
func Redacted(e *domain.Event) bool { return len(e.Payload) == 0 && len(e.Salt) == 0 }

// Check proves that e is what the cell with the given key once wrote. The
// payload of a tombstone cannot be checked, its header can.
func Check(e *domain.Event, key ed25519.PublicKey) error {
	if !Redacted(e) && PayloadHash(e.Salt, e.Payload) != e.PayloadHash {
		return ErrPayload
	}
	if Hash(e) != e.Hash {
		return ErrHash
	}
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, e.Hash[:], e.Sig) {
		return ErrSignature
	}
	return nil
}
