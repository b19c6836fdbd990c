package artifact

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
)

// Promotion says whose file becomes which artifact.
type Promotion struct {
	Session domain.SessionID
	CallID  domain.CallID // of the tool call; "" when a person promotes
	Name    string
	Source  string // path inside the workspace, for the record only
	By      string
}

// Promote keeps the bytes of r as the next revision of p.Name in p.Session. With
// a call id, a second call returns what the first one kept and reads nothing.
func (s *Store) Promote(ctx context.Context, p Promotion, r io.Reader) (domain.ArtifactRef, error) {
	if err := checkName(p.Name); err != nil {
		return domain.ArtifactRef{}, err
	}
	if p.Session == "" || p.By == "" {
		return domain.ArtifactRef{}, domain.Errorf(domain.CodeInvalid, "an artifact needs a session and somebody who promotes it")
	}
	if ref, ok, err := s.PromotedBy(ctx, p.Session, p.CallID); err != nil || ok {
		return ref, err
	}
	sniff := &head{r: r}
	hash, size, err := s.blobs.Put(ctx, sniff)
	if err != nil {
		return domain.ArtifactRef{}, err
	}
	ref := domain.ArtifactRef{Name: p.Name, MediaType: MediaType(p.Name, sniff.buf), SHA256: hash, Size: size}
	failpoint.Reach(failpoint.ArtifactBeforeRecord)
	err = s.tx(ctx, func(tx *sql.Tx) error {
		// Another process may have promoted for the same call meanwhile.
		if done, ok, err := promotedBy(ctx, tx, p.Session, p.CallID); err != nil || ok {
			ref = done
			return err
		}
		err := tx.QueryRowContext(ctx, `
			INSERT INTO artifact (id, session, name, next_revision) VALUES (?, ?, ?, 1)
			ON CONFLICT (session, name) DO UPDATE SET next_revision = next_revision + 1
			RETURNING id, next_revision - 1`,
			string(domain.NewArtifactID()), string(p.Session), p.Name).Scan(&ref.ID, &ref.Revision)
		if err != nil {
			return err
		}
		return s.insert(ctx, tx, p, ref, stamp(s.now()))
	})
	if err != nil {
		return domain.ArtifactRef{}, fmt.Errorf("promote artifact: %w", err)
	}
	failpoint.Reach(failpoint.ArtifactAfterRecord)
	return ref, nil
}

// insert adds the revision and its first fact.
func (s *Store) insert(ctx context.Context, tx *sql.Tx, p Promotion, ref domain.ArtifactRef, at string) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO revision (artifact, revision, session, call_id, media_type, sha256, size, source)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		string(ref.ID), ref.Revision, string(p.Session), string(p.CallID), ref.MediaType, ref.SHA256[:], ref.Size, p.Source)
	if err != nil {
		return err
	}
	return addMark(ctx, tx, ref, "produced", at, p.By, "")
}

// PromotedBy returns the revision that a tool call has made.
func (s *Store) PromotedBy(ctx context.Context, session domain.SessionID, call domain.CallID) (domain.ArtifactRef, bool, error) {
	return promotedBy(ctx, s.db, session, call)
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func promotedBy(ctx context.Context, q querier, session domain.SessionID, call domain.CallID) (ref domain.ArtifactRef, ok bool, err error) {
	if call == "" {
		return ref, false, nil
	}
	var sum []byte
	err = q.QueryRowContext(ctx, `
		SELECT a.id, a.name, r.revision, r.media_type, r.sha256, r.size
		FROM revision r JOIN artifact a ON a.id = r.artifact
		WHERE r.session = ? AND r.call_id = ?`, string(session), string(call)).
		Scan(&ref.ID, &ref.Name, &ref.Revision, &ref.MediaType, &sum, &ref.Size)
	if errors.Is(err, sql.ErrNoRows) {
		return ref, false, nil
	}
	copy(ref.SHA256[:], sum)
	return ref, err == nil, err
}

func addMark(ctx context.Context, q querier, ref domain.ArtifactRef, fact, at, by, detail string) error {
	_, err := q.ExecContext(ctx, `
		INSERT OR IGNORE INTO mark (artifact, revision, fact, at, by, detail) VALUES (?, ?, ?, ?, ?, ?)`,
		string(ref.ID), ref.Revision, fact, at, by, detail)
	return err
}

// head keeps the first bytes that pass through, for their media type.
type head struct {
	r   io.Reader
	buf []byte
}

func (h *head) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if room := sniffed - len(h.buf); room > 0 {
		h.buf = append(h.buf, p[:min(n, room)]...)
	}
	return n, err
}

// Apply makes the store agree with one event of the ledger. It is idempotent; the
// service replays a session with it to rebuild a list that was damaged, or to
// finish what a crash left between the two stores.
func (s *Store) Apply(ctx context.Context, e domain.Event) error {
	payload, err := domain.DecodePayload(e.Kind, e.Payload)
	if err != nil {
		return err
	}
	at := stamp(e.CreatedAt)
	switch p := payload.(type) {
	case domain.ArtifactPromoted:
		return s.tx(ctx, func(tx *sql.Tx) error {
			return s.restore(ctx, tx, Promotion{Session: e.Session, CallID: p.CallID, Name: p.Artifact.Name, Source: p.Source, By: p.By}, p.Artifact, at)
		})
	case domain.ArtifactValidated:
		return s.remark(ctx, p.Artifact, "validated", at, p.By, p.Check)
	case domain.ArtifactAdopted:
		return s.remark(ctx, p.Artifact, "adopted", at, p.By, p.SavedTo)
	case domain.ArtifactWithdrawn:
		return s.remark(ctx, p.Artifact, "withdrawn", at, p.By, "")
	}
	return nil
}

// remark adds a fact unless it is known already, at whatever time.
func (s *Store) remark(ctx context.Context, ref domain.ArtifactRef, fact, at, by, detail string) error {
	_, err := s.db.ExecContext(ctx, `
		INSERT INTO mark (artifact, revision, fact, at, by, detail) SELECT ?1, ?2, ?3, ?4, ?5, ?6
		WHERE NOT EXISTS (SELECT 1 FROM mark WHERE artifact = ?1 AND revision = ?2 AND fact = ?3 AND by = ?5 AND detail = ?6)`,
		string(ref.ID), ref.Revision, fact, at, by, detail)
	return err
}

func (s *Store) restore(ctx context.Context, tx *sql.Tx, p Promotion, ref domain.ArtifactRef, at string) error {
	var there int
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM revision WHERE artifact = ? AND revision = ?", string(ref.ID), ref.Revision).Scan(&there)
	if err != nil || there > 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO artifact (id, session, name, next_revision) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET next_revision = max(next_revision, excluded.next_revision)`,
		string(ref.ID), string(p.Session), p.Name, ref.Revision+1)
	if err != nil {
		return err
	}
	return s.insert(ctx, tx, p, ref, at)
}
