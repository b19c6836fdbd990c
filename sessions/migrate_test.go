package sessions

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"worksite/backend/domain"
	"worksite/sessions/migrations"
)

// with returns the released steps and more.
func with(t *testing.T, more fstest.MapFS) fs.FS {
	t.Helper()
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		raw, err := migrations.Files.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		more[n] = &fstest.MapFile{Data: raw}
	}
	return more
}

func TestMigrations(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if b := s.Opened().Backup; b != "" {
		t.Errorf("a new file needs no backup: %s", b)
	}
	id := domain.NewSessionID()
	if _, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.SessionCreated{V: 1, Title: "old"}}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// A step that fails changes nothing.
	broken := with(t, fstest.MapFS{"9001_broken.sql": {Data: []byte("ALTER TABLE session ADD COLUMN mood TEXT; SELECT nonsense;")}})
	if _, err := open(t.Context(), Config{Dir: dir}, broken); err == nil || !strings.Contains(err.Error(), "9001_broken.sql") {
		t.Fatalf("broken step: %v", err)
	}

	if left, err := filepath.Glob(filepath.Join(dir, "*.before-*")); err != nil || len(left) > 0 {
		t.Errorf("a step that failed left %q, %v", left, err)
	}

	good := with(t, fstest.MapFS{"9001_mood.sql": {Data: []byte("ALTER TABLE session ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';")}})
	s, err = open(t.Context(), Config{Dir: dir}, good)
	if err != nil {
		t.Fatal(err)
	}
	backup := s.Opened().Backup
	if v, err := s.View(t.Context(), id); err != nil || v.Title != "old" {
		t.Errorf("%+v, %v", v, err)
	}
	var names string
	if _, err := s.queryRow(t.Context(), "SELECT group_concat(name) FROM migration", nil, &names); err != nil || !strings.Contains(names, "0001_ledger.sql,9001_mood.sql") {
		t.Errorf("steps on record: %q, %v", names, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// The backup is a whole ledger of the format before.
	c, err := openConn(t.Context(), backup, toRead)
	if err != nil {
		t.Fatal(err)
	}
	var version, events int
	if _, err := c.get("PRAGMA user_version", nil, &version); err != nil || version != 1 {
		t.Errorf("version %d, %v", version, err)
	}
	if _, err := c.get("SELECT count(*) FROM event", nil, &events); err != nil || events != 1 {
		t.Errorf("%d events, %v", events, err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}

	// The older program refuses the newer file.
	_, err = Open(t.Context(), Config{Dir: dir})
	var coded *domain.Error
	if !errors.As(err, &coded) || coded.Code != domain.CodeUnavailable {
		t.Errorf("older program: %v", err)
	}
}
