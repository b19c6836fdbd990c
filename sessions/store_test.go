package sessions_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"worksite/sessions"
	"worksite/sessions/sessionstest"
)

func TestMain(m *testing.M) {
	if role := child(); role != nil {
		role()
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// R25, R63, R68, R73, R117, R119, R120: the contract of every ledger, kept by SQLite.
func TestStoreKeepsTheContract(t *testing.T) {
	sessionstest.Suite(t, func(t *testing.T, now func() time.Time) sessionstest.Ledger {
		t.Helper()
		s, err := sessions.Open(t.Context(), sessions.Config{Dir: t.TempDir(), Now: now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}
