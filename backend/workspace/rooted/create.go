package rooted

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path"

	"worksite/backend/domain"
)

// maxNames bounds how many names are tried.
const maxNames = 10_000

// Create writes a new file from src, of at most max bytes and any size in memory,
// under the first of the names name(1), name(2), … in folder dir that nothing has.
// It returns the chosen path.
func (r *Root) Create(ctx context.Context, dirRel string, name func(n int) string, src io.Reader, max int64) (rel string, img Image, err error) {
	rel = path.Join(dirRel, name(1))
	defer func() { err = Explain("write", rel, err) }()
	if err := r.makeParents(rel); err != nil {
		return rel, img, err
	}
	dir, _, err := r.parent(rel)
	if err != nil {
		return rel, img, err
	}
	defer dir.Close()
	tmp := tempName()
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return rel, img, err
	}
	defer func() { _ = dir.Remove(tmp) }()
	defer f.Close()
	sum := sha256.New()
	if img.Size, err = io.Copy(io.MultiWriter(f, sum), io.LimitReader(&ctxReader{ctx, src}, max+1)); err != nil {
		return rel, img, err
	}
	if img.Size > max {
		return rel, img, domain.Errorf(domain.CodeTooLarge, "%s has more than %d bytes", rel, max)
	}
	sum.Sum(img.Hash[:0])
	if err := f.Sync(); err != nil {
		return rel, img, err
	}
	fi, err := f.Stat()
	if err != nil {
		return rel, img, err
	}
	img.Mode = plainMode(fi.Mode())
	for n := 1; n <= maxNames; n++ {
		rel = path.Join(dirRel, name(n))
		if _, err := dir.Lstat(name(n)); err == nil {
			continue
		}
		err := create(dir, tmp, name(n), rel)
		if domain.CodeOf(err) == domain.CodeConflict { // taken at this very moment
			continue
		}
		if err != nil {
			return rel, img, err
		}
		return rel, img, syncRoot(dir)
	}
	return rel, img, domain.Errorf(domain.CodeConflict, "there are too many files named like %s", name(1))
}
