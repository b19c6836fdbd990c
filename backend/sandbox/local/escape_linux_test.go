package local

import (
	"os"
	"path/filepath"
	"testing"

	"worksite/backend/sandbox/sandboxtest"
)

// R6, R79, R84, R126: see sandboxtest for what is tried.
func TestEscape(t *testing.T) { sandboxtest.Escape(t, openBox) }

// What the attempts are worth: unsandboxed they work.
func TestEscapeControls(t *testing.T) { sandboxtest.Controls(t, openBox) }

func openBox(t *testing.T, home, path string) sandboxtest.Sandbox {
	t.Helper()
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{DataDir: filepath.Join(t.TempDir(), "data"), Home: home, Path: path, Helper: testHelper})
	if err != nil {
		t.Fatal(err)
	}
	if st := l.Status(t.Context()); !st.OK {
		t.Skipf("skipped: no sandbox here (%s: %s)", st.Name, st.Detail)
	}
	return l
}
