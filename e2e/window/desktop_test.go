//go:build linux

package window

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Where the window stands on the screen; the drag source is at the lower right.
var frame = image.Rect(0, 0, 1360, 900)

// desktop is the running program, its window and its data folder.
type desktop struct {
	*screen
	home    string // WORKSITE_HOME
	files   string // where a test's own files are
	program *program
	reader  *bufio.ReadWriter
}

// node is one element as a screen reader meets it.
type node struct {
	Role, Name, Text string
	X, Y, W, H       int
	States           []string
	Depth            int
}

func (n node) is(state string) bool { return slices.Contains(n.States, state) }

func (n node) String() string { return fmt.Sprintf("%s %q", n.Role, n.Name) }

// openDesktop starts the window on a fresh data folder.
func openDesktop(t *testing.T) *desktop {
	t.Helper()
	d := &desktop{screen: newScreen(t)}
	dir, err := os.MkdirTemp("", "ws") //nolint:usetesting // the path of a socket in it has to stay short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d.home = filepath.Join(dir, "home")
	d.files = filepath.Join(dir, "files")
	if err := os.Mkdir(d.files, 0o755); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "WORKSITE_HOME="+d.home)

	reader := d.command(python, "reader.py")
	in, err := reader.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, write := io.Pipe()
	reader.Stdout = write
	d.reader = bufio.NewReadWriter(bufio.NewReader(out), bufio.NewWriter(in))
	d.start(reader)
	d.open()
	return d
}

// open starts the program and waits until the page is painted and can be read.
func (d *desktop) open(args ...string) {
	d.t.Helper()
	began := time.Now()
	d.program = d.start(d.command(binary(d.t, "worksite-desktop"), args...))
	id := d.windowID("Worksite")
	d.moveWindow(id, frame.Min.X, frame.Min.Y, frame.Dx(), frame.Dy())
	d.eventually("the page", func() (bool, string) {
		if !d.program.alive() {
			d.t.Fatalf("the window ended: %v\n%s", d.program.err, d.program.output())
		}
		all := d.nodes()
		return len(all) > 20, fmt.Sprintf("%d nodes", len(all))
	})
	d.t.Logf("start to a page that can be read: %s", time.Since(began).Round(10*time.Millisecond))
}

func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run `make build`", err)
	}
	return path
}

// nodes reads the accessibility tree.
func (d *desktop) nodes() []node {
	d.t.Helper()
	if _, err := d.reader.WriteString("{\"app\":\"worksite\"}\n"); err != nil {
		d.t.Fatal(err)
	}
	if err := d.reader.Flush(); err != nil {
		d.t.Fatal(err)
	}
	line, err := d.reader.ReadBytes('\n')
	if err != nil {
		d.t.Fatalf("the reader ended: %v", err)
	}
	var answer struct {
		Nodes []node
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		d.t.Fatal(err)
	}
	return answer.Nodes
}

// find waits for an element of a role whose name, or text, matches the pattern.
func (d *desktop) find(role, pattern string) node {
	d.t.Helper()
	re := regexp.MustCompile(pattern)
	var got node
	d.eventually(fmt.Sprintf("%s %q", role, pattern), func() (bool, string) {
		all := d.nodes()
		for _, n := range all {
			if (role == "" || n.Role == role) && (re.MatchString(n.Name) || re.MatchString(n.Text)) && n.is("showing") {
				got = n
				return true, ""
			}
		}
		return false, outline(all)
	})
	return got
}

// press clicks an element with the mouse, once it stands still.
func (d *desktop) press(role, pattern string) {
	d.t.Helper()
	n := d.find(role, pattern)
	for range 50 {
		again := d.find(role, pattern)
		if again.X == n.X && again.Y == n.Y && again.W == n.W && n.W > 0 {
			break
		}
		n = again
	}
	d.click(n.X+n.W/2, n.Y+n.H/2)
}

// outline is the tree as text, for a test that failed.
func outline(all []node) string {
	var b strings.Builder
	for _, n := range all {
		text := n.Text
		if len(text) > 80 {
			text = text[:80] + "…"
		}
		fmt.Fprintf(&b, "\n%s%s %q %q %v", strings.Repeat("  ", n.Depth), n.Role, n.Name, text, n.States)
	}
	return b.String()
}

// worksite runs the command line on the same data folder and returns what it printed.
func (d *desktop) worksite(args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(d.t, "worksite"), args...)
	cmd.Env = d.env
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("worksite %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// splitLines returns the lines that are not empty.
func splitLines(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
}

// event is one line of `worksite events`.
type event struct {
	Seq     int64
	Kind    string
	Hash    string
	Payload json.RawMessage
}

func (d *desktop) events(session string) []event {
	d.t.Helper()
	var all []event
	for _, line := range splitLines(d.worksite("events", session)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			d.t.Fatalf("event %q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}
