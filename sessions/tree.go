package sessions

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"worksite/backend/domain"
)

// levels bounds the height of the log: more than there will ever be.
const levels = 48

// treeLog is the right edge of the Merkle log: where bit l of size is set, top[l]
// is the hash of the complete subtree of 2^l leaves that waits for its right
// sibling. It is all that is needed to add a leaf or to compute the root.
type treeLog struct {
	size int64
	top  [levels]tlog.Hash
	note string // a head signed in this transaction, to be published after the commit
}

// add appends a leaf and returns the hashes that it completes, level 0 first.
func (t *treeLog) add(event domain.Hash) []byte {
	h := tlog.RecordHash(event[:])
	done := bits.TrailingZeros64(^uint64(t.size)) // complete subtrees that end with this leaf
	out := make([]byte, 0, 32*(done+1))
	out = append(out, h[:]...)
	for l := range done {
		h = tlog.NodeHash(t.top[l], h)
		out = append(out, h[:]...)
	}
	t.top[done] = h
	t.size++
	return out
}

// root is the Merkle tree hash (RFC 6962) over all leaves so far.
func (t *treeLog) root() domain.Hash {
	if t.size == 0 {
		return domain.Hash(sha256.Sum256(nil))
	}
	var h tlog.Hash
	first := true
	for l := range levels {
		switch {
		case t.size>>l&1 == 0:
		case first:
			h, first = t.top[l], false
		default:
			h = tlog.NodeHash(t.top[l], h)
		}
	}
	return domain.Hash(h)
}

// load reads the right edge from the stored hashes.
func (t *treeLog) load(c *conn) error {
	*t = treeLog{}
	if _, err := c.get(qLastPos, nil, &t.size); err != nil {
		return err
	}
	for l := 0; t.size>>l > 0; l++ {
		if t.size>>l&1 == 0 {
			continue
		}
		h, err := storedHash(c.treeRow, l, t.size>>l-1)
		if err != nil {
			return err
		}
		t.top[l] = h
	}
	return nil
}

// errLogGap is a log that lacks a hash which its events imply.
var errLogGap = errors.New("the log has a gap")

// rowReader reads the row of the log at a position; nil when there is none.
type rowReader func(pos int64) ([]byte, error)

// treeRow reads the log inside the writer's transaction.
func (c *conn) treeRow(pos int64) (row []byte, err error) {
	_, err = c.get(qTreeRow, []any{pos}, &row)
	return row, err
}

// storedHash reads hash n of a level: it stands in the row of the leaf that completed it.
func storedHash(read rowReader, level int, n int64) (h tlog.Hash, err error) {
	row, err := read((n + 1) << level)
	if err != nil {
		return h, err
	}
	if len(row) < 32*(level+1) {
		return h, fmt.Errorf("%w: hash %d of level %d", errLogGap, n, level)
	}
	copy(h[:], row[32*level:])
	return h, nil
}

// hashReader reads stored hashes for proofs.
func hashReader(read rowReader) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			level, n := tlog.SplitStoredHashIndex(x)
			h, err := storedHash(read, level, n)
			if err != nil {
				return nil, err
			}
			out[i] = h
		}
		return out, nil
	})
}

// Origin is the first line of a cell's checkpoints and the name of its note key.
func Origin(cell domain.CellID) string { return "worksite/" + string(cell) }

// writeHead signs the log as it is in this transaction.
func (w *writer) writeHead() error {
	text, err := signCheckpoint(w.s.cell.ID, w.s.key, w.log.size, w.log.root())
	if err != nil {
		return err
	}
	root := w.log.root()
	if _, err := w.exec(qInsertHead, w.log.size, root[:], text); err != nil {
		return err
	}
	w.log.note, w.headed, w.headAt = text, w.log.size, time.Now()
	return nil
}

// signCheckpoint makes a C2SP tlog-checkpoint: origin, size and root as a signed note.
func signCheckpoint(cell domain.CellID, key ed25519.PrivateKey, size int64, root domain.Hash) (string, error) {
	text := fmt.Sprintf("%s\n%d\n%s\n", Origin(cell), size, base64.StdEncoding.EncodeToString(root[:]))
	signed, err := note.Sign(&note.Note{Text: text}, noteSigner{name: Origin(cell), key: key})
	if err != nil {
		return "", fmt.Errorf("sign head: %w", err)
	}
	return string(signed), nil
}

// checkpoint is an opened head.
type checkpoint struct {
	cell domain.CellID
	size int64
	root domain.Hash
}

var errCheckpoint = errors.New("not a checkpoint of a Worksite ledger")

// parseCheckpoint reads a head without checking its signature.
func parseCheckpoint(text string) (checkpoint, error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 {
		return checkpoint{}, errCheckpoint
	}
	cell, ok := strings.CutPrefix(lines[0], "worksite/")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	root, err2 := base64.StdEncoding.DecodeString(lines[2])
	if !ok || err != nil || err2 != nil || size < 0 || len(root) != 32 {
		return checkpoint{}, errCheckpoint
	}
	return checkpoint{cell: domain.CellID(cell), size: size, root: domain.Hash(root)}, nil
}

// openCheckpoint reads a head and checks its signature against the cells' keys.
func openCheckpoint(text string, cells map[domain.CellID]ed25519.PublicKey) (checkpoint, error) {
	cp, err := parseCheckpoint(text)
	if err != nil {
		return cp, err
	}
	key, ok := cells[cp.cell]
	if !ok {
		return cp, fmt.Errorf("the head is signed by %s, whose key is not known", cp.cell)
	}
	vkey, err := note.NewEd25519VerifierKey(Origin(cp.cell), key)
	if err != nil {
		return cp, err
	}
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return cp, err
	}
	if _, err := note.Open([]byte(text), note.VerifierList(v)); err != nil {
		return cp, err
	}
	return cp, nil
}

// noteSigner signs notes with the cell's key.
type noteSigner struct {
	name string
	key  ed25519.PrivateKey
}

// Name implements note.Signer.
func (s noteSigner) Name() string { return s.name }

// KeyHash implements note.Signer: the first four bytes of SHA-256 over
// name, newline, algorithm 1 and the public key.
func (s noteSigner) KeyHash() uint32 {
	h := sha256.New()
	h.Write([]byte(s.name + "\n\x01"))
	h.Write(s.key.Public().(ed25519.PublicKey))
	return binary.BigEndian.Uint32(h.Sum(nil))
}

// Sign implements note.Signer.
func (s noteSigner) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(s.key, msg), nil }
