package artifact

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"worksite/backend/domain"
)

// Mark is who did something when.
type Mark struct {
	At     time.Time
	By     string
	Detail string // validated: the check that passed; adopted: where it was saved to
}

// Artifact is one revision with its separate facts; of several of one kind the
// newest.
type Artifact struct {
	Ref       domain.ArtifactRef
	Session   domain.SessionID
	CallID    domain.CallID
	Source    string
	Produced  *Mark
	Validated *Mark
	Adopted   *Mark
	Withdrawn *Mark
	Deleted   bool // the bytes were given up; the facts stay
}

// List returns the revisions of a session, or of all with "", the newest first.
// Deleted ones are left out.
func (s *Store) List(ctx context.Context, session domain.SessionID) ([]Artifact, error) {
	return s.query(ctx, "r.deleted_at IS NULL AND (? = '' OR r.session = ?)", string(session), string(session))
}

// Get returns one revision, deleted or not.
func (s *Store) Get(ctx context.Context, id domain.ArtifactID, revision int) (Artifact, error) {
	list, err := s.query(ctx, "r.artifact = ? AND r.revision = ?", string(id), revision)
	if err == nil && len(list) == 0 {
		err = notFound(id, revision)
	}
	if err != nil {
		return Artifact{}, err
	}
	return list[0], nil
}

func (s *Store) query(ctx context.Context, where string, args ...any) ([]Artifact, error) {
	rows, err := s.db.QueryContext(ctx, `
		SELECT a.id, a.name, r.revision, r.media_type, r.sha256, r.size, r.session, r.call_id, r.source, r.deleted_at IS NOT NULL,
		       m.fact, m.at, m.by, m.detail
		FROM revision r
		JOIN artifact a ON a.id = r.artifact
		JOIN mark m ON m.artifact = r.artifact AND m.revision = r.revision
		WHERE `+where+`
		ORDER BY (SELECT min(at) FROM mark p WHERE p.artifact = r.artifact AND p.revision = r.revision AND p.fact = 'produced') DESC,
		         a.id DESC, r.revision DESC, m.at`, args...)
	if err != nil {
		return nil, fmt.Errorf("list artifacts: %w", err)
	}
	defer rows.Close()
	var out []Artifact
	for rows.Next() {
		var a Artifact
		var sum []byte
		var fact, at string
		var m Mark
		if err := rows.Scan(&a.Ref.ID, &a.Ref.Name, &a.Ref.Revision, &a.Ref.MediaType, &sum, &a.Ref.Size, &a.Session, &a.CallID,
			&a.Source, &a.Deleted, &fact, &at, &m.By, &m.Detail); err != nil {
			return nil, fmt.Errorf("list artifacts: %w", err)
		}
		copy(a.Ref.SHA256[:], sum)
		if m.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return nil, fmt.Errorf("list artifacts: %w", err)
		}
		if n := len(out); n == 0 || out[n-1].Ref.ID != a.Ref.ID || out[n-1].Ref.Revision != a.Ref.Revision {
			out = append(out, a)
		}
		out[len(out)-1].set(fact, m)
	}
	return out, rows.Err()
}

func (a *Artifact) set(fact string, m Mark) {
	switch fact {
	case "produced":
		a.Produced = &m
	case "validated":
		a.Validated = &m
	case "adopted":
		a.Adopted = &m
	case "withdrawn":
		a.Withdrawn = &m
	}
}

// Validate records that a named check passed on exactly these bytes. It is the
// only way to validated: a successful run, an adoption or an opinion is not one.
func (s *Store) Validate(ctx context.Context, id domain.ArtifactID, revision int, check, by string) (domain.ArtifactValidated, error) {
	if check == "" {
		return domain.ArtifactValidated{}, domain.Errorf(domain.CodeInvalid, "only a check can validate an artifact; name the check")
	}
	a, err := s.live(ctx, id, revision)
	if err != nil {
		return domain.ArtifactValidated{}, err
	}
	return domain.ArtifactValidated{V: 1, Artifact: a.Ref, Check: check, By: by}, s.mark(ctx, a.Ref, "validated", stamp(s.now()), by, check)
}

// Agent is the actor that is no person.
const Agent = "agent"

// Adopt records that a person took the artifact, and where they saved it if they did.
func (s *Store) Adopt(ctx context.Context, id domain.ArtifactID, revision int, person, savedTo string) (domain.ArtifactAdopted, error) {
	if person == "" || person == Agent {
		return domain.ArtifactAdopted{}, domain.Errorf(domain.CodeForbidden, "only a person can adopt an artifact")
	}
	a, err := s.live(ctx, id, revision)
	if err != nil {
		return domain.ArtifactAdopted{}, err
	}
	return domain.ArtifactAdopted{V: 1, Artifact: a.Ref, SavedTo: savedTo, By: person}, s.mark(ctx, a.Ref, "adopted", stamp(s.now()), person, savedTo)
}

// Withdraw records that the artifact is not wanted any more. The bytes stay.
func (s *Store) Withdraw(ctx context.Context, id domain.ArtifactID, revision int, by string) (domain.ArtifactWithdrawn, error) {
	a, err := s.live(ctx, id, revision)
	if err != nil {
		return domain.ArtifactWithdrawn{}, err
	}
	return domain.ArtifactWithdrawn{V: 1, Artifact: a.Ref, By: by}, s.mark(ctx, a.Ref, "withdrawn", stamp(s.now()), by, "")
}

// live is Get without the deleted ones.
func (s *Store) live(ctx context.Context, id domain.ArtifactID, revision int) (Artifact, error) {
	a, err := s.Get(ctx, id, revision)
	if err == nil && a.Deleted {
		err = domain.Errorf(domain.CodeNotFound, "artifact %s revision %d was deleted", a.Ref.Name, revision)
	}
	return a, err
}

func (s *Store) mark(ctx context.Context, ref domain.ArtifactRef, fact, at, by, detail string) error {
	if by == "" {
		return domain.Errorf(domain.CodeInvalid, "somebody must stand for the fact %s", fact)
	}
	return s.tx(ctx, func(tx *sql.Tx) error { return addMark(ctx, tx, ref, fact, at, by, detail) })
}

// Delete gives the bytes of a revision up. Its number is not used again, and who
// did what with it stays on record.
func (s *Store) Delete(ctx context.Context, id domain.ArtifactID, revision int) error {
	if _, err := s.live(ctx, id, revision); err != nil {
		return err
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE revision SET deleted_at = ? WHERE artifact = ? AND revision = ?", stamp(s.now()), string(id), revision)
		return err
	})
}

// Referenced returns the hashes of all bytes that are still wanted, for the blob
// store's collection.
func (s *Store) Referenced(ctx context.Context) ([]domain.Hash, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT DISTINCT sha256 FROM revision WHERE deleted_at IS NULL")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []domain.Hash
	for rows.Next() {
		var sum []byte
		if err := rows.Scan(&sum); err != nil {
			return nil, err
		}
		out = append(out, domain.Hash(sum))
	}
	return out, rows.Err()
}
