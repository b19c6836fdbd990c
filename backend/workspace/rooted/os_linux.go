package rooted

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	nonblock    = syscall.O_NONBLOCK
	dirsCanSync = true
)

func isQuota(err error) bool { return errors.Is(err, unix.EDQUOT) }

// exchange swaps two names of dir in one step.
func exchange(dir *os.Root, a, b string) error { return rename2(dir, a, b, unix.RENAME_EXCHANGE) }

// moveNew renames a to b if there is no b, in one step.
func moveNew(dir *os.Root, a, b string) error { return rename2(dir, a, b, unix.RENAME_NOREPLACE) }

func rename2(dir *os.Root, a, b string, flags uint) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	err = unix.Renameat2(fd, a, fd, b, flags)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: a, New: b, Err: err}
	}
	return nil
}

// likeness gives f the owner and extended attributes of the file that it will
// replace, as far as we may.
func likeness(f *os.File, dir *os.Root, old os.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if fi, err := f.Stat(); err == nil {
		if now, ok := fi.Sys().(*syscall.Stat_t); ok && (now.Uid != st.Uid || now.Gid != st.Gid) {
			if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
				_ = f.Chown(-1, int(st.Gid))
			}
		}
	}
	src, err := dir.OpenFile(old.Name(), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return
	}
	defer src.Close()
	copyAttributes(int(src.Fd()), int(f.Fd()))
}

func copyAttributes(src, dst int) {
	n, err := unix.Flistxattr(src, nil)
	if err != nil || n <= 0 || n > 1<<16 {
		return
	}
	names := make([]byte, n)
	if n, err = unix.Flistxattr(src, names); err != nil {
		return
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if name == "security.capability" { // goes when a file is written, as set-id bits do
			continue
		}
		size, err := unix.Fgetxattr(src, name, nil)
		if err != nil || size < 0 || size > 1<<16 {
			continue
		}
		value := make([]byte, size)
		if size, err = unix.Fgetxattr(src, name, value); err == nil {
			_ = unix.Fsetxattr(dst, name, value[:size], 0)
		}
	}
}
