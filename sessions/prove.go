package sessions

import (
	"context"
	"crypto/ed25519"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/mod/sumdb/tlog"

	"worksite/backend/domain"
)

// Head signs the log as it is now and returns the head, a C2SP tlog-checkpoint.
func (s *Store) Head(ctx context.Context) (string, error) {
	if err := s.submit(ctx, "sign head", (*writer).writeHead); err != nil {
		return "", err
	}
	var size int64
	var note string
	_, err := s.queryRow(ctx, qLastHead, nil, &size, &note)
	return note, s.explain("read head", err)
}

// Log reads the stored hashes of the Merkle log, for the proofs of package tlog.
func (s *Store) Log(ctx context.Context) tlog.HashReader {
	return hashReader(func(pos int64) (row []byte, err error) {
		_, err = s.queryRow(ctx, qTreeRow, []any{pos}, &row)
		return row, err
	})
}

// Key returns the public key of a cell that wrote in this ledger.
func (s *Store) Key(ctx context.Context, id domain.CellID) (ed25519.PublicKey, error) {
	known, err := cells(ctx, s.read)
	if err != nil {
		return nil, s.explain("read cells", err)
	}
	key, ok := known[id]
	if !ok {
		return nil, domain.Errorf(domain.CodeNotFound, "the key of %s is not in this ledger", id)
	}
	return key, nil
}

// SignEnvelope signs a DSSE payload by the cell's key. What it signs begins with
// "DSSEv1", so it can be taken neither for an event nor for a head.
func (s *Store) SignEnvelope(payloadType string, payload []byte) []byte {
	return ed25519.Sign(s.key, dsse.PAE(payloadType, payload))
}
