package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"

	"worksite/backend/domain"
	"worksite/backend/workspace/rooted"
)

// Limits of what one drop may bring in.
const (
	maxImportFiles = 10_000
	maxImportBytes = 4 << 30
)

// Import copies what r yields into the top of the workspace under name, or a
// numbered name when that is taken; nothing is ever overwritten. source says where
// it came from, "" when that is not known.
func (h *Handle) Import(ctx context.Context, name, source string, r io.Reader) (domain.Attachment, error) {
	if err := h.Check(); err != nil {
		return domain.Attachment{}, err
	}
	return h.take(ctx, "", filepath.Base(filepath.ToSlash(name)), source, r)
}

// take copies r to a free name in folder dir ("" for the top).
func (h *Handle) take(ctx context.Context, dir, name, source string, r io.Reader) (domain.Attachment, error) {
	a := domain.Attachment{Name: name, Source: source, MediaType: mime.TypeByExtension(path.Ext(name))}
	if a.MediaType == "" {
		a.MediaType = "application/octet-stream"
	}
	safe := fileName(name)
	if yes, why := h.Protected(path.Join(dir, safe)); yes {
		return a, domain.Errorf(domain.CodeForbidden, "%s cannot be copied in: %s", name, why)
	}
	rel, img, err := h.root.Create(ctx, dir, func(n int) string { return numbered(safe, n) }, r, maxImportBytes)
	if err != nil {
		return a, err
	}
	a.Size, a.SHA256, a.Path = img.Size, img.Hash, rel
	return a, nil
}

// ImportPath copies a file, or a folder with all ordinary files in it, into the
// workspace. The originals are only read; one that changes meanwhile is an error.
// What cannot be copied (links, pipes) is left out.
func (h *Handle) ImportPath(ctx context.Context, src string) ([]domain.Attachment, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(src)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "path %s: %w", src, err)
	}
	fi, err := os.Stat(abs) // the person chose this very path: a link is what it leads to
	if err != nil {
		return nil, rooted.Explain("open", src, err)
	}
	if fi.Mode().IsRegular() {
		a, err := h.takeFile(ctx, "", abs)
		return []domain.Attachment{a}, err
	}
	if !fi.IsDir() {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is neither a file nor a folder", src)
	}
	if root := h.Root(); abs == root || contains(abs, root) || contains(root, abs) {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is in the workspace already, or the workspace in it", src)
	}
	return h.takeFolder(ctx, abs)
}

// takeFolder copies a folder to a free name.
func (h *Handle) takeFolder(ctx context.Context, abs string) ([]domain.Attachment, error) {
	top := ""
	for n := 1; ; n++ {
		top = numbered(fileName(filepath.Base(abs)), n)
		if yes, _ := h.Protected(top + "/x"); yes {
			return nil, domain.Errorf(domain.CodeForbidden, "%s cannot be copied in: it is a protected name", top)
		}
		err := h.root.FS().Mkdir(top, 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, rooted.Explain("make", top, err)
		}
	}
	var out []domain.Attachment
	var total int64
	err := filepath.WalkDir(abs, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return rooted.Explain("read", p, err)
		case !d.Type().IsRegular():
			return nil
		case len(out) >= maxImportFiles:
			return domain.Errorf(domain.CodeTooLarge, "%s has more than %d files", abs, maxImportFiles).WithHint("Open the folder as a workspace of its own.")
		}
		rel, err := filepath.Rel(abs, filepath.Dir(p))
		if err != nil {
			return err
		}
		a, err := h.takeFile(ctx, path.Join(top, filepath.ToSlash(rel)), p)
		if err != nil {
			return err
		}
		if total += a.Size; total > maxImportBytes {
			return domain.Errorf(domain.CodeTooLarge, "%s has more than %d bytes", abs, int64(maxImportBytes)).WithHint("Open the folder as a workspace of its own.")
		}
		out = append(out, a)
		return nil
	})
	return out, err
}

func (h *Handle) takeFile(ctx context.Context, dir, src string) (domain.Attachment, error) {
	f, err := os.Open(src)
	if err != nil {
		return domain.Attachment{}, rooted.Explain("open", src, err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return domain.Attachment{}, rooted.Explain("open", src, err)
	}
	a, err := h.take(ctx, dir, filepath.Base(src), src, f)
	if err != nil {
		return a, err
	}
	after, err := f.Stat()
	if err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) || a.Size != before.Size() {
		err := domain.Errorf(domain.CodeConflict, "%s changed while it was copied", src).WithHint("Try again when nothing writes to it.")
		if _, rerr := h.root.Remove(ctx, a.Path, a.SHA256, nil, nil); rerr != nil {
			return a, fmt.Errorf("%w; the incomplete copy %s stays: %w", err, a.Path, rerr)
		}
		return a, err
	}
	return a, nil
}
