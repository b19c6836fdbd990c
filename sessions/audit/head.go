package audit

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"worksite/backend/domain"
)

// head is an opened checkpoint.
type head struct {
	note []byte
	cell domain.CellID
	size int64
	root tlog.Hash
}

func origin(cell domain.CellID) string { return "worksite/" + string(cell) }

// open reads a head and checks its signature.
func (x *exporter) open(raw []byte) (head, error) {
	h := head{note: raw}
	var root string
	if _, err := fmt.Sscanf(string(raw), "worksite/%s\n%d\n%s\n", &h.cell, &h.size, &root); err != nil {
		return h, fmt.Errorf("not a head of a ledger: %w", err)
	}
	var err error
	if h.root, err = tlog.ParseHash(root); err != nil {
		return h, err
	}
	key, err := x.ledger.Key(x.ctx, h.cell)
	if err != nil {
		return h, err
	}
	vkey, err := note.NewEd25519VerifierKey(origin(h.cell), key)
	if err != nil {
		return h, err
	}
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return h, err
	}
	if h.size < 1 {
		return h, errors.New("the head is of an empty log")
	}
	_, err = note.Open(raw, note.VerifierList(v))
	return h, err
}

// maxHead is more than a head ever has; a file is read no further.
const maxHead = 64 << 10

// HeadOf reads the head out of an earlier audit export, or a head that stands in
// a file by itself. It checks nothing; [Write] does.
func HeadOf(r io.Reader) ([]byte, error) {
	in := bufio.NewReader(r)
	if lead, err := in.Peek(len("worksite/")); err == nil && string(lead) == "worksite/" {
		return io.ReadAll(io.LimitReader(in, maxHead))
	}
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "this is neither an audit export nor a head: %w", err)
		}
		if h.Name == "checkpoint.txt" {
			return io.ReadAll(io.LimitReader(t, maxHead))
		}
	}
}
