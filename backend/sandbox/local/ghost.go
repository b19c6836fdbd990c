package local

import (
	"errors"
	"io/fs"
	"os"

	"worksite/backend/domain"
)

// A ghost is the placeholder of a protected path that does not exist: an empty file
// or folder for the mount to lie on, made before a command and removed after it. It
// is recognised by what it is, never by memory alone, so that a crash can leave it
// and any later start can tell it from a person's file: empty, its own permissions,
// and domain.PlaceholderTime.
const (
	ghostFile fs.FileMode = 0o444
	ghostDir  fs.FileMode = 0o555
)

func isGhost(p string, info fs.FileInfo) bool {
	if !info.ModTime().Equal(domain.PlaceholderTime) {
		return false
	}
	switch {
	case info.Mode() == ghostFile:
		return info.Size() == 0
	case info.Mode() == fs.ModeDir|ghostDir:
		f, err := os.Open(p)
		if err != nil {
			return false
		}
		defer f.Close()
		names, _ := f.Readdirnames(1)
		return len(names) == 0
	}
	return false
}

// makeGhost makes the placeholder and reports whether it stands. It does not when the
// path exists by now, or when it cannot be made: then the command, which has no more
// rights, cannot make it either.
func makeGhost(g Ghost) bool {
	mode := ghostFile
	if g.Dir {
		mode = ghostDir
		if os.Mkdir(g.Path, mode) != nil {
			return ghostAt(g.Path)
		}
	} else {
		f, err := os.OpenFile(g.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return ghostAt(g.Path)
		}
		_ = f.Close()
	}
	if os.Chmod(g.Path, mode) != nil || os.Chtimes(g.Path, domain.PlaceholderTime, domain.PlaceholderTime) != nil || !ghostAt(g.Path) {
		_ = os.Remove(g.Path) // it could not be told from a person's file later
		return false
	}
	return true
}

func ghostAt(p string) bool {
	info, err := os.Lstat(p)
	return err == nil && isGhost(p, info)
}

// removeGhost removes a placeholder, unless someone has made it theirs meanwhile.
func removeGhost(p string) error {
	if !ghostAt(p) {
		return nil
	}
	err := os.Remove(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
