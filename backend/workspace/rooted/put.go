package rooted

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
)

const (
	tempPrefix = ".worksite-"
	tempSuffix = ".tmp"
	tempRandom = 16 // hexadecimal digits between them
)

// IsTemp reports whether name is that of a temporary file of this package.
func IsTemp(name string) bool {
	mid, ok := strings.CutPrefix(name, tempPrefix)
	if !ok {
		return false
	}
	mid, ok = strings.CutSuffix(mid, tempSuffix)
	return ok && len(mid) == tempRandom && strings.Trim(mid, "0123456789abcdef") == ""
}

func tempName() string {
	var b [tempRandom / 2]byte
	_, _ = rand.Read(b[:]) // never fails
	return tempPrefix + hex.EncodeToString(b[:]) + tempSuffix
}

// KeepFunc stores a version durably before it is replaced or removed.
type KeepFunc func(ctx context.Context, img Image, content io.Reader) error

// Put says what to write.
type Put struct {
	Expect  domain.Hash // the version to replace; zero: there must be none
	Content []byte      // of an ordinary file
	Symlink string      // not empty: make a link with this target instead
	// Mode is that of a new file (the process's umask applies). A replaced file
	// keeps its own, unless SetMode.
	Mode    fs.FileMode
	SetMode bool
	Keep    KeepFunc
}

// Put writes one file and returns the versions before and after. Missing folders
// above it are created. When the content and mode are there already nothing is
// touched.
func (r *Root) Put(ctx context.Context, rel string, p Put) (pre, post Image, err error) {
	defer func() { err = Explain("write", rel, err) }()
	if p.Expect.IsZero() {
		if err := r.makeParents(rel); err != nil {
			return pre, post, err
		}
	}
	dir, name, err := r.parent(rel)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return pre, post, conflict(rel, domain.Hash{}, p.Expect)
		}
		return pre, post, err
	}
	defer dir.Close()
	cur, err := look(ctx, dir, name, rel)
	if err != nil {
		return pre, post, err
	}
	pre = cur.Image
	if cur.Hash != p.Expect || cur.info == nil != p.Expect.IsZero() {
		return pre, post, conflict(rel, cur.Hash, p.Expect)
	}
	post = p.image(cur)
	if cur.info != nil && post == pre {
		return pre, post, nil
	}
	if err := writable(dir, name, rel, cur); err != nil {
		return pre, post, err
	}
	if err := keep(ctx, dir, name, cur, p.Keep); err != nil {
		return pre, post, err
	}
	failpoint.Reach(failpoint.PreimageKept)
	tmp := tempName()
	defer func() { _ = dir.Remove(tmp) }() // gone already when all went well
	fresh, err := p.stage(dir, tmp, cur)
	if err != nil {
		return pre, post, err
	}
	if fresh != nil && cur.info == nil {
		post.Mode = plainMode(fresh.Mode()) // as the umask left it
	}
	if err := ctx.Err(); err != nil {
		return pre, post, err
	}
	failpoint.Reach(failpoint.FileBeforeRename)
	if cur.info == nil {
		err = create(dir, tmp, name, rel)
	} else {
		err = replace(ctx, dir, tmp, name, rel, cur)
	}
	if err != nil {
		return pre, post, err
	}
	failpoint.Reach(failpoint.FileAfterRename)
	return pre, post, syncRoot(dir)
}

// image is the version that p leaves behind.
func (p *Put) image(cur version) Image {
	if p.Symlink != "" {
		return LinkImage(p.Symlink)
	}
	img := Image{Hash: domain.HashBytes(p.Content), Size: int64(len(p.Content)), Mode: p.Mode.Perm()}
	if img.Mode == 0 {
		img.Mode = 0o644
	}
	if cur.info != nil && !p.SetMode && cur.Symlink == "" {
		img.Mode = cur.Mode
	}
	return img
}

// writable refuses a file that is marked read-only although its folder would let
// it be replaced.
func writable(dir *os.Root, name, rel string, cur version) error {
	if cur.info == nil || cur.Symlink != "" {
		return nil
	}
	refuse := func() error {
		return domain.Errorf(domain.CodeForbidden, "%s is read-only", rel).
			WithHint("Allow writing it first (chmod u+w), if it should be changed.")
	}
	if cur.info.Mode().Perm()&0o222 == 0 {
		return refuse()
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|nonblock, 0)
	if errors.Is(err, fs.ErrPermission) {
		return refuse()
	}
	if err == nil {
		_ = f.Close() // nothing was written
	}
	return nil // other errors (a running program's text is busy) do not stop a replacement
}

func keep(ctx context.Context, dir *os.Root, name string, cur version, fn KeepFunc) error {
	if cur.info == nil || fn == nil {
		return nil
	}
	if cur.held {
		return fn(ctx, cur.Image, bytes.NewReader(cur.data))
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return fn(ctx, cur.Image, f)
}

// stage writes the new version beside its target.
func (p *Put) stage(dir *os.Root, tmp string, cur version) (fs.FileInfo, error) {
	if p.Symlink != "" {
		return nil, dir.Symlink(p.Symlink, tmp)
	}
	mode := p.Mode.Perm()
	if mode == 0 {
		mode = 0o644
	}
	first := mode // a new file gets what the umask leaves
	if cur.info != nil {
		first = 0o600
	}
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, first)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Write(p.Content); err != nil {
		return nil, err
	}
	switch {
	case cur.info != nil && cur.Symlink == "":
		likeness(f, dir, cur.info)
		if !p.SetMode {
			mode = cur.Mode
		}
		err = f.Chmod(mode)
	case p.SetMode || cur.info != nil:
		err = f.Chmod(mode)
	}
	if err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return f.Stat()
}

// create gives tmp its name only if nothing stands there.
func create(dir *os.Root, tmp, name, rel string) error {
	err := moveNew(dir, tmp, name)
	if errors.Is(err, errors.ErrUnsupported) {
		if err = dir.Link(tmp, name); err != nil && !errors.Is(err, fs.ErrExist) {
			// No links here (FAT, some network shares): reserve the name, then move over it.
			var f *os.File
			if f, err = dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				_ = f.Close() // empty
				return dir.Rename(tmp, name)
			}
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return conflict(rel, domain.Hash{}, domain.Hash{})
	}
	return err
}

// replace gives tmp the name of the version cur. Where the kernel can exchange two
// names, the version that comes out is looked at once more and put back when it is
// not cur: an edit made meanwhile is never lost.
func replace(ctx context.Context, dir *os.Root, tmp, name, rel string, cur version) error {
	if err := unchanged(ctx, dir, name, rel, cur); err != nil {
		return err
	}
	err := exchange(dir, tmp, name)
	if errors.Is(err, errors.ErrUnsupported) {
		return dir.Rename(tmp, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return conflict(rel, domain.Hash{}, cur.Hash)
	}
	if err != nil {
		return err
	}
	if err := unchanged(ctx, dir, tmp, rel, cur); err != nil {
		if back := exchange(dir, tmp, name); back != nil {
			return errors.Join(err, back)
		}
		return err
	}
	return nil
}

// unchanged reports a conflict when name is no longer the version cur.
func unchanged(ctx context.Context, dir *os.Root, name, rel string, cur version) error {
	fi, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return conflict(rel, domain.Hash{}, cur.Hash)
	}
	if err != nil {
		return err
	}
	if os.SameFile(fi, cur.info) && fi.Size() == cur.info.Size() && fi.ModTime().Equal(cur.info.ModTime()) && fi.Mode() == cur.info.Mode() {
		return nil
	}
	now, err := look(ctx, dir, name, rel)
	if err != nil {
		return err
	}
	if now.Image != cur.Image {
		return conflict(rel, now.Hash, cur.Hash)
	}
	return nil
}

// Remove removes the file at rel, which must be the version expect, and returns it.
// Folders named in prune (slash-separated) go too when they are left empty.
func (r *Root) Remove(ctx context.Context, rel string, expect domain.Hash, keepFn KeepFunc, prune func(dir string) bool) (pre Image, err error) {
	defer func() { err = Explain("remove", rel, err) }()
	dir, name, err := r.parent(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return pre, conflict(rel, domain.Hash{}, expect)
	}
	if err != nil {
		return pre, err
	}
	defer dir.Close()
	cur, err := look(ctx, dir, name, rel)
	if err != nil {
		return pre, err
	}
	if pre = cur.Image; cur.info == nil || cur.Hash != expect {
		return pre, conflict(rel, cur.Hash, expect)
	}
	if err := writable(dir, name, rel, cur); err != nil {
		return pre, err
	}
	if err := keep(ctx, dir, name, cur, keepFn); err != nil {
		return pre, err
	}
	if err := unchanged(ctx, dir, name, rel, cur); err != nil {
		return pre, err
	}
	// It is moved aside first and looked at once more, as in replace.
	tmp := tempName()
	if err := dir.Rename(name, tmp); err != nil {
		return pre, err
	}
	if err := unchanged(ctx, dir, tmp, rel, cur); err != nil {
		if back := create(dir, tmp, name, rel); back != nil {
			return pre, errors.Join(err, back)
		}
		return pre, err
	}
	failpoint.Reach(failpoint.FileBeforeRemove)
	if err := dir.Remove(tmp); err != nil {
		return pre, err
	}
	failpoint.Reach(failpoint.FileAfterRemove)
	if err := syncRoot(dir); err != nil {
		return pre, err
	}
	for d := path.Dir(rel); d != "." && prune != nil && prune(d); d = path.Dir(d) {
		up, name, err := r.parent(d)
		if err != nil {
			break
		}
		fi, err := up.Lstat(name)
		if err == nil && fi.IsDir() {
			err = up.Remove(name) // refuses a folder that is not empty
		}
		up.Close()
		if err != nil {
			break
		}
	}
	return pre, nil
}
