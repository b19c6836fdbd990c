package sessions

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/internal/chain"
)

type (
	// Report is the outcome of a verification. Bad is nil when everything holds.
	Report struct {
		Session    domain.SessionID `json:"session,omitempty"` // "": the whole ledger
		Sessions   int              `json:"sessions"`
		Events     int64            `json:"events"`     // whose chain and signature were checked
		Tombstones int64            `json:"tombstones"` // of these, deleted for good: header checked, content gone
		Cells      int              `json:"cells"`      // that signed them
		Heads      int              `json:"heads"`      // signed heads inside the ledger that were checked
		Size       int64            `json:"size"`       // positions in the ledger
		Root       domain.Hash      `json:"root"`       // of its Merkle log
		Outside    int64            `json:"outside"`    // size that the head outside the ledger vouches for, 0: there is none
		Took       time.Duration    `json:"took"`       // nanoseconds
		Bad        *Flaw            `json:"bad,omitempty"`
	}
	// Flaw is the first thing that does not hold.
	Flaw struct {
		Pos     int64            `json:"pos,omitempty"` // position in the ledger, 0 when it is not about one
		Session domain.SessionID `json:"session,omitempty"`
		Seq     int64            `json:"seq,omitempty"`
		What    string           `json:"what"`
	}
)

func (f *Flaw) String() string {
	switch {
	case f.Session != "":
		return fmt.Sprintf("position %d (event %d of %s): %s", f.Pos, f.Seq, f.Session, f.What)
	case f.Pos > 0:
		return fmt.Sprintf("position %d: %s", f.Pos, f.What)
	}
	return f.What
}

// Verify proves a session (or with "" the whole ledger) from its bytes: payload
// hashes, header hashes, the chain of each session, every signature, and for the
// whole ledger the Merkle log, every signed head in it, and the head that is kept
// outside the file. It changes nothing. What does not hold is in the report; the
// error says only why it could not be looked at.
//
// A local key signs a local ledger: whoever has both can rewrite both. Heads that
// have left the machine are what tells then.
func (s *Store) Verify(ctx context.Context, id domain.SessionID) (Report, error) {
	began := time.Now()
	outside, err := loadCheckpoint(filepath.Join(s.dir, headsDir)) // before the snapshot, which can only be newer
	if err != nil {
		return Report{}, fileError("verify", err, s.dir)
	}
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Report{}, s.explain("verify", err)
	}
	defer tx.Rollback() //nolint:errcheck // only reads
	if id != "" {
		if err := s.exists(ctx, id); err != nil {
			return Report{}, err
		}
	}
	v := verifier{ctx: ctx, tx: tx, report: Report{Session: id}, chains: map[domain.SessionID]link{}, signed: map[domain.CellID]bool{}}
	err = v.all(outside)
	var flaw *Flaw
	switch {
	case errors.As(err, &flaw):
		v.report.Bad, err = flaw, nil
		if v.unsound {
			s.suspect()
		}
	case isDamage(err):
		s.suspect()
		v.report.Bad = &Flaw{Pos: v.report.Size + 1, What: "the file cannot be read on from here: " + err.Error()}
		err = nil
	}
	v.report.Took = time.Since(began)
	v.report.Sessions, v.report.Cells = len(v.chains), len(v.signed)
	return v.report, s.explain("verify", err)
}

// Error makes a flaw end a scan.
func (f *Flaw) Error() string { return f.String() }

// link is the end of a session's chain so far.
type link struct {
	seq  int64
	hash domain.Hash
}

type verifier struct {
	ctx    context.Context //nolint:containedctx // one verification
	tx     *sql.Tx
	report Report
	keys   map[domain.CellID]ed25519.PublicKey
	chains map[domain.SessionID]link
	signed map[domain.CellID]bool
	log    treeLog
	trees  map[int64][]byte // stored rows of the page under way
	heads  []storedHead
	// unsound is set when the file itself is damaged, as opposed to what it says.
	unsound bool
}

type storedHead struct {
	size int64
	root []byte
	note string
}

func (v *verifier) all(outside string) error {
	var err error
	if v.keys, err = cells(v.ctx, v.tx); err != nil {
		return err
	}
	if v.report.Session != "" {
		if err := v.scan(qRead, func(e *domain.Event) int64 { return e.Seq }, v.event); err != nil {
			return err
		}
		return v.sessionEnd()
	}
	if err := v.loadHeads(); err != nil {
		return err
	}
	err = v.scan(qReadLedger, nil, func(e *domain.Event) error {
		if err := v.place(e); err != nil {
			return err
		}
		if err := v.event(e); err != nil {
			return err
		}
		return v.leaf(e, outside)
	})
	if err != nil {
		return err
	}
	return v.end(outside)
}

// scan pages through a query; at tells the cursor of the next page of the one
// session, nil pages the whole ledger by position.
func (v *verifier) scan(query string, at func(*domain.Event) int64, fn func(*domain.Event) error) error {
	const page = 500
	var cursor int64
	for {
		args := []any{cursor, page}
		if at != nil {
			args = []any{string(v.report.Session), cursor, page}
		} else if err := v.loadTrees(cursor, page); err != nil {
			return err
		}
		var events []domain.Event
		readErr := eachEvent(v.ctx, v.tx, query, args, func(e domain.Event) error {
			events = append(events, e)
			return nil
		})
		for i := range events {
			if err := fn(&events[i]); err != nil {
				return err
			}
			cursor = events[i].Pos
			if at != nil {
				cursor = at(&events[i])
			}
			v.report.Size = events[i].Pos
		}
		if readErr != nil {
			return readErr
		}
		if len(events) < page {
			return nil
		}
	}
}

func flaw(e *domain.Event, format string, args ...any) *Flaw {
	return &Flaw{Pos: e.Pos, Session: e.Session, Seq: e.Seq, What: fmt.Sprintf(format, args...)}
}

// place proves that positions have no gap.
func (v *verifier) place(e *domain.Event) error {
	if e.Pos != v.log.size+1 {
		return flaw(e, "position %d is missing before it", v.log.size+1)
	}
	return nil
}

// event proves one event and its place in its session's chain.
func (v *verifier) event(e *domain.Event) error {
	end := v.chains[e.Session]
	switch {
	case e.Seq != end.seq+1:
		return flaw(e, "event %d of the session is missing before it", end.seq+1)
	case e.PrevHash != end.hash:
		return flaw(e, "it does not follow the event before it (previous hash)")
	case !chain.Redacted(e) && len(e.Salt) != chain.SaltSize:
		return flaw(e, "its salt has %d bytes", len(e.Salt))
	}
	key, ok := v.keys[e.Cell]
	if !ok {
		return flaw(e, "the key of its cell %s is missing or not its own", e.Cell)
	}
	if err := chain.Check(e, key); err != nil {
		return flaw(e, "%v", err)
	}
	if chain.Redacted(e) {
		v.report.Tombstones++
	}
	v.report.Events++
	v.signed[e.Cell] = true
	v.chains[e.Session] = link{seq: e.Seq, hash: e.Hash}
	return nil
}

// leaf proves the log's row of an event and the heads that end with it.
func (v *verifier) leaf(e *domain.Event, outside string) error {
	want := v.log.add(e.Hash)
	if !bytes.Equal(v.trees[e.Pos], want) {
		return flaw(e, "its row in the log does not match")
	}
	delete(v.trees, e.Pos)
	v.report.Root = v.log.root()
	for len(v.heads) > 0 && v.heads[0].size <= v.log.size {
		if err := v.head(v.heads[0]); err != nil {
			return err
		}
		v.heads = v.heads[1:]
	}
	if cp, err := parseCheckpoint(outside); err == nil && cp.size == v.log.size && cp.root != v.report.Root {
		return &Flaw{Pos: cp.size, What: "the ledger up to here is not the one that the head outside it signs: its history was replaced"}
	}
	return nil
}

// head proves a signed head against the log as it was then.
func (v *verifier) head(h storedHead) error {
	cp, err := openCheckpoint(h.note, v.keys)
	switch {
	case err != nil:
		return &Flaw{Pos: h.size, What: "the signed head here does not hold: " + err.Error()}
	case h.size != v.log.size || cp.size != h.size:
		return &Flaw{Pos: h.size, What: "the signed head here is for another size"}
	case cp.root != v.report.Root || !bytes.Equal(h.root, cp.root[:]):
		return &Flaw{Pos: h.size, What: "the signed head here is for another history"}
	}
	v.report.Heads++
	return nil
}

// end proves that nothing was cut off.
func (v *verifier) end(outside string) error {
	v.report.Size = v.log.size
	v.report.Root = v.log.root()
	missing := func(size int64, which string) error {
		return &Flaw{Pos: v.log.size + 1, What: fmt.Sprintf("%d events are missing from here on: %s signs %d", size-v.log.size, which, size)}
	}
	if len(v.heads) > 0 && v.heads[len(v.heads)-1].size > v.log.size {
		return missing(v.heads[len(v.heads)-1].size, "a head in the ledger")
	}
	if len(v.trees) > 0 {
		return &Flaw{Pos: v.log.size + 1, What: "the log has rows beyond the last event"}
	}
	var sessions int64
	err := v.tx.QueryRowContext(v.ctx, "SELECT coalesce(sum(last_seq), 0) FROM session").Scan(&sessions)
	if err != nil {
		return err
	}
	if sessions != v.log.size {
		return &Flaw{Pos: v.log.size + 1, What: fmt.Sprintf("the sessions say they have %d events, the ledger has %d", sessions, v.log.size)}
	}
	if err := v.structure(); err != nil {
		return err
	}
	if outside == "" {
		return nil
	}
	cp, err := openCheckpoint(outside, v.keys)
	if err != nil {
		return &Flaw{What: "the head outside the ledger does not hold: " + err.Error()}
	}
	v.report.Outside = cp.size
	if cp.size > v.log.size {
		return missing(cp.size, "the head outside the ledger")
	}
	return nil
}

// structure proves that the engine can use what it keeps beside the events.
func (v *verifier) structure() error {
	var found string
	if err := v.tx.QueryRowContext(v.ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		v.unsound = true
		return &Flaw{What: "the structure of the file is damaged: " + found}
	}
	return nil
}

// sessionEnd proves that the session ends where its row says.
func (v *verifier) sessionEnd() error {
	var seq int64
	var hash []byte
	err := v.tx.QueryRowContext(v.ctx, "SELECT last_seq, last_hash FROM session WHERE id = ?", string(v.report.Session)).Scan(&seq, &hash)
	if err != nil {
		return err
	}
	if end := v.chains[v.report.Session]; end.seq != seq || !bytes.Equal(end.hash[:], hash) {
		return &Flaw{Session: v.report.Session, Seq: end.seq + 1, What: fmt.Sprintf("the session says it has %d events, %d are there", seq, end.seq)}
	}
	return nil
}

func (v *verifier) loadHeads() error {
	rows, err := v.tx.QueryContext(v.ctx, "SELECT size, root, note FROM head ORDER BY size")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var h storedHead
		if err := rows.Scan(&h.size, &h.root, &h.note); err != nil {
			return err
		}
		if h.size > 0 {
			v.heads = append(v.heads, h)
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

func (v *verifier) loadTrees(after int64, limit int) error {
	rows, err := v.tx.QueryContext(v.ctx, "SELECT pos, hashes FROM tree WHERE pos > ? ORDER BY pos LIMIT ?", after, limit)
	if err != nil {
		return err
	}
	defer rows.Close()
	v.trees = map[int64][]byte{}
	for rows.Next() {
		var pos int64
		var row []byte
		if err := rows.Scan(&pos, &row); err != nil {
			return err
		}
		v.trees[pos] = row
	}
	return errors.Join(rows.Err(), rows.Close())
}
