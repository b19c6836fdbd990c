package sessionstest_test

import (
	"testing"
	"time"

	"worksite/sessions/sessionstest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	sessionstest.Suite(t, func(t *testing.T, now func() time.Time) sessionstest.Ledger {
		t.Helper()
		m := sessionstest.NewMemory()
		m.Clock = now
		t.Cleanup(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
		return m
	})
}
