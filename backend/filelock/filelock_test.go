package filelock_test

import (
	"path/filepath"
	"testing"

	"worksite/backend/filelock"
)

func TestOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	if held, err := filelock.Held(path); held || err != nil {
		t.Fatalf("a missing file is held: %v, %v", held, err)
	}
	l, err := filelock.Try(path)
	if l == nil || err != nil {
		t.Fatalf("first: %v, %v", l, err)
	}
	if second, err := filelock.Try(path); second != nil || err != nil {
		t.Fatalf("second holder: %v, %v", second, err)
	}
	if held, err := filelock.Held(path); !held || err != nil {
		t.Fatalf("held: %v, %v", held, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if l, err = filelock.Try(path); l == nil || err != nil {
		t.Fatalf("after release: %v, %v", l, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}
