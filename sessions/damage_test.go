package sessions_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/sessions"
)

// R144: garbage in any page of the file never stops the start; what can be read
// is there, what is there is proven, and the person is told.
func TestGarbagePagesNeverStopTheStart(t *testing.T) {
	dir, ids := filled(t)
	whole, err := os.ReadFile(filepath.Join(dir, "sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	garbage := make([]byte, 4096)
	if _, err := rand.Read(garbage); err != nil {
		t.Fatal(err)
	}
	const page = 4096
	asideSeen, rescuedSeen, metSeen := 0, 0, 0
	for n := range len(whole) / page {
		broken := copyDir(t, dir)
		damaged := bytes.Clone(whole)
		copy(damaged[n*page:], garbage)
		if err := os.WriteFile(filepath.Join(broken, "sessions.db"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		// Whatever meets the damage marks the file; the start after it sets it aside.
		for attempt := 1; ; attempt++ {
			if attempt > 3 {
				t.Fatalf("page %d: damaged after %d starts", n, attempt-1)
			}
			s, err := sessions.Open(t.Context(), sessions.Config{Dir: broken})
			if err != nil {
				t.Fatalf("page %d: %v", n, err)
			}
			o := s.Opened()
			if o.SetAside != "" {
				asideSeen++
				kept, err := os.ReadFile(o.SetAside)
				whole := bytes.Equal(kept, damaged)
				if attempt > 1 { // it was written to before the damage was met
					whole = bytes.Contains(kept, garbage)
				}
				if err != nil || !whole {
					t.Errorf("page %d: the damaged file was not set aside whole (%v)", n, err)
				}
				if len(s.Report()) < 2 || !strings.Contains(s.Report()[0], "set aside") {
					t.Errorf("page %d: the person is not told: %q", n, s.Report())
				}
				if o.Rescued.Events > 0 {
					rescuedSeen++
				}
			}
			met := false // by an ordinary append or read
			id := domain.NewSessionID()
			_, appendErr := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.SessionCreated{V: 1}}}})
			for _, id := range ids {
				_, err := s.Read(t.Context(), id, domain.Span{})
				if err != nil && domain.CodeOf(err) != domain.CodeNotFound && domain.CodeOf(err) != domain.CodeUnavailable {
					t.Errorf("page %d: %v", n, err)
				}
				met = met || domain.CodeOf(err) == domain.CodeUnavailable
			}
			if met || appendErr != nil { // that alone must do
				_ = s.Close() // may not be able to sign its last head
				metSeen++
				continue
			}
			r, err := s.Verify(t.Context(), "")
			if err != nil {
				t.Fatalf("page %d: verify: %v", n, err)
			}
			closeErr := s.Close()
			if r.OK() {
				if closeErr != nil {
					t.Errorf("page %d: close: %v", n, closeErr)
				}
				break
			}
			if o.SetAside != "" {
				t.Fatalf("page %d: the new ledger is no good either: %v, %v", n, appendErr, r.Bad)
			}
		}
	}
	if asideSeen == 0 || rescuedSeen == 0 || metSeen == 0 {
		t.Errorf("set aside %d times, rescued %d times, met %d times: the test shows nothing", asideSeen, rescuedSeen, metSeen)
	}
}

// R144: whatever else lies where the ledger should be.
func TestOtherFilesAreSetAside(t *testing.T) {
	dir, _ := filled(t)
	whole, err := os.ReadFile(filepath.Join(dir, "sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"text":    []byte("These are my notes, not a database. " + strings.Repeat("More of them. ", 400)),
		"short":   []byte("SQLite"),
		"zeros":   make([]byte, 8192),
		"cut":     whole[:len(whole)/2/4096*4096],
		"header":  append([]byte("SQLite format 3\x00"), bytes.Repeat([]byte{7}, 5000)...),
		"foreign": foreignDatabase(t),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "sessions.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			s := openStore(t, dir)
			o := s.Opened()
			if o.SetAside == "" || o.Damage == "" {
				t.Fatalf("%+v", o)
			}
			if kept, err := os.ReadFile(o.SetAside); err != nil || !bytes.Equal(kept, content) {
				t.Errorf("not kept whole: %v", err)
			}
			newSession(t, s)
		})
	}
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "sessions.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := openStore(t, empty); s.Opened().SetAside != "" {
		t.Error("an empty file is a new ledger, not a damaged one")
	}
}

// R144: what is derived from the events is derived again when it cannot be read.
func TestUnreadableListsAreRebuilt(t *testing.T) {
	dir, ids := filled(t)
	before := derived(t, dir)
	tamper(t, dir, "UPDATE session SET head = substr(head, 1, 40) WHERE id = '"+string(ids[1])+"'")
	s := openStore(t, dir)
	if !s.Opened().Rebuilt || len(s.Report()) != 1 {
		t.Errorf("%+v", s.Opened())
	}
	if after := derived(t, dir); after != before {
		t.Errorf("derived again:\n%s\nwas\n%s", after, before)
	}
	list, err := s.Views(t.Context(), true)
	if err != nil || len(list) != 2 {
		t.Errorf("%d, %v", len(list), err)
	}
}

func foreignDatabase(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	db := openSQL(t, dir)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE notes (a TEXT); INSERT INTO notes VALUES ('x')"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	raw, err := os.ReadFile(filepath.Join(dir, "sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A lost cell key begins a new identity; what the old one signed stays verifiable.
func TestLostKeyBeginsANewCell(t *testing.T) {
	dir, ids := filled(t)
	info, err := os.Stat(filepath.Join(dir, "cell.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the key: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cell.key"), []byte("oops"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	if s.Opened().KeySetAside == "" || len(s.Report()) != 1 {
		t.Errorf("%+v", s.Opened())
	}
	add(t, s, ids[0], domain.SessionRenamed{V: 1, Title: "by another cell"})
	if r, err := s.Verify(t.Context(), ""); err != nil || !r.OK() || r.Cells != 2 {
		t.Errorf("%+v %v %v", r, r.Bad, err)
	}
}

// The identity is derived from the key and stays over restarts.
func TestCellStaysTheSame(t *testing.T) {
	dir, _ := filled(t)
	a := openStore(t, dir).Cell()
	b := openStore(t, dir).Cell()
	if a.ID != b.ID || !bytes.Equal(a.PublicKey, b.PublicKey) || len(a.ID) != len("cell_")+26 {
		t.Errorf("%+v, then %+v", a, b)
	}
}

// R144: the start takes no longer with a long ledger: it reads ends, not all of it.
func TestStartReadsOnlyEnds(t *testing.T) {
	dir := t.TempDir()
	s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id := newSession(t, s)
	for range 40 {
		list := make([]domain.Payload, 250)
		for i := range list {
			list[i] = message()
		}
		add(t, s, id, list...)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	if took := s.Opened().Took; took > 500*time.Millisecond { // generous: it is a few ms
		t.Errorf("the start took %v with 10,000 events", took)
	}
	t.Logf("start with 10,000 events: %v", s.Opened().Took)
}

// A session of another ledger's future must not be touched.
func TestNewerFormatIsRefused(t *testing.T) {
	dir, _ := filled(t)
	db := openSQL(t, dir)
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	before, err := os.ReadFile(filepath.Join(dir, "sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = sessions.Open(t.Context(), sessions.Config{Dir: dir})
	if domain.CodeOf(err) != domain.CodeUnavailable || domain.HintOf(err) == "" || !strings.Contains(fmt.Sprint(err), "newer") {
		t.Errorf("%v, hint %q", err, domain.HintOf(err))
	}
	if after, err := os.ReadFile(filepath.Join(dir, "sessions.db")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was touched: %v", err)
	}
}
