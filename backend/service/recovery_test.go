package service

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/projection"
)

// R24, R53: the four questions of "is it still there?" have answers of their own,
// each with its evidence: 4 fates of the folder times 4 calls that a crash caught.
func TestSurvey(t *testing.T) {
	svc, err := Open(t.Context(), Config{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	}()
	folder := func(fate func(dir string)) domain.WorkspaceID {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "work")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		id, err := svc.OpenFolder(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		fate(dir)
		return id
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	folders := []struct {
		name  string
		id    domain.WorkspaceID
		files domain.Presence
	}{
		{"present", folder(func(string) {}), domain.PresentYes},
		{"missing", folder(func(dir string) { check(os.Remove(dir)) }), domain.PresentNo},
		{"replaced", folder(func(dir string) {
			check(os.Rename(dir, dir+".old"))
			check(os.Mkdir(dir, 0o700))
		}), domain.PresentNo},
		{"unheard of", "wsp_none", domain.PresentUnknown},
	}
	calls := []struct {
		name      string
		where     string // "": nothing was open
		consented bool
		unknown   []domain.CallID
		processes domain.Presence
		effects   domain.Presence
	}{
		{"nothing open", "", false, nil, domain.PresentNo, domain.PresentYes},
		{"a change of a file", "this process", false, nil, domain.PresentNo, domain.PresentYes},
		{"a sandboxed command", "sandbox on this machine", false, []domain.CallID{"call_1"}, domain.PresentNo, domain.PresentUnknown},
		{"a command without a sandbox", "unsandboxed on this machine", true, []domain.CallID{"call_1"}, domain.PresentUnknown, domain.PresentUnknown},
	}
	for _, f := range folders {
		for _, c := range calls {
			v := projection.Session{ID: "ses_1", Workspace: f.id, LastSeq: 7, UpdatedAt: time.Now(), Consented: c.consented}
			if c.where != "" {
				v.Open = []projection.OpenCall{{CallID: "call_1", Where: c.where}}
			}
			got := svc.findings(t.Context(), v, c.unknown)
			want := []domain.Presence{domain.PresentYes, f.files, c.processes, c.effects}
			for i, finding := range []domain.Finding{got.Conversation, got.Files, got.Processes, got.Effects} {
				if finding.Presence != want[i] || finding.Evidence == "" {
					t.Errorf("%s, %s: question %d is answered %q (%s), want %q", f.name, c.name, i+1, finding.Presence, finding.Evidence, want[i])
				}
			}
		}
	}
}
