package practice

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"worksite/backend/domain"
	"worksite/backend/process"
	"worksite/backend/service/sample"
)

// R59: the recorded job, carried out for real on a copy of the sample
// workspace: the checks fail where they should, pass at the end, and the report
// tells the truth.
func TestRecordingDoesTheJob(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("skipped: no python3 on this machine")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, sample.Files()); err != nil {
		t.Fatal(err)
	}
	w := worksite{t: t, dir: dir, read: map[string]bool{}}
	if code, out := w.run("python3 -m unittest -q"); code != 0 {
		t.Fatalf("the sample's own checks fail before anything was changed: %s", out)
	}

	c := newTalk(t).say(sample.Request)
	for {
		a := c.next()
		if len(a.ToolCalls) == 0 {
			if !strings.Contains(a.Text, "accepts a region") {
				t.Errorf("the end is %q", a.Text)
			}
			break
		}
		w.changed = map[string]bool{}
		c.results(w.carryOut)
	}

	if got := fmt.Sprint(w.exits); got != "[1 0 0]" {
		t.Errorf("commands ended with %s, want first a failure, then none", got)
	}
	if !strings.Contains(w.outputs[0], "missing column: region") || !strings.Contains(w.outputs[0], "Ran 11 tests") {
		t.Errorf("the first run fails for another reason: %s", w.outputs[0])
	}
	if !strings.Contains(w.outputs[1], "Ran 12 tests") || !strings.Contains(w.outputs[1], "OK") {
		t.Errorf("the second run: %s", w.outputs[1])
	}
	w.checkReport()
	w.checkHunks()
	if w.saved != "report.md" {
		t.Errorf("saved %q", w.saved)
	}
}

// worksite carries calls out in plain code.
type worksite struct {
	t       *testing.T
	dir     string
	read    map[string]bool
	changed map[string]bool // by the calls of one answer
	exits   []int
	outputs []string
	saved   string
	plan    []domain.PlanItem
}

func (w *worksite) carryOut(call domain.RequestedCall) string {
	w.t.Helper()
	var in struct {
		Path, Content, Command, Pattern, Name string
		OldString                             string `json:"old_string"`
		NewString                             string `json:"new_string"`
		Limit, Offset                         int
		Items                                 []domain.PlanItem
	}
	dec := json.NewDecoder(strings.NewReader(call.Arguments))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		w.t.Fatalf("%s: %v", call.Name, err)
	}
	path := filepath.Join(w.dir, in.Path)
	switch call.Name {
	case "ls", "grep":
	case "read":
		if _, err := os.ReadFile(path); err != nil {
			w.t.Error(err)
		}
		w.read[in.Path] = true
	case "edit":
		raw, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		if n := strings.Count(string(raw), in.OldString); n != 1 || !w.read[in.Path] {
			w.t.Errorf("edit of %s: old_string stands %d times; read before: %v", in.Path, n, w.read[in.Path])
		}
		w.write(in.Path, strings.Replace(string(raw), in.OldString, in.NewString, 1))
	case "write":
		w.write(in.Path, in.Content)
	case "bash":
		code, out := w.run(in.Command)
		w.exits, w.outputs = append(w.exits, code), append(w.outputs, out)
		return fmt.Sprintf("%s\n[exit code %d]\n", out, code)
	case "plan":
		w.plan = in.Items
	case "save_artifact":
		if _, err := os.Stat(path); err != nil {
			w.t.Error(err)
		}
		w.saved = in.Path
	default:
		w.t.Errorf("no tool is called %s", call.Name)
	}
	return "done"
}

func (w *worksite) write(path, content string) {
	w.t.Helper()
	if w.changed[path] {
		w.t.Errorf("one answer changes %s twice: the second could not be decided on before the first", path)
	}
	w.changed[path] = true
	if err := os.WriteFile(filepath.Join(w.dir, path), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *worksite) run(command string) (int, string) {
	w.t.Helper()
	r, err := process.Run(w.t.Context(), process.Spec{
		Argv: []string{"bash", "-c", command}, Dir: w.dir,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "LANG=C.UTF-8"}, Head: 1 << 16, Tail: 1 << 16,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Code, r.Text()
}

// checkReport compares every figure of the report with what the script printed.
func (w *worksite) checkReport() {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.dir, "report.md"))
	if err != nil {
		w.t.Fatal(err)
	}
	report := string(raw)
	outs := strings.SplitN(w.outputs[2], "\n\n", 3)
	figure := func(out, name string) string {
		m := regexp.MustCompile(`(?m)^\s*` + name + `\s+(\S+)$`).FindStringSubmatch(out)
		if m == nil {
			w.t.Fatalf("the script printed no %s:\n%s", name, out)
		}
		return m[1]
	}
	for _, name := range []string{"rows read", "rows written", "duplicates", "left out", "total amount"} {
		want := fmt.Sprintf("| %s | %s | %s |", name, figure(outs[0], name), figure(outs[1], name))
		if !strings.Contains(report, want) {
			w.t.Errorf("the report lacks %q", want)
		}
	}
	var regions []string
	for _, name := range []string{"north", "south", "east", "west", "unknown"} {
		regions = append(regions, name+" "+figure(outs[0], name))
	}
	if want := strings.Join(regions, ", "); !strings.Contains(report, want) {
		w.t.Errorf("the report lacks %q", want)
	}
	for _, m := range regexp.MustCompile(`(?m)^line (\d+): ([a-z ]+)`).FindAllStringSubmatch(outs[0], -1) {
		if !strings.Contains(report, "- line "+m[1]+": ") {
			w.t.Errorf("the report does not name line %s", m[1])
		}
	}
	for _, it := range w.plan {
		if it.Status != "completed" {
			w.t.Errorf("the plan ends with %q %s", it.Text, it.Status)
		}
	}
}

// checkHunks: reviewing by hunk must have something to review.
func (w *worksite) checkHunks() {
	w.t.Helper()
	before, err := sample.FS.ReadFile("files/cleaner.py")
	if err != nil {
		w.t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(w.dir, "cleaner.py"))
	if err != nil {
		w.t.Fatal(err)
	}
	if n := strings.Count(udiff.Unified("a", "b", string(before), string(after)), "@@ -"); n < 3 {
		w.t.Errorf("cleaner.py has %d hunks, want at least 3", n)
	}
}
