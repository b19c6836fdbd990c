//go:build unix

package hands_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/handstest"
)

// A pipe that nobody writes to must not hold a hand up.
func TestPipesAreRefusedAtOnce(t *testing.T) {
	ws := handstest.New(t, nil)
	if err := syscall.Mkfifo(filepath.Join(ws.Dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := hands.OpenFile(ws, "pipe"); domain.CodeOf(err) != domain.CodeInvalid {
		t.Fatal(err)
	}
}

// R152
func TestOpenFileDoesNotFollowALinkOut(t *testing.T) {
	ws := handstest.New(t, map[string]string{"d/in": "x"})
	if err := syscall.Symlink("/etc", filepath.Join(ws.Dir, "out")); err != nil {
		t.Fatal(err)
	}
	if f, err := hands.OpenFile(ws, "out/hostname"); err == nil {
		f.Close()
		t.Fatal("left the workspace")
	}
	if err := syscall.Symlink("d", filepath.Join(ws.Dir, "within")); err != nil {
		t.Fatal(err)
	}
	f, err := hands.OpenFile(ws, "within/in")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
