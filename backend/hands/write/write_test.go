package write

import (
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/handstest"
)

func TestWrite(t *testing.T) {
	ws := handstest.New(t, map[string]string{"old.txt": "a\r\nb\r\n", "d/x": ""})
	seen := hands.NewSeen()
	c := handstest.NewCaller(New(ws.Open, seen))

	p, err := c.Prepare(t.Context(), map[string]any{"path": "new/dir/f.txt", "content": "hello\nworld"})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Effect.Files[0].Pre.IsZero() || p.Effect.Files[0].Post != domain.HashBytes([]byte("hello\nworld")) || p.Title != "Create new/dir/f.txt" {
		t.Fatalf("%+v", p)
	}
	if !strings.Contains(p.Shown, "--- /dev/null\n+++ b/new/dir/f.txt\n@@ -0,0 +1,2 @@\n+hello\n+world\n\\ No newline") {
		t.Fatalf("shown %q", p.Shown)
	}
	if got, _ := c.Registry.Probe(t.Context(), "write", p.Call, p.Effect); got != domain.ProbeNotDone {
		t.Errorf("probe before: %s", got)
	}
	res, err := c.Execute(t.Context(), p)
	if err != nil || ws.Get("new/dir/f.txt") != "hello\nworld" || res.Output.Text != "Created new/dir/f.txt (2 lines, 11 bytes)." || res.Output.Summary != "+2 −0" {
		t.Fatalf("%+v %v", res.Output, err)
	}
	if got, _ := c.Registry.Probe(t.Context(), "write", p.Call, p.Effect); got != domain.ProbeDone {
		t.Errorf("probe after: %s", got)
	}
	// It appeared meanwhile: never clobbered.
	p, err = c.Prepare(t.Context(), map[string]any{"path": "late.txt", "content": "mine"})
	if err != nil {
		t.Fatal(err)
	}
	ws.Put(t, "late.txt", "theirs")
	if _, err := c.Execute(t.Context(), p); domain.CodeOf(err) != domain.CodeConflict || ws.Get("late.txt") != "theirs" {
		t.Fatalf("%v", err)
	}
	// A file that exists must have been read; then its form is kept. R151 R137
	if _, err := c.Prepare(t.Context(), map[string]any{"path": "old.txt", "content": "x"}); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("unread: %v", err)
	}
	seen.Mark("ses_test", "old.txt", domain.HashBytes([]byte("a\r\nb\r\n")))
	res, err = c.Do(t.Context(), map[string]any{"path": "old.txt", "content": "x\ny\n"})
	if err != nil || ws.Get("old.txt") != "x\r\ny\r\n" || !strings.Contains(res.Output.Text, "Kept: CRLF line endings.") {
		t.Fatalf("%q %s %v", ws.Get("old.txt"), res.Output.Text, err)
	}
	for name, tc := range map[string]struct{ path, content, want string }{
		"same":    {"old.txt", "x\r\ny\r\n", "already has exactly this content"},
		"folder":  {"d", "x", "folder (1 entry)"},
		"outside": {"/etc/passwd", "x", "outside"},
	} {
		if _, err := c.Prepare(t.Context(), map[string]any{"path": tc.path, "content": tc.content}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	res, err = c.Do(t.Context(), map[string]any{"path": "empty", "content": ""})
	if err != nil || len(res.Output.Files) != 1 || res.Output.Summary != "+0 −0" {
		t.Fatalf("empty file: %+v %v", res.Output, err)
	}
}
