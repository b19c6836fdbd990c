package rooted

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"worksite/backend/domain"
)

// Image is a version of a file: what it holds and its mode. The hash of a symlink
// is that of its target's text. The zero Image is "absent".
type Image struct {
	Hash    domain.Hash
	Size    int64
	Mode    fs.FileMode // type and permission bits
	Symlink string      // target, of a symlink
}

// UnixMode returns the image's mode as Unix and the ledger write it: 0o100644,
// 0o120777; 0 for absent.
func (i Image) UnixMode() uint32 { return UnixMode(i.Hash, i.Mode) }

// UnixMode returns a mode as Unix writes it; 0 when hash is zero.
func UnixMode(h domain.Hash, m fs.FileMode) uint32 {
	switch {
	case h.IsZero():
		return 0
	case m&fs.ModeSymlink != 0:
		return 0o120777
	}
	return 0o100000 | uint32(m.Perm())
}

// FromUnix is the inverse of [UnixMode]; 0 is an ordinary file of mode 0644.
func FromUnix(u uint32) fs.FileMode {
	switch u & 0o170000 {
	case 0o120000:
		return fs.ModeSymlink | 0o777
	case 0:
		return 0o644
	}
	return fs.FileMode(u & 0o777)
}

// Read returns the content and image of a file of at most max bytes (0: no bound).
func (r *Root) Read(rel string, max int64) ([]byte, Image, error) {
	f, fi, err := r.open(rel)
	if err != nil {
		return nil, Image{}, err
	}
	defer f.Close()
	if max > 0 && fi.Size() > max {
		return nil, Image{}, tooLarge(rel, fi.Size(), max)
	}
	buf := make([]byte, 0, fi.Size()+512)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, Image{}, Explain("read", rel, err)
		}
		if max > 0 && int64(len(buf)) > max { // it grows while it is read
			return nil, Image{}, tooLarge(rel, int64(len(buf)), max)
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
	return buf, Image{Hash: domain.HashBytes(buf), Size: int64(len(buf)), Mode: plainMode(fi.Mode())}, nil
}

func tooLarge(rel string, size, max int64) error {
	return domain.Errorf(domain.CodeTooLarge, "%s has %d bytes, more than the %d that are read at once", rel, size, max).
		WithHint("Read a part of it with a command such as head, tail or grep.")
}

// open opens a regular file for reading, never blocking on a pipe.
func (r *Root) open(rel string) (*os.File, fs.FileInfo, error) {
	f, err := r.r.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, Explain("read", rel, err)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = notRegular(rel, fi.Mode())
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, nil, Explain("read", rel, err)
	}
	return f, fi, nil
}

func notRegular(rel string, m fs.FileMode) error {
	if m.IsDir() {
		return domain.Errorf(domain.CodeInvalid, "%s is a folder", rel)
	}
	return domain.Errorf(domain.CodeInvalid, "%s is not an ordinary file (%s)", rel, m.Type())
}

// Image returns the image of whatever stands at rel, which is not followed when it
// is a link; the zero Image when nothing does. Folders and special files are errors.
func (r *Root) Image(ctx context.Context, rel string) (Image, error) {
	dir, name, err := r.parent(rel)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return Image{}, nil
	}
	if err != nil {
		return Image{}, Explain("read", rel, err)
	}
	defer dir.Close()
	cur, err := look(ctx, dir, name, rel)
	return cur.Image, err
}

// version is an Image as it stands on the disk.
type version struct {
	Image
	info fs.FileInfo // nil: absent
	data []byte      // content of a regular file up to inMemory, and of a link
	held bool        // data is all of it
}

// inMemory is up to which size a file is held in memory while it is replaced.
const inMemory = 16 << 20

// look reads what stands at name in dir.
func look(ctx context.Context, dir *os.Root, name, rel string) (version, error) {
	fi, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return version{}, nil
	}
	if err != nil {
		return version{}, Explain("read", rel, err)
	}
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		target, err := dir.Readlink(name)
		if err != nil {
			return version{}, Explain("read", rel, err)
		}
		return version{LinkImage(target), fi, []byte(target), true}, nil
	case !fi.Mode().IsRegular():
		return version{}, notRegular(rel, fi.Mode())
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return version{}, Explain("read", rel, err)
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return version{}, Explain("read", rel, err)
	}
	if !os.SameFile(fi, opened) {
		return version{}, domain.Errorf(domain.CodeConflict, "%s was replaced while it was read", rel).WithHint("Try again.")
	}
	v := version{Image: Image{Mode: plainMode(opened.Mode())}, info: opened}
	sum := sha256.New()
	var buf bytes.Buffer
	w := io.Writer(sum)
	if opened.Size() <= inMemory {
		v.held = true
		w = io.MultiWriter(sum, &buf)
	}
	if v.Size, err = io.Copy(w, &ctxReader{ctx, f}); err != nil {
		return version{}, Explain("read", rel, err)
	}
	sum.Sum(v.Hash[:0])
	v.data = buf.Bytes()
	return v, nil
}

// LinkImage is the image of a symlink with this target.
func LinkImage(target string) Image {
	return Image{Hash: domain.HashBytes([]byte(target)), Size: int64(len(target)), Mode: fs.ModeSymlink | 0o777, Symlink: target}
}

// plainMode leaves of a regular file's mode what is kept: the permission bits. A
// set-id bit goes, as it does when the kernel sees such a file written.
func plainMode(m fs.FileMode) fs.FileMode { return m.Perm() }

// ctxReader ends a long copy when the context does.
type ctxReader struct {
	ctx context.Context //nolint:containedctx // lives for one copy
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
