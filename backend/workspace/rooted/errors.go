package rooted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"worksite/backend/domain"
)

// Changed says that a file is not the version that was expected.
type Changed struct {
	Path string
	Have domain.Hash // what is there now; zero: nothing
}

func (c *Changed) Error() string {
	if c.Have.IsZero() {
		return fmt.Sprintf("%s is not there any more", c.Path)
	}
	return fmt.Sprintf("%s has changed since it was read (now %.12s)", c.Path, c.Have)
}

func conflict(rel string, have, expect domain.Hash) error {
	if expect.IsZero() {
		return domain.Errorf(domain.CodeConflict, "%s exists already: %w", rel, &Changed{rel, have}).
			WithHint("Read the file and edit it, or choose another name.")
	}
	return domain.Errorf(domain.CodeConflict, "%w", &Changed{rel, have}).
		WithHint("Read the file again; nothing was written.")
}

// errEscapes is what os.Root answers for a path that leaves it; the package os
// does not export it.
var errEscapes = sync.OnceValue(func() error {
	_, err := os.OpenInRoot(os.TempDir(), "..")
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return errors.New("path escapes from parent")
})

// Explain turns an error of the file system into one for the person. rel is the
// file it is about; errors that are explained already pass through.
func Explain(op, rel string, err error) error {
	var e *domain.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	cause := err
	var pe *fs.PathError
	if errors.As(err, &pe) {
		cause = pe.Err
	}
	mk := func(code domain.Code, what, hint string) error {
		e := domain.Errorf(code, "%s %s: %w", rel, what, cause)
		e.Op = op
		if hint != "" {
			e = e.WithHint("%s", hint)
		}
		return e
	}
	switch {
	case errors.Is(err, errEscapes()):
		return mk(domain.CodeForbidden, "leaves the workspace", "Only files inside the workspace can be used.")
	case errors.Is(err, fs.ErrNotExist):
		return mk(domain.CodeNotFound, "is not there", "")
	case errors.Is(err, syscall.EROFS):
		return mk(domain.CodeForbidden, "is on a read-only file system", "Work on a copy in a folder that can be written.")
	case errors.Is(err, fs.ErrPermission):
		return mk(domain.CodeForbidden, "cannot be used with your permissions", "Change the permissions of the file or of its folder, or leave it alone.")
	case errors.Is(err, syscall.ENOSPC), isQuota(err):
		return mk(domain.CodeUnavailable, "could not be written: the disk is full", "Free some space and try again; nothing was changed.")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return mk(domain.CodeInvalid, "is too long a name here", "Choose a shorter name.")
	case errors.Is(err, syscall.EISDIR):
		return mk(domain.CodeInvalid, "is a folder", "")
	case errors.Is(err, syscall.ENOTDIR):
		return mk(domain.CodeInvalid, "has a file where a folder would have to be", "")
	case errors.Is(err, syscall.ELOOP):
		return mk(domain.CodeInvalid, "has a loop of links", "")
	}
	return fmt.Errorf("%s %s: %w", op, rel, err)
}
