//go:build linux

package window

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const oddName = "Käufe 100% neu.csv"

// R161, R140: the real window paints, can be read and driven, and takes files and
// folders from a file manager, whatever their names.
func TestSmoke(t *testing.T) {
	d := openDesktop(t)
	d.eventually("a painted page", func() (bool, string) {
		img := d.picture("start")
		n := colours(img, frame.Inset(60))
		return n > 20, "too few colours: the window is blank"
	})
	d.firstStart()

	// On the list of workspaces a folder becomes a workspace.
	folder := filepath.Join(d.files, "Müll & 50% mehr")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	bar := d.find("", "^Places and sessions$")
	d.drag(bar.X+bar.W/2, bar.Y+bar.H/2, folder)
	d.eventually("the dropped folder as a workspace", func() (bool, string) {
		out := d.worksite("workspace", "list", "--json")
		return slices.ContainsFunc(workspaces(t, out), func(w workspace) bool { return w.Path == folder }), out
	})
	d.picture("dropped-folder")

	// On the conversation a file becomes an attachment of the task.
	csv := d.writeFile(oddName, "date,region\n2026-01-02,north\n")
	d.dropOnConversation(csv)
	d.find("push button", "^Remove "+oddName+"$") // it was copied
	d.picture("dropped-file")
	d.say("Look at this file.")
	session := d.session()
	d.eventually("the message in the ledger", func() (bool, string) {
		return d.hasEvent(session, "message.sent")
	})
	d.checkAttachment(session, csv)
}

// firstStart answers the first page: the sample workspace and the practice model.
func (d *desktop) firstStart() {
	d.t.Helper()
	d.press("push button", "^Use the sample$")
	d.find("", "sample")
	d.press("push button", "^Start$")
	d.find("entry", "^Message")
}

func (d *desktop) writeFile(name, content string) string {
	d.t.Helper()
	path := filepath.Join(d.files, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}

func (d *desktop) dropOnConversation(paths ...string) {
	d.t.Helper()
	box := d.find("entry", "^Message")
	d.drag(box.X+box.W/2, box.Y-200, paths...)
}

// say types a message and sends it.
func (d *desktop) say(text string) {
	d.t.Helper()
	d.press("entry", "^Message")
	d.typeText(text)
	d.key("Return")
}

// workspace is one line of `worksite workspace list --json`.
type workspace struct{ ID, Name, Path string }

func workspaces(t *testing.T, out string) []workspace {
	t.Helper()
	return decodeList[workspace](t, out)
}

// decodeList reads a listing: one array, or one object a line.
func decodeList[T any](t *testing.T, out string) []T {
	t.Helper()
	var all []T
	if json.Unmarshal([]byte(out), &all) == nil {
		return all
	}
	for _, line := range splitLines(out) {
		var one T
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("listing %q: %v", line, err)
		}
		all = append(all, one)
	}
	return all
}

// session returns the newest session.
func (d *desktop) session() string {
	d.t.Helper()
	var id string
	d.eventually("a session", func() (bool, string) {
		out := d.worksite("sessions", "list", "--json")
		list := decodeList[struct{ ID string }](d.t, out)
		if len(list) > 0 {
			id = list[0].ID
		}
		return id != "", out
	})
	return id
}

func (d *desktop) hasEvent(session, kind string) (bool, string) {
	d.t.Helper()
	var kinds string
	for _, e := range d.events(session) {
		if e.Kind == kind {
			return true, ""
		}
		kinds += " " + e.Kind
	}
	return false, kinds
}

// checkAttachment proves that the message carries the file and that the copy in
// the workspace has its bytes.
func (d *desktop) checkAttachment(session, path string) {
	d.t.Helper()
	want, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	sum := sha256.Sum256(want)
	for _, e := range d.events(session) {
		if e.Kind != "message.sent" {
			continue
		}
		var sent struct {
			Attachments []struct{ Name, SHA256, Path string }
		}
		if err := json.Unmarshal(e.Payload, &sent); err != nil {
			d.t.Fatal(err)
		}
		for _, a := range sent.Attachments {
			if a.Name != filepath.Base(path) {
				continue
			}
			if a.SHA256 != hex.EncodeToString(sum[:]) {
				d.t.Errorf("the attachment's hash is %s, the file's %x", a.SHA256, sum)
			}
			for _, w := range workspaces(d.t, d.worksite("workspace", "list", "--json")) {
				if got, err := os.ReadFile(filepath.Join(w.Path, filepath.FromSlash(a.Path))); err == nil && string(got) == string(want) {
					return
				}
			}
			d.t.Errorf("no workspace has the attachment at %q", a.Path)
			return
		}
	}
	d.t.Errorf("no message carries %s", filepath.Base(path))
}
