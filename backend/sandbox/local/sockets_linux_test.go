package local

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSocketsAreFound(t *testing.T) {
	ws := resolve(t.TempDir())
	listen := func(name string) string {
		t.Helper()
		p := filepath.Join(ws, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return p
	}
	early, deep := listen("a.sock"), listen("d/e/b.sock")
	l := &Local{walks: map[string]walk{}}
	got := l.sockets(ws)
	if !slices.Contains(got, early) || !slices.Contains(got, deep) || len(got) != 2 {
		t.Errorf("sockets %q", got)
	}
	// The table finds what came after the walk, the walk what the table cannot name.
	late := listen("late.sock")
	if got := l.sockets(ws); !slices.Contains(got, late) {
		t.Errorf("late socket is missing in %q", got)
	}
	if got := boundSockets("/nonexistent", ws); got != nil {
		t.Errorf("sockets of nothing: %q", got)
	}
	if got := walkSockets(ws); len(got) != 3 {
		t.Errorf("walk found %q", got)
	}
}
