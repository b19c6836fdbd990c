package sessions_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/sessions"
)

// filled makes a ledger of two sessions with some life in them, and closes it.
func filled(t *testing.T) (dir string, ids []domain.SessionID) {
	t.Helper()
	dir = t.TempDir()
	s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		id := newSession(t, s)
		run, lease := newRun(t, s, id)
		for range 3 {
			if _, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Generation: lease.Generation, Drafts: stepDrafts(run)}); err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, id)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, ids
}

func verify(t *testing.T, dir string, id domain.SessionID) sessions.Report {
	t.Helper()
	s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Verify(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// R19: triggers abort UPDATE and DELETE, and nobody can number events otherwise.
func TestEventsAreOnlyAdded(t *testing.T) {
	dir, ids := filled(t)
	db := openSQL(t, dir)
	for _, q := range []string{
		"UPDATE event SET payload = x'7b7d' WHERE pos = 3",
		"UPDATE event SET payload = NULL, salt = NULL WHERE pos = 3",
		"UPDATE event SET pos = 1000 WHERE pos = 3",
		"DELETE FROM event WHERE pos = 3",
		"DELETE FROM event",
		"INSERT OR REPLACE INTO event SELECT * FROM event WHERE pos = 3",
		"INSERT INTO event SELECT 1000, session, 1000, 'x', parent, caused_by, run, kind, created_at, cell, generation, payload_hash, prev_hash, hash, sig, salt, payload FROM event WHERE pos = 3",
		"INSERT INTO purge VALUES ('" + string(ids[0]) + "'); UPDATE event SET kind = 'x' WHERE session = '" + string(ids[0]) + "'",
		"UPDATE lease SET generation = 0",
		"UPDATE call SET state = 'executing' WHERE state = 'completed'", // R63, asserted by trigger
		"UPDATE call SET state = 'unknown'",
		"INSERT INTO call VALUES ('ses_x', 'call_x', 'executing', 1, 1)",
	} {
		if _, err := db.ExecContext(t.Context(), "BEGIN; "+q); err == nil {
			t.Errorf("was not refused: %s", q)
		}
		_, _ = db.ExecContext(t.Context(), "ROLLBACK")
	}
	if r := verify(t, dir, ""); !r.OK() {
		t.Error(r.Bad)
	}
}

// R64, R65: a flipped bit in any column of any table that carries evidence is
// found, and named by its place.
func TestAnyFlippedBitIsFoundAndNamed(t *testing.T) {
	dir, _ := filled(t)
	const pos = 11
	flips := map[string]string{}
	for _, c := range []string{"session", "id", "parent", "caused_by", "run", "kind", "cell"} {
		flips["event."+c] = fmt.Sprintf("UPDATE event SET %[1]s = 'X' || substr(%[1]s, 2) WHERE pos = %[2]d", c, pos)
	}
	for _, c := range []string{"seq", "created_at", "generation"} {
		flips["event."+c] = fmt.Sprintf("UPDATE event SET %[1]s = %[1]s + 1000000 WHERE pos = %[2]d", c, pos)
	}
	flips["event.pos"] = "UPDATE event SET pos = -11 WHERE pos = 11"
	flips["event deleted"] = "DELETE FROM event WHERE pos = 11"
	flips["events swapped"] = "UPDATE event SET pos = -1 WHERE pos = 11; UPDATE event SET pos = 11 WHERE pos = 12; UPDATE event SET pos = 12 WHERE pos = -1"
	flips["content taken away"] = "UPDATE event SET payload = NULL WHERE pos = 11"
	blob := func(table, column, where string, size int) {
		for _, at := range []int{1, size/2 + 1, size} {
			for _, bit := range []int{1, 0x80} {
				flips[fmt.Sprintf("%s.%s byte %d bit %#x", table, column, at, bit)] = fmt.Sprintf("FLIP %s %s %d %d %s", table, column, at, bit, where)
			}
		}
	}
	for column, size := range map[string]int{"payload": 60, "salt": 16, "payload_hash": 32, "prev_hash": 32, "hash": 32, "sig": 64} {
		blob("event", column, "pos = 11", size)
	}
	blob("tree", "hashes", "pos = 11", 32)
	blob("head", "root", "size = (SELECT max(size) FROM head)", 32)
	blob("head", "note", "size = (SELECT max(size) FROM head)", 120)
	blob("cell", "public_key", "1", 32)
	for name, change := range flips {
		t.Run(name, func(t *testing.T) {
			copied := copyDir(t, dir)
			tamper(t, copied, change)
			r := verify(t, copied, "")
			if r.OK() {
				t.Fatal("was not found")
			}
			place := r.Bad.Pos
			switch {
			case strings.HasPrefix(name, "cell."): // every event is signed by it
				place = 1
				if r.Bad.Pos != place {
					t.Errorf("named %v", r.Bad)
				}
			case strings.HasPrefix(name, "head."):
				if !strings.Contains(r.Bad.What, "signed head") {
					t.Errorf("named %v", r.Bad)
				}
			case strings.HasPrefix(name, "event") || strings.HasPrefix(name, "tree") || strings.HasPrefix(name, "content"):
				if place != pos && place != pos+1 { // a missing one is noticed by the next
					t.Errorf("named %v", r.Bad)
				}
			}
			if r.Bad.String() == "" || r.Bad.What == "" {
				t.Error("does not say what is wrong")
			}
		})
	}
}

// tamper changes a closed ledger behind its back.
func tamper(t *testing.T, dir, change string) {
	t.Helper()
	db := openSQL(t, dir)
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(q string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), q, args...); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	exec("DROP TRIGGER event_keep; DROP TRIGGER event_fixed; PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
	var table, column string
	var at, bit int
	if n, _ := fmt.Sscanf(change, "FLIP %s %s %d %d", &table, &column, &at, &bit); n == 4 {
		where := strings.SplitN(change, " ", 6)[5]
		var value []byte
		if err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %s FROM %s WHERE %s", column, table, where)).Scan(&value); err != nil {
			t.Fatal(err)
		}
		value[min(at, len(value))-1] ^= byte(bit)
		if column == "note" {
			exec(fmt.Sprintf("UPDATE %s SET %s = CAST(? AS TEXT) WHERE %s", table, column, where), value)
		} else {
			exec(fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s", table, column, where), value)
		}
		return
	}
	exec(change)
}

func copyDir(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(to, "cell.key"), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// R65: a ledger that was cut short, or put back to an older state, shows against
// the head that is kept outside of it.
func TestTruncationShowsThroughTheHeadOutside(t *testing.T) {
	dir, _ := filled(t)
	older := copyDir(t, dir)
	s := openStore(t, dir)
	id := newSession(t, s)
	add(t, s, id, domain.MessageSent{V: 1, MessageID: "msg_1", Text: "the last word"})
	last, err := s.LastPos(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir, ""); !r.OK() || r.Outside != last || r.Heads == 0 || r.Events != last {
		t.Fatalf("before: %+v, %v", r, r.Bad)
	}

	raw, err := os.ReadFile(filepath.Join(dir, "heads", "checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(older, "heads", "checkpoint"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	r := verify(t, older, "")
	if r.OK() || r.Bad.Pos != last-1 || !strings.Contains(r.Bad.What, "2 events are missing") {
		t.Errorf("older state: %v", r.Bad)
	}
	s = openStore(t, older)
	if s.Opened().Missing != 2 || len(s.Report()) != 1 {
		t.Errorf("the start does not say it: %+v", s.Opened())
	}

	// Everything after it is taken away with all traces inside the file.
	tamper(t, dir, fmt.Sprintf("DELETE FROM event WHERE pos > %[1]d; DELETE FROM tree WHERE pos > %[1]d; DELETE FROM head WHERE size > %[1]d; DELETE FROM search WHERE pos > %[1]d; DELETE FROM session WHERE id = '%[2]s'", last-2, id))
	if r := verify(t, dir, ""); r.OK() || r.Bad.Pos != last-1 || !strings.Contains(r.Bad.What, "outside") {
		t.Errorf("cut: %v", r.Bad)
	}
}

// A rewritten history, well-formed in itself, is not the one that was signed.
func TestReplacedHistoryShows(t *testing.T) {
	dir, _ := filled(t)
	outside, err := os.ReadFile(filepath.Join(dir, "heads", "checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sessions.db", "heads/checkpoint"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id := newSession(t, s)
	for range 60 {
		add(t, s, id, domain.SessionRenamed{V: 1, Title: "another story"})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "heads", "checkpoint"), outside, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir, ""); r.OK() || !strings.Contains(r.Bad.What, "history was replaced") {
		t.Errorf("%v", r.Bad)
	}
}

// R70: after deletion the content is in no file any more, and everything verifies.
func TestDeletedContentIsGone(t *testing.T) {
	dir := t.TempDir()
	s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id, other := newSession(t, s), newSession(t, s)
	for i := range 40 {
		add(t, s, id, domain.MessageSent{V: 1, MessageID: "msg_1", Text: fmt.Sprintf("canary-%d %s", i, strings.Repeat("sings ", 900))})
		add(t, s, other, domain.MessageSent{V: 1, MessageID: "msg_1", Text: "stays"})
	}
	if err := s.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	look := func(when string) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			if bytes.Contains(raw, []byte("canary-")) {
				t.Errorf("%s: the content is still in %s", when, d.Name())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	look("while open")
	r, err := s.Verify(t.Context(), "")
	if err != nil || !r.OK() || r.Tombstones != 41 || r.Events != 82 {
		t.Errorf("%+v, %v, %v", r, r.Bad, err)
	}
	if err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.View(t.Context(), id); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("rebuilding brought it back: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look("after closing")
}

// Verification of one session, and of many heads.
func TestVerifySession(t *testing.T) {
	dir, ids := filled(t)
	r := verify(t, dir, ids[1])
	if !r.OK() || r.Events != 20 || r.Sessions != 1 || r.Cells != 1 {
		t.Errorf("%+v %v", r, r.Bad)
	}
	tamper(t, dir, "DELETE FROM event WHERE seq = 20 AND session = '"+string(ids[1])+"'")
	if r := verify(t, dir, ids[1]); r.OK() || r.Bad.Seq != 20 {
		t.Errorf("cut session: %v", r.Bad)
	}
	if r := verify(t, dir, ids[0]); !r.OK() {
		t.Errorf("the other session: %v", r.Bad)
	}
	s := openStore(t, dir)
	if _, err := s.Verify(t.Context(), "ses_none"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Verify(ctx, ""); err == nil {
		t.Error("an ended context is not noticed")
	}
}

// A head is signed at least every 256 events, and the last one covers everything.
func TestHeadsAreSignedInTime(t *testing.T) {
	dir := t.TempDir()
	s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id := newSession(t, s)
	for range 900 {
		add(t, s, id, domain.SessionRenamed{V: 1, Title: "x"})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := openSQL(t, dir)
	rows, err := db.QueryContext(t.Context(), "SELECT size FROM head ORDER BY size")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var prev, n sql.Null[int64]
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n.V-prev.V > 256 {
			t.Errorf("no head between %d and %d", prev.V, n.V)
		}
		prev = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if prev.V != 901 {
		t.Errorf("the last head covers %d of 901", prev.V)
	}
}
