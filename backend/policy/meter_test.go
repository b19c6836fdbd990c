package policy

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"worksite/backend/domain"
)

// R67
func TestParallelReservationsNeverExceed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := domain.Budget{Tokens: rapid.Int64Range(1, 1000).Draw(t, "tokens"), Calls: rapid.Int64Range(0, 10).Draw(t, "calls")}
		m := NewMeter(limit, domain.Budget{})
		amounts := rapid.SliceOfN(rapid.Int64Range(0, 200), 1, 40).Draw(t, "amounts")
		ends := rapid.SliceOfN(rapid.IntRange(0, 2), len(amounts), len(amounts)).Draw(t, "ends")
		var wg sync.WaitGroup
		over := make(chan domain.Budget, len(amounts))
		for i, n := range amounts {
			wg.Go(func() {
				id := fmt.Sprint(i)
				if m.Reserve(id, domain.Budget{Tokens: n, Calls: 1}) != nil {
					return
				}
				if sum := m.Taken(); exceeded(limit, sum) != "" {
					over <- sum
				}
				switch ends[i] {
				case 0:
					_ = m.Settle(id, domain.Budget{Tokens: n / 2, Calls: 1})
				case 1:
					_ = m.Return(id)
				}
			})
		}
		wg.Wait()
		close(over)
		for sum := range over {
			t.Fatalf("took %+v of %+v", sum, limit)
		}
		// What is left over can be taken, and no more.
		left := limit.Tokens - m.Taken().Tokens
		if limit.Calls == 0 {
			if err := m.Reserve("rest", domain.Budget{Tokens: left}); err != nil {
				t.Fatalf("%d left and refused: %v", left, err)
			}
			if err := m.Reserve("more", domain.Budget{Tokens: 1}); domain.CodeOf(err) != domain.CodeForbidden {
				t.Fatalf("over the bound: %v", err)
			}
		}
	})
}

func TestMeter(t *testing.T) {
	m := NewMeter(domain.Budget{Tokens: 100}, domain.Budget{Tokens: 40})
	check := func(err error, want domain.Code) {
		t.Helper()
		if domain.CodeOf(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	check(m.Reserve("a", domain.Budget{Tokens: 61}), domain.CodeForbidden)
	check(m.Reserve("a", domain.Budget{Tokens: 60}), "")
	check(m.Reserve("a", domain.Budget{}), domain.CodeConflict)
	check(m.Reserve("b", domain.Budget{Tokens: 1}), domain.CodeForbidden)
	check(m.Reserve("b", domain.Budget{Tokens: -1}), domain.CodeInvalid)
	check(m.Settle("b", domain.Budget{}), domain.CodeNotFound)
	check(m.Settle("a", domain.Budget{Tokens: 70}), "") // it cost more: recorded as it is
	check(m.Return("a"), domain.CodeNotFound)
	if m.Spent().Tokens != 110 {
		t.Errorf("%+v", m.Spent())
	}
	check(m.Reserve("c", domain.Budget{Tokens: 1}), domain.CodeForbidden)
	m.SetLimit(domain.Budget{})
	check(m.Reserve("c", domain.Budget{Tokens: math.MaxInt64}), "")
	check(m.Return("c"), "")
	m.SetLimit(domain.Budget{Tokens: math.MaxInt64 - 1})
	check(m.Reserve("d", domain.Budget{Tokens: math.MaxInt64}), domain.CodeForbidden)
}
