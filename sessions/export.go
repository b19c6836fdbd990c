package sessions

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"worksite/backend/domain"
	"worksite/sessions/internal/chain"
)

const (
	exportFormat  = "worksite-session"
	exportVersion = 1
	maxLine       = 4 * chain.MaxPayload
)

type (
	// ExportHeader is the first line of an exported session. With the events that
	// follow it is enough to verify them offline: every signature, the chain, and
	// that the last event (and through its chain all of them) is in the ledger that
	// the checkpoint signs.
	ExportHeader struct {
		Format     string           `json:"format"`
		Version    int              `json:"version"`
		Cell       domain.CellID    `json:"cell"` // that exported it and signed the checkpoint
		PublicKey  domain.Hex       `json:"publicKey"`
		Checkpoint string           `json:"checkpoint"` // C2SP tlog-checkpoint
		Cells      []domain.Cell    `json:"cells"`      // every cell that wrote in the session
		Session    domain.SessionID `json:"session"`
		Events     int64            `json:"events"` // lines that follow
		LastHash   domain.Hash      `json:"lastHash"`
		LastPos    int64            `json:"lastPos"` // of the last event in that ledger
		Proof      []domain.Hash    `json:"proof"`   // RFC 6962 inclusion proof of the last event
	}
	// exportLine is an event as stored, without the position, which belongs to a
	// ledger and not to the session.
	exportLine struct {
		Session     domain.SessionID `json:"session"`
		Seq         int64            `json:"seq"`
		ID          domain.EventID   `json:"id"`
		Parent      domain.EventID   `json:"parent,omitempty"`
		CausedBy    domain.EventID   `json:"causedBy,omitempty"`
		Run         domain.RunID     `json:"run,omitempty"`
		Kind        domain.Kind      `json:"kind"`
		CreatedAt   time.Time        `json:"createdAt"`
		Cell        domain.CellID    `json:"cell"`
		Generation  int64            `json:"generation"`
		Payload     json.RawMessage  `json:"payload"`
		PayloadHash domain.Hash      `json:"payloadHash"`
		PrevHash    domain.Hash      `json:"prevHash"`
		Hash        domain.Hash      `json:"hash"`
		Salt        domain.Hex       `json:"salt"`
		Sig         domain.Hex       `json:"sig"`
	}
)

func lineOf(e *domain.Event) exportLine {
	return exportLine{
		Session: e.Session, Seq: e.Seq, ID: e.ID, Parent: e.Parent, CausedBy: e.CausedBy, Run: e.Run, Kind: e.Kind,
		CreatedAt: e.CreatedAt, Cell: e.Cell, Generation: e.Generation, Payload: e.Payload,
		PayloadHash: e.PayloadHash, PrevHash: e.PrevHash, Hash: e.Hash, Salt: e.Salt, Sig: e.Sig,
	}
}

func (l exportLine) event() domain.Event {
	return domain.Event{
		Session: l.Session, Seq: l.Seq, ID: l.ID, Parent: l.Parent, CausedBy: l.CausedBy, Run: l.Run, Kind: l.Kind,
		CreatedAt: l.CreatedAt.UTC(), Cell: l.Cell, Generation: l.Generation, Payload: l.Payload,
		PayloadHash: l.PayloadHash, PrevHash: l.PrevHash, Hash: l.Hash, Salt: l.Salt, Sig: l.Sig,
	}
}

// encodeLine is the line of an event, with its newline.
func encodeLine(e *domain.Event) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // payloads must stay byte for byte
	err := enc.Encode(lineOf(e))
	return out.Bytes(), err
}

// Export writes a session as NDJSON: an [ExportHeader], then its events exactly
// as stored, in order.
func (s *Store) Export(ctx context.Context, id domain.SessionID, out io.Writer) error {
	if err := s.submit(ctx, "export session", (*writer).writeHead); err != nil {
		return err
	}
	header, err := s.exportHeader(ctx, id)
	if err != nil {
		return s.explain("export session", err)
	}
	buf := bufio.NewWriterSize(out, 64<<10)
	if err := json.NewEncoder(buf).Encode(header); err != nil {
		return err
	}
	for after := int64(0); after < header.Events; {
		page, err := s.Read(ctx, id, domain.Span{After: after, Limit: int(min(500, header.Events-after))})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return domain.Errorf(domain.CodeConflict, "session %s was deleted meanwhile", id)
		}
		for i := range page {
			line, err := encodeLine(&page[i])
			if err != nil {
				return err
			}
			if _, err := buf.Write(line); err != nil {
				return err
			}
		}
		after = page[len(page)-1].Seq
	}
	return buf.Flush()
}

func (s *Store) exportHeader(ctx context.Context, id domain.SessionID) (ExportHeader, error) {
	h := ExportHeader{
		Format: exportFormat, Version: exportVersion, Cell: s.cell.ID, PublicKey: s.cell.PublicKey, Session: id,
	}
	if err := s.exists(ctx, id); err != nil {
		return h, err
	}
	var size int64
	if _, err := s.queryRow(ctx, qLastHead, nil, &size, &h.Checkpoint); err != nil {
		return h, err
	}
	// Up to the signed head; what comes after is not covered by it.
	var hash []byte
	ok, err := s.queryRow(ctx, "SELECT seq, pos, hash FROM event WHERE session = ? AND pos <= ? ORDER BY seq DESC LIMIT 1", []any{string(id), size}, &h.Events, &h.LastPos, &hash)
	if err != nil || !ok {
		return h, orNotFound(err, id)
	}
	copy(h.LastHash[:], hash)
	known, err := cells(ctx, s.read)
	if err != nil {
		return h, err
	}
	rows, err := s.read.QueryContext(ctx, "SELECT DISTINCT cell FROM event WHERE session = ? ORDER BY cell", string(id))
	if err != nil {
		return h, err
	}
	defer rows.Close()
	for rows.Next() {
		var cell domain.CellID
		if err := rows.Scan(&cell); err != nil {
			return h, err
		}
		h.Cells = append(h.Cells, domain.Cell{ID: cell, PublicKey: domain.Hex(known[cell])})
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return h, err
	}
	proof, err := tlog.ProveRecord(size, h.LastPos-1, hashReader(func(pos int64) (row []byte, err error) {
		_, err = s.queryRow(ctx, qTreeRow, []any{pos}, &row)
		return row, err
	}))
	h.Proof = make([]domain.Hash, len(proof))
	for i, p := range proof {
		h.Proof[i] = domain.Hash(p)
	}
	return h, err
}

// Import reads what [Store.Export] wrote, proves every event of it, and adds the
// session with its identifiers, hashes and signatures as they are. A damaged
// file is refused, naming the first bad event; a session that is here already
// (or was deleted here) is CodeConflict.
func (s *Store) Import(ctx context.Context, in io.Reader) (domain.SessionID, error) {
	header, events, keys, err := readExport(in)
	if err != nil {
		return "", err
	}
	err = s.submit(ctx, "import session", func(w *writer) error { return w.importEvents(header.Session, events, keys) })
	if err != nil {
		return "", err
	}
	return header.Session, nil
}

func (w *writer) importEvents(id domain.SessionID, events []domain.Event, keys map[domain.CellID]ed25519.PublicKey) error {
	tail, err := w.tail(id)
	if err != nil {
		return err
	}
	if tail.Exists() {
		return domain.Errorf(domain.CodeConflict, "session %s is in this ledger already", id)
	}
	if err := w.refuseDeleted(id); err != nil {
		return domain.Errorf(domain.CodeConflict, "session %s was deleted for good in this ledger", id).
			WithHint("Import it with another data folder (WORKSITE_HOME).")
	}
	if err := w.addCells(keys); err != nil {
		return err
	}
	for i := range events {
		if tail, err = w.adopt(tail, &events[i]); err != nil {
			return err
		}
	}
	return w.save(tail, false, true)
}

// broken names the first event of a file that cannot be trusted.
func broken(seq int64, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return domain.Errorf(domain.CodeInvalid, "event %d of the file is damaged: %w", seq, err).
		WithHint("Nothing was imported. Export the session again, or take an undamaged copy of the file.")
}

// readExport reads and proves a whole exported session.
func readExport(in io.Reader) (h ExportHeader, events []domain.Event, keys map[domain.CellID]ed25519.PublicKey, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	if !lines.Scan() {
		return h, nil, nil, errors.Join(lines.Err(), domain.Errorf(domain.CodeInvalid, "the file is empty"))
	}
	if keys, err = readHeader(lines.Bytes(), &h); err != nil {
		return h, nil, nil, err
	}
	c := checker{header: h, keys: keys, seen: map[domain.EventID]bool{}}
	for lines.Scan() {
		e, err := c.next(lines.Bytes())
		if err != nil {
			return h, nil, nil, err
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		return h, nil, nil, broken(c.seq+1, "%w", err)
	}
	return h, events, keys, c.end()
}

func readHeader(line []byte, h *ExportHeader) (map[domain.CellID]ed25519.PublicKey, error) {
	if err := json.Unmarshal(line, h); err != nil || h.Format != exportFormat {
		return nil, domain.Errorf(domain.CodeInvalid, "this is not an exported session of Worksite")
	}
	if h.Version > exportVersion {
		return nil, domain.Errorf(domain.CodeInvalid, "the file has format version %d, this Worksite reads %d", h.Version, exportVersion).
			WithHint("Install a newer Worksite.")
	}
	keys := map[domain.CellID]ed25519.PublicKey{}
	for _, c := range append(h.Cells, domain.Cell{ID: h.Cell, PublicKey: h.PublicKey}) {
		if len(c.PublicKey) != ed25519.PublicKeySize || chain.CellID(ed25519.PublicKey(c.PublicKey)) != c.ID {
			return nil, domain.Errorf(domain.CodeInvalid, "the header of the file is damaged: the key of %s does not belong to it", c.ID)
		}
		keys[c.ID] = ed25519.PublicKey(c.PublicKey)
	}
	return keys, nil
}

// checker proves the events of a file one after the other.
type checker struct {
	header ExportHeader
	keys   map[domain.CellID]ed25519.PublicKey
	seq    int64
	hash   domain.Hash
	seen   map[domain.EventID]bool
}

func (c *checker) next(line []byte) (domain.Event, error) {
	var l exportLine
	want := c.seq + 1
	if err := json.Unmarshal(line, &l); err != nil {
		return domain.Event{}, broken(want, "%w", err)
	}
	e := l.event()
	if again, err := encodeLine(&e); err != nil || !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), line) {
		return e, broken(want, "the line is not as it was exported")
	}
	switch {
	case e.Seq != want || e.Session != c.header.Session:
		return e, broken(want, "it is event %d of %s", e.Seq, e.Session)
	case e.PrevHash != c.hash:
		return e, broken(want, "it does not follow the event before it")
	case e.ID == "" || c.seen[e.ID]:
		return e, broken(want, "its id %q is not its own", e.ID)
	case e.Parent != "" && !c.seen[e.Parent]:
		return e, broken(want, "its parent %s is not before it", e.Parent)
	case chain.Redacted(&e) || len(e.Salt) != chain.SaltSize:
		return e, broken(want, "it has no content")
	case e.CreatedAt.Nanosecond()%1000 != 0:
		return e, broken(want, "its time is finer than a microsecond")
	}
	if err := chain.Check(&e, c.keys[e.Cell]); err != nil {
		return e, broken(want, "%w", err)
	}
	if canonical, err := chain.Canonical(e.Payload); err != nil || !bytes.Equal(canonical, e.Payload) {
		return e, broken(want, "its payload is not canonical JSON")
	}
	p, err := domain.DecodePayload(e.Kind, e.Payload)
	if err != nil {
		return e, broken(want, "%w", err)
	}
	if _, first := p.(domain.SessionCreated); first != (want == 1) {
		return e, broken(want, "%s cannot be there", e.Kind)
	}
	c.seq, c.hash, c.seen[e.ID] = want, e.Hash, true
	return e, nil
}

// end proves that nothing is missing at the end and that the checkpoint covers it.
func (c *checker) end() error {
	h := c.header
	if c.seq == 0 || c.seq != h.Events || c.hash != h.LastHash {
		return broken(c.seq+1, "it is missing: %d events were exported", h.Events)
	}
	cp, err := openCheckpoint(h.Checkpoint, c.keys)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "the checkpoint in the file is damaged: %w", err)
	}
	proof := make(tlog.RecordProof, len(h.Proof))
	for i, p := range h.Proof {
		proof[i] = tlog.Hash(p)
	}
	if err := tlog.CheckRecord(proof, cp.size, tlog.Hash(cp.root), h.LastPos-1, tlog.RecordHash(h.LastHash[:])); err != nil {
		return domain.Errorf(domain.CodeInvalid, "the events of the file are not in the ledger that its checkpoint signs: %w", err)
	}
	return nil
}
