package sessions_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"worksite/sessions"
)

// flips draws bits of event rows, one after the other.
type flips struct {
	r      *rand.Rand
	events int64
}

// columns of an event row; the number says how its bits are told apart.
var flipped = []string{
	"pos", "session", "seq", "id", "parent", "caused_by", "run", "kind", "created_at", "cell", "generation",
	"payload_hash", "prev_hash", "hash", "sig", "salt", "payload",
}

// draw returns a column, a position, and the statement that flips one bit there.
// Text and bytes are flipped in place, whole numbers by an exclusive or.
func (f *flips) draw(t *testing.T, get func(query string, args ...any) []byte) (column string, pos int64, statement string, args []any) {
	t.Helper()
	for {
		column, pos = flipped[f.r.IntN(len(flipped))], 1+f.r.Int64N(f.events)
		switch column {
		case "pos", "seq", "created_at", "generation":
			bit := int64(1) << f.r.IntN(62)
			return column, pos, fmt.Sprintf("UPDATE event SET %[1]s = (%[1]s | ?1) - (%[1]s & ?1) WHERE pos = ?2", column), []any{bit, pos}
		}
		value := get(fmt.Sprintf("SELECT CAST(%s AS BLOB) FROM event WHERE pos = ?", column), pos)
		if len(value) == 0 {
			continue // nothing there to flip
		}
		value[f.r.IntN(len(value))] ^= 1 << f.r.IntN(8)
		as := "?1"
		switch column {
		case "session", "id", "parent", "caused_by", "run", "kind", "cell":
			as = "CAST(?1 AS TEXT)"
		}
		return column, pos, fmt.Sprintf("UPDATE event SET %s = %s WHERE pos = ?2", column, as), []any{value, pos}
	}
}

// R64, R65: any single bit that flips in any row of the events is found, and the
// row it is in is named; when it makes a row another row's, the gap is named.
func TestAnyFlip(t *testing.T) {
	want := 100
	if soaking() {
		want = 1000
	}
	dir, _ := filled(t)
	events := verify(t, dir, "").Events
	s := openStore(t, dir)
	db := openSQL(t, dir)
	db.SetMaxOpenConns(1)
	exec := func(q string, args ...any) error {
		_, err := db.ExecContext(t.Context(), q, args...)
		return err
	}
	for _, q := range []string{"DROP TRIGGER event_keep", "DROP TRIGGER event_fixed", "PRAGMA ignore_check_constraints = ON", "PRAGMA foreign_keys = OFF"} {
		if err := exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec("CREATE TEMP TABLE whole AS SELECT * FROM event"); err != nil {
		t.Fatal(err)
	}
	get := func(query string, args ...any) (value []byte) {
		if err := db.QueryRowContext(t.Context(), query, args...).Scan(&value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	f := &flips{r: rand.New(rand.NewPCG(65, 1)), events: events}
	by, found := map[string]int{}, 0
	for done := 0; done < want; {
		column, pos, statement, args := f.draw(t, get)
		if err := exec(statement, args...); err != nil {
			continue // there is another row with this key: the engine itself refuses it
		}
		if bad := located(t.Context(), s, column, pos); bad != "" {
			t.Errorf("a bit of %s at position %d: %s", column, pos, bad)
		} else {
			found++
		}
		done++
		by[column]++
		// Back to what it was, by a copy of the whole table when the row is another now.
		if err := exec("DELETE FROM event WHERE pos NOT IN (SELECT pos FROM whole) OR pos = ?", pos); err != nil {
			t.Fatal(err)
		}
		if err := exec("INSERT INTO event SELECT * FROM whole WHERE pos = ?", pos); err != nil {
			if err := exec("DROP TRIGGER IF EXISTS event_order"); err != nil {
				t.Fatal(err)
			}
			if err := exec("INSERT INTO event SELECT * FROM whole WHERE pos = ?", pos); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r, err := s.Verify(t.Context(), ""); err != nil || !r.OK() {
		t.Errorf("put back it is not whole: %v, %v", r.Bad, err)
	}
	if len(by) != len(flipped) {
		t.Errorf("only these columns were flipped: %v", by)
	}
	figure(t, "flipped bits", "%d in %d columns of %d event rows: %d located", want, len(by), events, found)
}

// located says what is wrong with how Verify names a flip, "" for nothing.
func located(ctx context.Context, s *sessions.Store, column string, pos int64) string {
	r, err := s.Verify(ctx, "")
	switch {
	case err != nil:
		return err.Error()
	case r.OK():
		return "is not found"
	case r.Bad.Pos == pos:
		return ""
	case column == "pos" && strings.Contains(r.Bad.What, fmt.Sprintf("position %d is missing", pos)):
		return "" // the row stands elsewhere now
	}
	return fmt.Sprintf("is named %v", r.Bad)
}
