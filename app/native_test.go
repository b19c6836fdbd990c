package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"worksite/backend/domain"
)

// fakeShell is a window system that answers as told and remembers what it was asked.
type fakeShell struct {
	folder  string
	files   []string
	opened  []string
	shown   []string
	saved   string
	told    [2]string
	blockOn chan struct{}
}

func (f *fakeShell) pickFolder(string) (string, error) {
	if f.blockOn != nil {
		f.blockOn <- struct{}{}
		<-f.blockOn
	}
	return f.folder, nil
}
func (f *fakeShell) pickFiles(string) ([]string, error) { return f.files, nil }
func (f *fakeShell) pickSave(_, name string) (string, error) {
	f.saved = name
	return "/tmp/" + name, nil
}
func (f *fakeShell) openURL(u string) error   { f.opened = append(f.opened, u); return nil }
func (f *fakeShell) notify(a, b string) error { f.told = [2]string{a, b}; return nil }
func (f *fakeShell) reveal(path string) error { f.shown = append(f.shown, path); return nil }

func TestOpenURL(t *testing.T) {
	for address, opens := range map[string]bool{
		"https://example.org/a?b=c#d":      true,
		"http://127.0.0.1:8080/":           true,
		"mailto:someone@example.org":       true,
		"HTTPS://EXAMPLE.ORG/":             true,
		"file:///etc/passwd":               false,
		"javascript:alert(1)":              false,
		"data:text/html,x":                 false,
		"ssh://example.org":                false,
		"https://user:secret@example.org/": false,
		"https:///nohost":                  false,
		"mailto:":                          false,
		"example.org":                      false,
		"-flag":                            false,
		"":                                 false,
		"https://example.org/\nx":          false,
		" https://example.org/":            false,
	} {
		shell := &fakeShell{}
		err := (&Native{shell: shell}).OpenURL(address)
		if opens != (err == nil) || opens != (len(shell.opened) == 1) {
			t.Errorf("%q: error %v, opened %q; want opened: %v", address, err, shell.opened, opens)
		}
		if err != nil && domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("%q: code %q", address, domain.CodeOf(err))
		}
	}
}

func TestOpenPathRevealsOnlyWhatIsThere(t *testing.T) {
	shell := &fakeShell{}
	n := &Native{shell: shell}
	there := filepath.Join(t.TempDir(), "report 100%.md")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.OpenPath(there); err != nil {
		t.Error(err)
	}
	if err := n.OpenPath(there + ".gone"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a missing path: %v", err)
	}
	if err := n.OpenPath("relative"); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a relative path: %v", err)
	}
	if !slices.Equal(shell.shown, []string{there}) {
		t.Errorf("revealed %q", shell.shown)
	}
}

func TestPickers(t *testing.T) {
	shell := &fakeShell{folder: "/tmp/x"}
	n := &Native{shell: shell}
	files, err := n.PickFiles()
	if err != nil || files == nil || len(files) != 0 {
		t.Errorf("cancelled: %v, %v; want an empty list, which is [] in the page", files, err)
	}
	for name, want := range map[string]string{
		"report.md": "report.md", "../../etc/passwd": "-..-etc-passwd", "": "artifact", "a\x00b\nc": "a-b-c", ".hidden": "hidden",
		"Über 100 %.csv": "Über 100 %.csv",
	} {
		if _, err := n.PickSave(name); err != nil || shell.saved != want {
			t.Errorf("save %q suggested %q, want %q (%v)", name, shell.saved, want, err)
		}
	}
}

func TestOneDialogAtATime(t *testing.T) {
	shell := &fakeShell{folder: "/tmp/x", blockOn: make(chan struct{})}
	n := &Native{shell: shell}
	first := make(chan error, 1)
	go func() { _, err := n.PickFolder(); first <- err }()
	<-shell.blockOn
	if _, err := n.PickFiles(); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a second dialog: %v, want a conflict", err)
	}
	shell.blockOn <- struct{}{}
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// R161
func TestDropped(t *testing.T) {
	dir := t.TempDir()
	odd := filepath.Join(dir, "Käufe 100% neu.csv")
	if err := os.WriteFile(odd, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := dropped(3, 4, []string{odd, dir + "/", odd, "", filepath.Join(dir, "gone"), "relative"})
	if d.X != 3 || d.Y != 4 {
		t.Errorf("position %d,%d", d.X, d.Y)
	}
	if !slices.Equal(d.Paths, []string{odd, dir}) {
		t.Errorf("paths %q", d.Paths)
	}
	if !slices.Equal(d.Missing, []string{filepath.Join(dir, "gone"), "relative"}) {
		t.Errorf("missing %q", d.Missing)
	}
	raw, err := json.Marshal(dropped(0, 0, nil))
	if err != nil || string(raw) != `{"x":0,"y":0,"paths":[]}` {
		t.Errorf("empty drop is %s, %v", raw, err)
	}
}

func TestTakeOpenedForgets(t *testing.T) {
	n := &Native{}
	n.queue([]string{"/a"})
	n.queue([]string{"/b"})
	if got := n.TakeOpened(); !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("opened %q", got)
	}
	if got := n.TakeOpened(); got == nil || len(got) != 0 {
		t.Errorf("opened again: %#v, want an empty list", got)
	}
}

func TestNotifyIsBoundedAndOneLine(t *testing.T) {
	shell := &fakeShell{}
	long := make([]byte, 10_000)
	for i := range long {
		long[i] = 'x'
	}
	if err := (&Native{shell: shell}).Notify("a\n\tb", string(long)+"\xff"); err != nil {
		t.Fatal(err)
	}
	if shell.told[0] != "a b" || len([]rune(shell.told[1])) != 400 {
		t.Errorf("told %q and %d characters", shell.told[0], len([]rune(shell.told[1])))
	}
}

func TestErrorsCrossWithCodeAndHint(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{domain.Errorf(domain.CodeNotFound, "gone").WithHint("look again"), `{"code":"not_found","message":"gone","hint":"look again"}`},
		{fmt.Errorf("wrapped: %w", domain.Errorf(domain.CodeForbidden, "no")), `{"code":"forbidden","message":"wrapped: no"}`},
		{errors.Join(fs.ErrClosed), `{"code":"internal","message":"file already closed"}`},
	} {
		raw, err := json.Marshal(formatError(c.err))
		if err != nil || string(raw) != c.want {
			t.Errorf("%v crosses as %s, want %s (%v)", c.err, raw, c.want, err)
		}
	}
}

func TestBeforeTheWindowIsOpen(t *testing.T) {
	n := &Native{shell: (&window{}).shell()}
	if _, err := n.PickFolder(); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestDialogTextIsNoFormat(t *testing.T) {
	if got := escapeFor("100 %s", true); got != "100 %%s" {
		t.Errorf("got %q", got)
	}
	if got := escapeFor("100 %s", false); got != "100 %s" {
		t.Errorf("got %q", got)
	}
	if got := closeQuestion([]string{"a", "b"}); got == closeQuestion([]string{"a"}) {
		t.Errorf("one and two runs read alike: %q", got)
	}
}
