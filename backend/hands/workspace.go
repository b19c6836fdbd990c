package hands

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"worksite/backend/domain"
)

// Image is one file as it was read.
type Image struct {
	Hash    domain.Hash
	Size    int64
	Mode    fs.FileMode
	Symlink string
}

// Reader is the reading side of a workspace. Paths named rel are slash-separated
// and inside the workspace; every method checks them at the moment of use.
type Reader interface {
	Root() string
	// Resolve turns a path as a model writes it into rel, or refuses with CodeForbidden.
	Resolve(path string) (rel string, err error)
	ReadFile(rel string) ([]byte, Image, error)
	ReadDir(rel string) ([]fs.DirEntry, error)
	// Walk calls fn for everything below rel that Git would not ignore (or all
	// of it, with ignored), never for .git, from one goroutine.
	Walk(ctx context.Context, rel string, ignored bool, fn func(rel string, d fs.DirEntry) error) error
}

// Writer is the writing side of a workspace.
type Writer interface {
	// WriteFile keeps the pre-image, then replaces the file whole. expect is the
	// hash the file must have, zero when it must not exist; else CodeConflict.
	WriteFile(ctx context.Context, rel string, expect domain.Hash, content []byte, mode fs.FileMode) (domain.FileImage, error)
	// Protected reports paths that no hand may write, and why.
	Protected(rel string) (bool, string)
}

// Observer sees what commands change.
type Observer interface {
	// Base takes the snapshot that a session's changes are measured against,
	// unless there is one; fresh tells that it was taken now.
	Base(ctx context.Context, session domain.SessionID) (based domain.WorkspaceBased, fresh bool, err error)
	// Scan fingerprints the whole workspace.
	Scan(ctx context.Context) (Tree, error)
}

// Tree is a fingerprint of a workspace.
type Tree interface {
	Hash() domain.Hash
	// Changes lists what differs in after.
	Changes(after Tree) []domain.FileImage
}

// Workspace is everything hands ask of a workspace.
type Workspace interface {
	ID() domain.WorkspaceID
	Reader
	Writer
	Observer
}

// OpenFunc finds an open workspace.
type OpenFunc func(ctx context.Context, id domain.WorkspaceID) (Workspace, error)

// OpenFile opens a regular file or folder of any size for reading, without its
// pre-image or hash. It cannot leave the workspace, whatever links are in the
// way, and cannot block on a pipe or device.
func OpenFile(ws Reader, rel string) (*os.File, error) {
	root, err := os.OpenRoot(ws.Root())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return OpenIn(root, rel)
}

// OpenIn is OpenFile with the workspace's folder open already.
func OpenIn(root *os.Root, rel string) (*os.File, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = domain.Errorf(domain.CodeInvalid, "%s is neither a file nor a folder", rel)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Begin takes the session's base snapshot before its first effect and returns
// the fact to record when it was taken now.
func Begin(ctx context.Context, ws Observer, session domain.SessionID) ([]domain.Payload, error) {
	based, fresh, err := ws.Base(ctx, session)
	if err != nil || !fresh {
		return nil, err
	}
	return []domain.Payload{based}, nil
}
