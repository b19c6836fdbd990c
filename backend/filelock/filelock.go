// Package filelock takes whole files for a process. The system releases a lock
// however the process ends, so a free lock proves that its holder is gone.
//
// It imports the standard library and golang.org/x/sys only.
package filelock

import (
	"errors"
	"fmt"
	"os"
)

// Lock is a file taken by this process.
type Lock struct{ file *os.File }

// Try takes the file at path, creating it (0600) when it is not there. It
// returns nil and no error when another process has it.
func Try(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	taken, err := lock(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	if !taken {
		return nil, f.Close()
	}
	return &Lock{f}, nil
}

// Held reports whether a living process has the file at path; a file that is not
// there is not held.
func Held(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open lock: %w", err)
	}
	taken, err := lock(f)
	return !taken && err == nil, errors.Join(err, f.Close())
}

// Close gives the file free and leaves it. A file that several processes try to
// take by the same name must stay: another may hold the removed one.
func (l *Lock) Close() error { return l.file.Close() }

// Release gives the file free and removes it: for names that only one process
// ever takes.
func (l *Lock) Release() error {
	err := os.Remove(l.file.Name())
	return errors.Join(err, l.file.Close())
}
