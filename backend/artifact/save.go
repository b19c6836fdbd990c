package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"worksite/backend/domain"
)

// Open returns the bytes of a revision. The reader fails at its end when they are
// not those that were promoted.
func (s *Store) Open(ctx context.Context, id domain.ArtifactID, revision int) (io.ReadCloser, Artifact, error) {
	a, err := s.live(ctx, id, revision)
	if err != nil {
		return nil, a, err
	}
	r, err := s.blobs.Open(a.Ref.SHA256)
	if err != nil {
		return nil, a, fmt.Errorf("open artifact %s revision %d: %w", a.Ref.Name, revision, err)
	}
	return r, a, nil
}

// Save writes a revision to path, all or nothing. An existing file is replaced
// only with overwrite; otherwise it is a conflict and stays as it is.
func (s *Store) Save(ctx context.Context, id domain.ArtifactID, revision int, path string, overwrite bool) error {
	r, _, err := s.Open(ctx, id, revision)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := save(ctx, r, path, overwrite); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return domain.Errorf(domain.CodeConflict, "%s exists already", path).WithHint("Choose another name, or replace it explicitly.")
		}
		return fmt.Errorf("save artifact to %s: %w", path, err)
	}
	return nil
}

func save(ctx context.Context, r io.Reader, path string, overwrite bool) (err error) {
	if !filepath.IsAbs(path) {
		return domain.Errorf(domain.CodeInvalid, "the place to save to must be an absolute path")
	}
	if !overwrite {
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist
		}
	}
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, ".worksite-*")
	if err != nil {
		return err
	}
	defer func() {
		_ = tmp.Close() // the good one came before; this is for the ways out in between
		_ = os.Remove(tmp.Name())
	}()
	if _, err := io.Copy(tmp, reader{ctx, r}); err != nil {
		return err
	}
	if err := errors.Join(tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if overwrite {
		err = os.Rename(tmp.Name(), path)
	} else {
		err = place(tmp.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// place gives a finished file its name, unless the name is taken meanwhile. A link
// does both at once; where the file system has none, the name is reserved first.
func place(tmp, path string) error {
	err := os.Link(tmp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// reader ends with the context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
