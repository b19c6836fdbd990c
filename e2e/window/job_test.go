//go:build linux

package window

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const request = "Make the data-cleaning script accept a region field, run the checks, and send me the result."

// R59, R60, R109, R149: the main job in the real window, from a dropped file to
// the saved report, with a denial, a grant, a failing and a passing check, and
// the process killed in the middle of a command.
//
// R53, R55, R58, R69, R141: after the kill everything committed is there, the
// call is unknown until the person decides, and the run goes on from there.
func TestJob(t *testing.T) {
	d := openDesktop(t)
	d.firstStart()
	d.choose("combo box", "^Mode: ", "Edits")
	csv := d.writeFile(oddName, "date,customer,amount,region\n2026-01-02,Ada,10,north\n")
	d.dropOnConversation(csv)
	d.find("push button", "^Remove "+oddName+"$")
	d.say(request)
	d.find("push button", "^Deny$")
	session := d.session()
	d.checkAttachment(session, csv)
	d.picture("asked")
	root := d.sampleRoot()

	// Deny the first command; the recording asks for it once more; allow that one.
	d.press("push button", "^Deny$")
	d.waitFor(session, "approval.denied", 1)
	d.waitFor(session, "approval.requested", 2)
	d.press("push button", "^Allow once$")
	d.waitFor(session, "approval.granted", 1)
	d.waitForExit(session, 1)
	d.picture("checks-fail")

	// The second check takes as long as the file "hold" is there. Kill the window in it.
	d.waitFor(session, "approval.requested", 3)
	hold := d.slowCheck(root)
	d.press("push button", "^Allow once$")
	d.eventually("the command in the middle of its work", func() (bool, string) {
		_, err := os.Stat(hold + ".seen")
		return err == nil, "not yet"
	})
	d.picture("running")
	before := d.events(session)
	d.program.kill()
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(hold)); err != nil {
		t.Fatal(err)
	}

	d.open()
	after := d.events(session)
	if len(after) < len(before) || !slices.EqualFunc(before, after[:len(before)], func(a, b event) bool { return a.Seq == b.Seq && a.Hash == b.Hash }) {
		t.Errorf("%d events were committed before the kill; %d are there now, not all the same", len(before), len(after))
	}
	d.waitFor(session, "tool_call.unknown", 1)
	d.recovery()
	d.picture("recovered")
	d.press("push button", "^Run again")
	d.waitFor(session, "tool_call.resolved", 1)
	d.waitFor(session, "approval.requested", 4) // what is run again asks again
	d.press("push button", "^Read the conversation$")

	// That one, and the one that cleans the real data.
	for _, n := range []int{2, 3} {
		d.press("push button", "^Allow once$")
		d.waitFor(session, "approval.granted", n+1)
	}
	d.waitFor(session, "run.finished", 1)
	d.waitForExit(session, 1, 0, 0)
	d.picture("done")

	// Two hunks are accepted, one is rejected.
	d.press("page tab", "^Changes")
	for _, step := range []struct {
		button, kind string
		n            int
	}{{"Accept", "hunk.accepted", 1}, {"Reject", "hunk.rejected", 1}, {"Accept", "hunk.accepted", 2}} {
		d.press("push button", "^"+step.button+"( [ar])?$") // the key stands beside it when the cursor is there
		d.waitFor(session, step.kind, step.n)
	}
	d.picture("reviewed")

	// The report is saved through the native dialog.
	d.press("page tab", "^Artifacts")
	d.press("push button", `^report\.md.* v0`)
	d.find("heading", "^A region field for the data-cleaning script$") // its preview
	d.picture("artifact")
	d.press("push button", "^Save")
	d.windowID("Save as")
	target := filepath.Join(d.files, "result", "report.md")
	if err := os.Mkdir(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	d.key("ctrl+a")
	d.typeText(target)
	d.key("Return")
	d.waitFor(session, "artifact.adopted", 1)
	saved, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(filepath.Join(root, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(saved) != string(made) || !strings.Contains(string(saved), "region") {
		t.Errorf("the saved report has %d bytes, the one in the workspace %d", len(saved), len(made))
	}
	d.picture("saved")
}

// sampleRoot is the folder of the sample workspace.
func (d *desktop) sampleRoot() string {
	d.t.Helper()
	list := workspaces(d.t, d.worksite("workspace", "list", "--json"))
	if len(list) != 1 {
		d.t.Fatalf("%d workspaces, want the sample alone", len(list))
	}
	return list[0].Path
}

// slowCheck adds a check to the sample that waits while the returned file is
// there, and says by a file beside it that it began.
func (d *desktop) slowCheck(root string) string {
	d.t.Helper()
	dir := filepath.Join(root, "tests", "slow")
	if err := os.Mkdir(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	const check = `import os, time, unittest

class Slow(unittest.TestCase):
    def test_hold(self):
        hold = os.path.join(os.path.dirname(__file__), "hold")
        open(hold + ".seen", "w").close()
        while os.path.exists(hold):
            time.sleep(0.05)
`
	for name, content := range map[string]string{"__init__.py": "", "test_hold.py": check, "hold": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	return filepath.Join(dir, "hold")
}

// choose opens a menu and picks an entry.
func (d *desktop) choose(role, menu, entry string) {
	d.t.Helper()
	d.press(role, menu)
	d.press("", "^"+entry+`\b`)
	d.find(role, menu+entry)
}

// recovery opens the session from the side bar, and its page of what is still there.
func (d *desktop) recovery() {
	d.t.Helper()
	d.press("push button", regexp.QuoteMeta(request[:30]))
	d.picture("interrupted")
	d.press("push button", "^What is still there$")
	for _, question := range []string{"Conversation", "Files", "Processes", "Outside effects"} {
		d.find("", "^"+question+"$")
	}
}

// waitFor waits until the ledger has n events of a kind.
func (d *desktop) waitFor(session, kind string, n int) {
	d.t.Helper()
	d.eventually(kind+" in the ledger", func() (bool, string) {
		var kinds []string
		have := 0
		for _, e := range d.events(session) {
			kinds = append(kinds, e.Kind)
			if e.Kind == kind {
				have++
			}
		}
		return have >= n, strings.Join(kinds, " ")
	})
}

// waitForExit waits until the commands of the session ended with these codes.
func (d *desktop) waitForExit(session string, want ...int) {
	d.t.Helper()
	d.eventually(fmt.Sprint("exit codes ", want), func() (bool, string) {
		var codes []int
		for _, e := range d.events(session) {
			var done struct{ Output struct{ ExitCode *int } }
			if e.Kind == "tool_call.completed" && json.Unmarshal(e.Payload, &done) == nil && done.Output.ExitCode != nil {
				codes = append(codes, *done.Output.ExitCode)
			}
		}
		return slices.Equal(codes, want), fmt.Sprint(codes)
	})
}
