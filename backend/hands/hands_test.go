package hands_test

import (
	"encoding/json"
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/hands"
)

func event(t *testing.T, p domain.Payload) domain.Event {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return domain.Event{Session: "ses_1", Kind: p.Kind(), Payload: raw}
}

// What a session has seen comes back from its events alone.
func TestSeenIsRebuiltFromEvents(t *testing.T) {
	a, b := domain.HashBytes([]byte("a")), domain.HashBytes([]byte("b"))
	s := hands.NewSeen()
	s.Apply(event(t, domain.ToolCallCompleted{V: 1, Output: domain.ToolOutput{Seen: []domain.FileImage{{Path: "x", Pre: a, Post: a}}}}))
	if err := s.Check("ses_1", "x", a); err != nil {
		t.Error(err)
	}
	s.Apply(event(t, domain.FileWritten{V: 1, File: domain.FileImage{Path: "x", Pre: a, Post: b}}))
	if err := s.Check("ses_1", "x", b); err != nil {
		t.Error(err)
	}
	if err := s.Check("ses_1", "x", a); domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "read it again") {
		t.Error(err)
	}
	if err := s.Check("ses_2", "x", b); domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "read it first") {
		t.Error(err)
	}
	// A command that changes a file does not make it seen.
	s.Apply(event(t, domain.FilesChanged{V: 1, Files: []domain.FileImage{{Path: "y", Post: a}}}))
	if _, ok := s.Hash("ses_1", "y"); ok {
		t.Error("changed by a command, counted as seen")
	}
	s.Forget("ses_1")
	if _, ok := s.Hash("ses_1", "x"); ok {
		t.Error("not forgotten")
	}
}

func TestDiffSaysWhatTextCannotShow(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []byte
		want          string
	}{
		"new":     {nil, []byte("a\n"), "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n"},
		"empty":   {nil, []byte{}, "--- /dev/null\n+++ b/f\n"},
		"endings": {[]byte("a\n"), []byte("a\r\n"), "\\ was UTF-8, LF line endings, becomes UTF-8, CRLF line endings\n"},
		"bom":     {[]byte("a\n"), []byte("\xEF\xBB\xBFa\n"), "with byte order mark"},
		"binary":  {[]byte("a"), []byte("\x00"), "Binary file, 1 bytes before and 1 bytes after"},
		"decoded": {[]byte("caf\xe9\n"), []byte("th\xe9\n"), "-café\n+thé\n"},
	} {
		if d := hands.Diff("f", c.before, c.after); !strings.Contains(d.Text, c.want) {
			t.Errorf("%s: %q", name, d.Text)
		}
	}
}
