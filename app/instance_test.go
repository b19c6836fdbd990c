package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"worksite/backend/domain"
)

// R142
func TestClaimHandsOverToTheOpenWindow(t *testing.T) {
	dir := shortDir(t)
	first, err := Claim(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []string, 1)
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { first.Serve(done, func(args []string) { got <- args }) })

	folder := filepath.Join(t.TempDir(), "Ä 100% data")
	if _, err := Claim(t.Context(), dir, []string{folder}); !errors.Is(err, ErrHandedOver) {
		t.Fatalf("second claim: %v, want ErrHandedOver", err)
	}
	if args := <-got; !slices.Equal(args, []string{folder}) {
		t.Errorf("handed over %q, want %q", args, folder)
	}

	close(done)
	wait.Wait()
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := Claim(t.Context(), dir, nil)
	if err != nil {
		t.Fatalf("claim after release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestClaimAfterAKill(t *testing.T) {
	dir := shortDir(t)
	// What a kill -9 leaves: both files, no lock.
	for _, name := range []string{"window.lock", "window.sock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := Claim(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestClaimWhereTheFirstDoesNotAnswer(t *testing.T) {
	dir := shortDir(t)
	first, err := Claim(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	first.listen.Close() // it holds the lock and hears nothing
	_, err = claim(t.Context(), dir, nil, time.Millisecond)
	if domain.CodeOf(err) != domain.CodeConflict || domain.HintOf(err) == "" {
		t.Errorf("got %v, want a conflict with a hint", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestClaimWithALongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	in, err := Claim(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	close(done)
	in.Serve(done, func([]string) { t.Error("a call without a socket") })
	if err := in.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestClaimKeepsTheFolderPrivate(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	in, err := Claim(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	for name, want := range map[string]os.FileMode{".": 0o700, "window.lock": 0o600, "window.sock": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

// shortDir is a temporary folder whose sockets fit into sun_path.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ws") //nolint:usetesting // t.TempDir puts the test's name into the path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
