package workspace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
	"worksite/backend/workspace/rooted"
	"worksite/backend/workspace/scan"
)

// Tree is a snapshot of a workspace; its Hash names it.
type Tree = scan.Tree

// Scan takes a snapshot: what changed since the last one is read and kept, the rest
// is known from its stat.
func (s *Store) Scan(ctx context.Context, h *Handle) (Tree, error) {
	if err := h.Check(); err != nil {
		return Tree{}, err
	}
	t, err := s.scanner(h.id).Scan(ctx, h.root)
	if err != nil {
		return Tree{}, rooted.Explain("take a snapshot of", h.Root(), err)
	}
	return t, nil
}

// Compare lists what differs between two snapshots, sorted by path: contents,
// modes, new and deleted files.
func Compare(before, after Tree) []domain.FileImage {
	changes := scan.Compare(before, after)
	out := make([]domain.FileImage, len(changes))
	for i, c := range changes {
		out[i] = imageOf(c.Path, c.Pre.Image, c.Post.Image)
	}
	return out
}

// Base returns the snapshot that the session's changes are measured against, and
// takes it when there is none: fresh tells so. It must be called before the
// session's first effect.
func (s *Store) Base(ctx context.Context, session domain.SessionID, h *Handle) (based domain.WorkspaceBased, fresh bool, err error) {
	if b, ok, err := s.baseOf(ctx, session); err != nil || ok {
		return b.WorkspaceBased, false, err
	}
	t, err := s.Scan(ctx, h)
	if err != nil {
		return based, false, err
	}
	blob, err := s.blobs.PutBytes(ctx, t.Encode())
	if err != nil {
		return based, false, rooted.Explain("keep snapshot of", h.Root(), err)
	}
	sum := t.Summary()
	based = domain.WorkspaceBased{
		V: 1, Snapshot: domain.NewID("snap_"), TreeHash: t.Hash(), Files: sum.Files, Bytes: sum.Bytes, Skipped: sum.Skipped, Git: s.gitHead(h.Root()),
	}
	failpoint.Reach(failpoint.BaseBeforeRecord)
	err = s.db.write(ctx, func(tx *sql.Tx) error {
		var other string
		err := tx.QueryRowContext(ctx, "SELECT snapshot FROM session_base WHERE session = ?", session).Scan(&other)
		if err == nil {
			return errBased
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO snapshot (id, workspace, tree_hash, tree, files, bytes, skipped, git, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			based.Snapshot, h.id, hashText(based.TreeHash), hashText(blob), based.Files, based.Bytes, based.Skipped, based.Git, s.now().UnixMicro()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO session_base (session, workspace, snapshot) VALUES (?, ?, ?)", session, h.id, based.Snapshot)
		return err
	})
	if errors.Is(err, errBased) { // another process was first
		b, _, err := s.baseOf(ctx, session)
		return b.WorkspaceBased, false, err
	}
	if err != nil {
		return based, false, fmt.Errorf("keep snapshot: %w", err)
	}
	failpoint.Reach(failpoint.BaseAfterRecord)
	return based, true, nil
}

var errBased = errors.New("the session has a base already")

// base is a session's snapshot.
type base struct {
	domain.WorkspaceBased
	workspace domain.WorkspaceID
	blob      domain.Hash
}

func (s *Store) baseOf(ctx context.Context, session domain.SessionID) (b base, ok bool, err error) {
	b.V = 1
	err = s.db.QueryRowContext(ctx, `SELECT n.id, n.tree_hash, n.tree, n.files, n.bytes, n.skipped, n.git, b.workspace
		FROM session_base b JOIN snapshot n ON n.id = b.snapshot WHERE b.session = ?`, session).
		Scan(&b.Snapshot, scanHash{&b.TreeHash}, scanHash{&b.blob}, &b.Files, &b.Bytes, &b.Skipped, &b.Git, &b.workspace)
	if errors.Is(err, sql.ErrNoRows) {
		return b, false, nil
	}
	if err != nil {
		return b, false, fmt.Errorf("read base of session: %w", err)
	}
	return b, true, nil
}

// gitHead says branch and commit, "" without Git. It runs nothing.
func (s *Store) gitHead(path string) string {
	r, err := s.git.Find(path)
	if err != nil {
		return ""
	}
	branch, commit := r.Head()
	return strings.TrimSpace(fmt.Sprintf("%s %.12s", branch, commit))
}

// RecordImages remembers files that the session wrote or changed, in order, after
// each call. What is not in it counts as the person's own.
func (s *Store) RecordImages(ctx context.Context, session domain.SessionID, files []domain.FileImage) error {
	err := s.record(ctx, session, files, "session")
	failpoint.Reach(failpoint.ImagesRecorded)
	return err
}

func (s *Store) record(ctx context.Context, session domain.SessionID, files []domain.FileImage, origin string) error {
	err := s.db.write(ctx, func(tx *sql.Tx) error { return recordTx(ctx, tx, session, files, origin) })
	if err != nil {
		return fmt.Errorf("remember changed files: %w", err)
	}
	return nil
}

func recordTx(ctx context.Context, tx *sql.Tx, session domain.SessionID, files []domain.FileImage, origin string) error {
	for _, f := range files {
		if f.Pre == f.Post && f.PreMode == f.PostMode {
			continue
		}
		// The same fact told twice (a recovery, an apply that is repeated) is one fact.
		_, err := tx.ExecContext(ctx, `INSERT INTO image (session, path, pre, post, pre_mode, post_mode, origin)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (
				SELECT 1 FROM image WHERE n = (SELECT max(n) FROM image WHERE session = ?1 AND path = ?2) AND pre = ?3 AND post = ?4)`,
			session, f.Path, hashText(f.Pre), hashText(f.Post), f.PreMode, f.PostMode, origin)
		if err != nil {
			return err
		}
	}
	return nil
}

// images returns the recorded writes of a session by path, in order.
func (s *Store) images(ctx context.Context, session domain.SessionID) (map[string][]domain.FileImage, error) {
	out := map[string][]domain.FileImage{}
	err := s.db.each(ctx, "SELECT path, pre, post, pre_mode, post_mode FROM image WHERE session = ? ORDER BY n", []any{session}, func(scan func(...any) error) error {
		var f domain.FileImage
		if err := scan(&f.Path, scanHash{&f.Pre}, scanHash{&f.Post}, &f.PreMode, &f.PostMode); err != nil {
			return err
		}
		out[f.Path] = append(out[f.Path], f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read changed files: %w", err)
	}
	return out, nil
}

// ForgetSession drops what is known of a session's changes; the files stay as they are.
func (s *Store) ForgetSession(ctx context.Context, session domain.SessionID) error {
	err := s.db.write(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"session_base", "review_base", "review_answer", "image"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE session = ?", session); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM snapshot WHERE id NOT IN (SELECT snapshot FROM session_base)")
		return err
	})
	if err != nil {
		return fmt.Errorf("forget session: %w", err)
	}
	return nil
}
