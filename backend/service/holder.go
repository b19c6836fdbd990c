package service

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/filelock"
)

// holder is this process as the owner of leases. Its lock file is held for as
// long as the process lives, so that another process on this machine can tell a
// dead owner at once and need not wait for the lease to expire.
type holder struct {
	name string
	dir  string
	lock *filelock.Lock
}

func newHolder(dataDir string, cell domain.CellID) (*holder, error) {
	dir := filepath.Join(dataDir, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of locks: %w", err)
	}
	name := string(cell) + "." + domain.NewID("proc_")
	lock, err := filelock.Try(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	h := &holder{name: name, dir: dir, lock: lock}
	h.sweep()
	return h, nil
}

// dead reports whether the process that called itself name has ended. A holder
// of another machine's cell is never called dead: its lease has to expire.
func (h *holder) dead(name string) bool {
	mine, _, _ := strings.Cut(h.name, ".")
	if cell, _, ok := strings.Cut(name, "."); !ok || cell != mine || name != filepath.Base(name) {
		return false
	}
	held, err := filelock.Held(filepath.Join(h.dir, name))
	return err == nil && !held
}

// sweep removes the lock files of processes that were killed.
func (h *holder) sweep() {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return // a later start sweeps
	}
	for _, e := range entries {
		if e.Name() != h.name && h.dead(e.Name()) {
			_ = os.Remove(filepath.Join(h.dir, e.Name())) // gone already, or swept later
		}
	}
}
