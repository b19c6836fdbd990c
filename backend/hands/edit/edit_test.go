package edit

import (
	"fmt"
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/handstest"
)

func setup(t *testing.T, files map[string]string) (*handstest.Workspace, *handstest.Caller, *hands.Seen) {
	t.Helper()
	ws := handstest.New(t, files)
	seen := hands.NewSeen()
	for name, content := range files {
		seen.Mark("ses_test", name, domain.HashBytes([]byte(content)))
	}
	return ws, handstest.NewCaller(New(ws.Open, seen)), seen
}

func args(path, old, new string) map[string]any {
	return map[string]any{"path": path, "old_string": old, "new_string": new}
}

// R10 R137
func TestEditPreparesThenWritesExactly(t *testing.T) {
	ws, c, _ := setup(t, map[string]string{"a.py": "one\r\ntwo\r\nthree"})
	p, err := c.Prepare(t.Context(), args("./a.py", "two\n", "2\n2b\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := domain.FileImage{Path: "a.py", Pre: domain.HashBytes([]byte("one\r\ntwo\r\nthree")), Post: domain.HashBytes([]byte("one\r\n2\r\n2b\r\nthree"))}
	if len(p.Effect.Files) != 1 || p.Effect.Files[0] != want || p.Effect.Class != domain.EffectIdempotent {
		t.Fatalf("effect %+v", p.Effect)
	}
	if p.ShownKind != "diff" || !strings.Contains(p.Shown, "-two\r\n+2\r\n+2b\r\n") || p.Title != "Edit a.py" || p.Touches[0] != "a.py" {
		t.Fatalf("shown %q, %q, %q", p.Title, p.Shown, p.Touches)
	}
	if ws.Get("a.py") != "one\r\ntwo\r\nthree" || ws.Bases != 0 {
		t.Fatal("prepare performed something")
	}
	res, err := c.Execute(t.Context(), p)
	if err != nil || ws.Get("a.py") != "one\r\n2\r\n2b\r\nthree" {
		t.Fatalf("%q %v", ws.Get("a.py"), err)
	}
	if res.Output.Text != "Edited a.py, now lines 2-3 (+2 −1)." || res.Output.Files[0] != want {
		t.Fatalf("output %+v", res.Output)
	}
	written, ok := res.Drafts[1].(domain.FileWritten)
	if _, based := res.Drafts[0].(domain.WorkspaceBased); !based || !ok || written.File != want || written.CallID != p.Call.CallID {
		t.Fatalf("drafts %+v", res.Drafts)
	}
	// The model knows what it wrote: a second edit needs no new read, and no new base.
	if res, err = c.Do(t.Context(), args("a.py", "2b", "x")); err != nil || len(res.Drafts) != 1 {
		t.Fatalf("%+v %v", res.Drafts, err)
	}
}

// R151
func TestEditErrorsNameLines(t *testing.T) {
	ws, c, _ := setup(t, map[string]string{"a.py": "x = 1\nif a:\n\ty = 2\nx = 1\n", "bin": "a\x00", "latin": "caf\xe9"})
	ws.Put(t, "unread.py", "x")
	for name, tc := range map[string]struct {
		args map[string]any
		code domain.Code
		want string
	}{
		"ambiguous":  {args("a.py", "x = 1", "x = 2"), domain.CodeConflict, "stands 2 times in a.py, at lines 1, 4"},
		"spacing":    {args("a.py", "if a:\n    y = 2", "z"), domain.CodeConflict, "lines 2-3: only the spacing differs: line 3 is"},
		"not there":  {args("a.py", "entirely something else", "z"), domain.CodeConflict, "nor anything close"},
		"equal":      {args("a.py", "y", "y"), domain.CodeInvalid, "equal"},
		"unread":     {args("unread.py", "x", "y"), domain.CodeConflict, "read it first"},
		"missing":    {args("b.py", "x", "y"), domain.CodeNotFound, "near names: a.py"},
		"binary":     {args("bin", "a", "b"), domain.CodeInvalid, "binary"},
		"encoding":   {args("latin", "caf", "日"), domain.CodeInvalid, "Windows-1252"},
		"folder":     {args(".", "x", "y"), domain.CodeInvalid, "folder"},
		"outside":    {args("../../x", "x", "y"), domain.CodeForbidden, "outside"},
		"empty old":  {args("a.py", "", "y"), domain.CodeInvalid, "must not be empty"},
		"other name": {map[string]any{"file_path": "a.py", "old_string": "x", "new_string": "y"}, domain.CodeInvalid, `did you mean "path"?`},
	} {
		_, err := c.Prepare(t.Context(), tc.args)
		if domain.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %s %v", name, domain.CodeOf(err), err)
		}
	}
}

// R132 R151
func TestEditRefusesAWorldThatMovedOn(t *testing.T) {
	ws, c, _ := setup(t, map[string]string{"a.py": "one\n"})
	p, err := c.Prepare(t.Context(), args("a.py", "one", "two"))
	if err != nil {
		t.Fatal(err)
	}
	ws.Put(t, "a.py", "ONE\n")
	if _, err := c.Execute(t.Context(), p); domain.CodeOf(err) != domain.CodeConflict || ws.Get("a.py") != "ONE\n" {
		t.Fatalf("%v, file %q", err, ws.Get("a.py"))
	}
	if _, err := c.Prepare(t.Context(), args("a.py", "ONE", "two")); domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "changed since it was read") {
		t.Fatalf("changed since read: %v", err)
	}
	ws.Put(t, "a.py", "one\n")
	p.Opaque.(*hands.Change).Content = []byte("evil\n")
	if _, err := c.Execute(t.Context(), p); domain.CodeOf(err) != domain.CodeConflict || ws.Get("a.py") != "one\n" {
		t.Fatalf("other bytes than decided: %v", err)
	}
	p.Opaque = nil
	if _, err := c.Execute(t.Context(), p); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("prepared elsewhere: %v", err)
	}
	ws.Guarded = []string{"a.py"}
	p, _ = c.Prepare(t.Context(), args("a.py", "one", "two"))
	if _, err := c.Execute(t.Context(), p); domain.CodeOf(err) != domain.CodeForbidden || ws.Get("a.py") != "one\n" {
		t.Fatalf("protected: %v", err)
	}
}

// R55
func TestProbeByImages(t *testing.T) {
	ws, c, _ := setup(t, map[string]string{"a.py": "one\n"})
	p, err := c.Prepare(t.Context(), args("a.py", "one", "two"))
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]domain.ProbeResult{"one\n": domain.ProbeNotDone, "two\n": domain.ProbeDone, "three\n": domain.ProbeUnknown} {
		ws.Put(t, "a.py", content)
		if got, evidence := c.Registry.Probe(t.Context(), "edit", p.Call, p.Effect); got != want || evidence == "" {
			t.Errorf("%q: %s, %s", content, got, evidence)
		}
	}
	// Found done, the ledger gets the same facts as without the crash.
	res, err := c.Registry.Recovered(t.Context(), "edit", p.Call, p.Effect, "the file has its new content")
	if err != nil || len(res.Drafts) != 1 || res.Drafts[0].(domain.FileWritten).File != p.Effect.Files[0] || !strings.Contains(res.Output.Text, "new content") {
		t.Fatalf("%+v %v", res, err)
	}
}

func TestReplaceAllAndManyMatches(t *testing.T) {
	var was, want strings.Builder
	for i := range 80 {
		fmt.Fprintf(&was, "x\nkeep %d\n", i)
		fmt.Fprintf(&want, "z\nkeep %d\n", i)
	}
	ws, c, _ := setup(t, map[string]string{"a": was.String()})
	_, err := c.Prepare(t.Context(), args("a", "x", "z"))
	if err == nil || !strings.Contains(err.Error(), "97, 99 and 30 more") {
		t.Errorf("%v", err)
	}
	a := args("a", "x", "z")
	a["replace_all"] = true
	res, err := c.Do(t.Context(), a)
	if err != nil || ws.Get("a") != want.String() || res.Output.Summary != "+80 −80" || len(res.Output.Text) > 600 {
		t.Fatalf("%s %v", res.Output.Text, err)
	}
}

// R148
func TestWholeDiffIsShown(t *testing.T) {
	_, c, _ := setup(t, map[string]string{"a": strings.Repeat("x\n", 5000)})
	a := args("a", "x", "y")
	a["replace_all"] = true
	p, err := c.Prepare(t.Context(), a)
	if err != nil || strings.Count(p.Shown, "\n+y") != 5000 {
		t.Fatalf("%d lines of 5000 shown, %v", strings.Count(p.Shown, "\n+y"), err)
	}
}

func TestHiddenCharactersAreNamed(t *testing.T) {
	_, c, _ := setup(t, map[string]string{"a": "x\n"})
	p, err := c.Prepare(t.Context(), args("a", "x", "x\u202e// safe"))
	if err != nil || len(p.Touches) != 2 || !strings.Contains(p.Touches[1], "right-to-left override (U+202E)") {
		t.Fatalf("%q %v", p.Touches, err)
	}
}
