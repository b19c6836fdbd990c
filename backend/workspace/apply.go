package workspace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
	"worksite/backend/workspace/rooted"
)

// Apply carries changes out. Each file goes from its old version to the new one in
// one step or stays; a file that is at the new version already is done, so that the
// same change can be applied again after a crash. A file that is neither is
// CodeConflict; the others are carried out all the same.
func (s *Store) Apply(ctx context.Context, h *Handle, changes ...Change) error {
	if len(changes) == 0 {
		return nil
	}
	s.applying.Lock()
	defer s.applying.Unlock()
	r, err := s.begun(ctx, changes[0].Session, h)
	if err != nil {
		return err
	}
	var accepts []Change
	var failed error
	for _, c := range changes {
		if err := h.reviewable(c.Path); err != nil {
			return err
		}
		if c.Session != r.session {
			return domain.Errorf(domain.CodeInvalid, "changes of several sessions cannot be applied at once")
		}
		if len(c.Hunks) == 0 && len(c.all) == 0 && c.Kind != ChangeRestore { // as the ledger has it
			if c.all, err = r.allOf(c); err != nil {
				return err
			}
		}
		if c.Kind == ChangeAccept {
			accepts = append(accepts, c)
			continue
		}
		if err := s.put(ctx, h, c.File, r.tree); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		failpoint.Reach(failpoint.ReviewPut)
		if err := s.applied(ctx, c); err != nil {
			return errors.Join(failed, err)
		}
	}
	return errors.Join(failed, r.accept(ctx, accepts))
}

// put brings one working file to its new version.
func (s *Store) put(ctx context.Context, h *Handle, f domain.FileImage, tree Tree) error {
	cur, err := h.root.Image(ctx, f.Path)
	if err != nil {
		return err
	}
	post := imageFrom(f.Post, f.PostMode)
	if same(cur, post) {
		return nil
	}
	if post.Hash.IsZero() {
		_, err := h.root.Remove(ctx, f.Path, f.Pre, h.keep, func(dir string) bool {
			return !tree.HasFolder(dir) && tree.HasFolder(".")
		})
		return err
	}
	content, err := s.blobs.Read(post.Hash, 0)
	if err != nil {
		return fmt.Errorf("put %s back: %w", f.Path, err)
	}
	p := rooted.Put{Expect: f.Pre, Content: content, Mode: post.Mode.Perm(), SetMode: post.Mode != 0, Keep: h.keep}
	if post.Mode.Type() != 0 {
		p.Content, p.Symlink = nil, string(content)
	}
	_, _, err = h.root.Put(ctx, f.Path, p)
	return err
}

// applied remembers that a working file was brought to its new version.
func (s *Store) applied(ctx context.Context, c Change) error {
	err := s.db.write(ctx, func(tx *sql.Tx) error {
		if c.Kind == ChangeReject {
			if err := recordTx(ctx, tx, c.Session, []domain.FileImage{c.File}, "review"); err != nil {
				return err
			}
			return answered(ctx, tx, c, "rejected")
		}
		if err := recordTx(ctx, tx, c.Session, []domain.FileImage{c.File}, "restore"); err != nil {
			return err
		}
		// A version that was accepted whole stays accepted while restores move it.
		_, err := tx.ExecContext(ctx, "UPDATE review_base SET hash = ?, mode = ? WHERE session = ? AND path = ? AND hash = ?",
			hashText(c.File.Post), c.File.PostMode, c.Session, c.Path, hashText(c.File.Pre))
		return err
	})
	if err != nil {
		return fmt.Errorf("remember %s of %s: %w", c.Kind, c.Path, err)
	}
	return nil
}

// allOf names the hunks that an answer to a whole file was for.
func (r *review) allOf(c Change) ([]string, error) {
	base, post := imageFrom(c.Before, 0), imageFrom(c.After, 0)
	if c.Kind == ChangeReject {
		base, post = imageFrom(c.File.Post, c.File.PostMode), imageFrom(c.File.Pre, c.File.PreMode)
	}
	f, err := r.compare(c.Path, base, post)
	if err != nil {
		return nil, err
	}
	return hunksOf(f), nil
}

func answered(ctx context.Context, tx *sql.Tx, c Change, how string) error {
	hunks := c.Hunks
	if len(hunks) == 0 {
		hunks = c.all
	}
	for _, id := range hunks {
		_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO review_answer (session, path, hunk, answer) VALUES (?, ?, ?, ?)", c.Session, c.Path, id, how)
		if err != nil {
			return err
		}
	}
	return nil
}

// accept moves review bases, all in one transaction.
func (r *review) accept(ctx context.Context, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	err := r.s.db.write(ctx, func(tx *sql.Tx) error {
		for _, c := range changes {
			base := r.base(c.Path)
			if base.Hash != c.Before && base.Hash != c.After {
				return domain.Errorf(domain.CodeConflict, "what %s is compared with has moved meanwhile", c.Path).
					WithHint("Look at the change as it is now.")
			}
			mode := c.afterMode
			if mode == 0 && !c.After.IsZero() { // the event does not say it: that of the file, or as before
				mode = base.UnixMode()
				if now, err := r.now(ctx, c.Path); err == nil && now.Hash == c.After {
					mode = now.UnixMode()
				}
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO review_base (session, path, hash, mode) VALUES (?, ?, ?, ?)
				ON CONFLICT (session, path) DO UPDATE SET hash = excluded.hash, mode = excluded.mode`, c.Session, c.Path, hashText(c.After), mode)
			if err != nil {
				return err
			}
			if err := answered(ctx, tx, c, "accepted"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	return nil
}
