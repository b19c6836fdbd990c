package app

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"worksite/backend/domain"
)

// Native is bound into the page as window.go.app.Native. Every method is called
// by the page only after the person asked for it.
type Native struct {
	shell shell

	dialog sync.Mutex // Wails mixes up the answers of two file dialogs

	mu     sync.Mutex
	opened []string
}

// shell is what the window system does for us.
type shell interface {
	pickFolder(title string) (string, error)
	pickFiles(title string) ([]string, error)
	pickSave(title, name string) (string, error)
	openURL(u string) error
	notify(title, text string) error
	reveal(path string) error
}

// Dropped is the payload of the event files.dropped.
type Dropped struct {
	X       int      `json:"x"` // CSS pixels from the page's left edge
	Y       int      `json:"y"`
	Paths   []string `json:"paths"`             // absolute, existing
	Missing []string `json:"missing,omitempty"` // named by the drop, not there
}

// PickFolder asks for a folder; "" means the person cancelled.
func (n *Native) PickFolder() (string, error) {
	if !n.dialog.TryLock() {
		return "", errDialogOpen()
	}
	defer n.dialog.Unlock()
	return n.shell.pickFolder("Open a folder")
}

// PickFiles asks for files; an empty list means the person cancelled.
func (n *Native) PickFiles() ([]string, error) {
	if !n.dialog.TryLock() {
		return []string{}, errDialogOpen()
	}
	defer n.dialog.Unlock()
	paths, err := n.shell.pickFiles("Attach files")
	if paths == nil {
		paths = []string{}
	}
	return paths, err
}

// PickSave asks where to save a file called name; "" means the person cancelled.
func (n *Native) PickSave(name string) (string, error) {
	if !n.dialog.TryLock() {
		return "", errDialogOpen()
	}
	defer n.dialog.Unlock()
	return n.shell.pickSave("Save as", fileName(name))
}

func errDialogOpen() error {
	return domain.Errorf(domain.CodeConflict, "another file dialog is open").WithHint("answer that one first")
}

// OpenURL opens a web or mail address in the person's own program.
func (n *Native) OpenURL(address string) error {
	if err := checkURL(address); err != nil {
		return err
	}
	return n.shell.openURL(address)
}

// OpenPath shows a file or folder in the file manager. It never runs anything.
func (n *Native) OpenPath(path string) error {
	if !filepath.IsAbs(path) {
		return domain.Errorf(domain.CodeInvalid, "%q is not a whole path", path)
	}
	if _, err := os.Lstat(path); err != nil {
		return domain.Errorf(domain.CodeNotFound, "%s is not there any more", path)
	}
	return n.shell.reveal(path)
}

// Notify shows a notification of the desktop.
func (n *Native) Notify(title, text string) error {
	return n.shell.notify(oneLine(title, 120), oneLine(text, 400))
}

// TakeOpened returns the paths that Worksite was started with, or that a second
// start handed over, and forgets them. The event files.opened says there are some.
func (n *Native) TakeOpened() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.opened
	n.opened = nil
	if out == nil {
		return []string{}
	}
	return out
}

// queue keeps paths for TakeOpened.
func (n *Native) queue(paths []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opened = append(n.opened, paths...)
}

func checkURL(address string) error {
	u, err := url.Parse(address)
	refused := domain.Errorf(domain.CodeForbidden, "%q was not opened: only http, https and mailto addresses are", oneLine(address, 200))
	if err != nil {
		return refused
	}
	for _, r := range address {
		if r <= ' ' || r == 0x7f {
			return refused
		}
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" || u.User != nil {
			return refused
		}
	case "mailto":
		if u.Opaque == "" {
			return refused
		}
	default:
		return refused
	}
	return nil
}

// dropped sorts out the paths of a drop. A name with a line break arrives from
// Wails as two, neither of which exists, and is told as missing.
func dropped(x, y int, paths []string) Dropped {
	d := Dropped{X: x, Y: y, Paths: []string{}}
	seen := map[string]bool{}
	for _, p := range paths {
		if p == "" || seen[p] {
			continue
		}
		seen[p] = true
		if _, err := os.Lstat(p); err != nil || !filepath.IsAbs(p) {
			d.Missing = append(d.Missing, p)
			continue
		}
		d.Paths = append(d.Paths, filepath.Clean(p))
	}
	return d
}

// fileName makes a suggestion for the save dialog out of any text.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}
		return r
	}, s)
	s = strings.TrimLeft(strings.TrimSpace(s), ".")
	if s == "" {
		return "artifact"
	}
	return s
}

func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// dialogText escapes text for Wails' message dialog, which takes it for a printf
// format on Linux.
func dialogText(s string) string { return escapeFor(s, onLinux) }

func escapeFor(s string, printf bool) string {
	if printf {
		return strings.ReplaceAll(s, "%", "%%")
	}
	return s
}

// bridgeError is how an error crosses to the page: the same three fields as over HTTP.
type bridgeError struct {
	Code    domain.Code `json:"code"`
	Message string      `json:"message"`
	Hint    string      `json:"hint,omitempty"`
}

func formatError(err error) any {
	if err == nil {
		return nil
	}
	return bridgeError{Code: domain.CodeOf(err), Message: err.Error(), Hint: domain.HintOf(err)}
}

// wailsShell is the real one. It refuses until the window has started.
type wailsShell struct{ ctx func() context.Context }

func (s wailsShell) ready() (context.Context, error) {
	if ctx := s.ctx(); ctx != nil {
		return ctx, nil
	}
	return nil, domain.Errorf(domain.CodeUnavailable, "the window is not open yet")
}

func (s wailsShell) pickFolder(title string) (string, error) {
	ctx, err := s.ready()
	if err != nil {
		return "", err
	}
	return runtime.OpenDirectoryDialog(ctx, runtime.OpenDialogOptions{Title: title, CanCreateDirectories: true})
}

func (s wailsShell) pickFiles(title string) ([]string, error) {
	ctx, err := s.ready()
	if err != nil {
		return nil, err
	}
	return runtime.OpenMultipleFilesDialog(ctx, runtime.OpenDialogOptions{Title: title})
}

func (s wailsShell) pickSave(title, name string) (string, error) {
	ctx, err := s.ready()
	if err != nil {
		return "", err
	}
	return runtime.SaveFileDialog(ctx, runtime.SaveDialogOptions{Title: title, DefaultFilename: name, CanCreateDirectories: true})
}

func (s wailsShell) openURL(u string) error {
	ctx, err := s.ready()
	if err != nil {
		return err
	}
	runtime.BrowserOpenURL(ctx, u)
	return nil
}

func (s wailsShell) notify(title, text string) error { return notify(title, text) }
func (s wailsShell) reveal(path string) error        { return reveal(path) }
