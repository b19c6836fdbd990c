package policy

import (
	"math"
	"sync"

	"worksite/backend/domain"
)

// Meter keeps the budget of a run: what was spent, and what is set aside for work
// that has begun. It is safe for concurrent use; what is spent and set aside
// together never exceeds the limit, unless something cost more than it had set
// aside, which is then recorded as it is.
type Meter struct {
	mu    sync.Mutex
	limit domain.Budget
	spent domain.Budget
	held  map[string]domain.Budget
}

// NewMeter returns a meter for a run that has already spent something. A zero in
// limit is no bound of that kind.
func NewMeter(limit, spent domain.Budget) *Meter {
	return &Meter{limit: limit, spent: spent, held: map[string]domain.Budget{}}
}

// Reserve sets amount aside under id, the message or call it is for. It is refused
// with CodeForbidden when that would exceed a bound, and with CodeConflict when id
// has something set aside already.
func (m *Meter) Reserve(id string, amount domain.Budget) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.held[id]; ok {
		return domain.Errorf(domain.CodeConflict, "%s has a reservation already", id)
	}
	if !positive(amount) {
		return domain.Errorf(domain.CodeInvalid, "a reservation cannot be negative")
	}
	if name := exceeded(m.limit, add(m.taken(), amount)); name != "" {
		return domain.Errorf(domain.CodeForbidden, "the run's bound of %s is reached", name)
	}
	m.held[id] = amount
	return nil
}

// Settle replaces the reservation of id by what was really spent.
func (m *Meter) Settle(id string, real domain.Budget) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.held[id]; !ok {
		return domain.Errorf(domain.CodeNotFound, "%s has no reservation", id)
	}
	if !positive(real) {
		return domain.Errorf(domain.CodeInvalid, "what was spent cannot be negative")
	}
	delete(m.held, id)
	m.spent = add(m.spent, real)
	return nil
}

// Return gives the reservation of id back, e.g. when the work was never done.
func (m *Meter) Return(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.held[id]; !ok {
		return domain.Errorf(domain.CodeNotFound, "%s has no reservation", id)
	}
	delete(m.held, id)
	return nil
}

// SetLimit changes the bounds. What is spent stays spent.
func (m *Meter) SetLimit(limit domain.Budget) {
	m.mu.Lock()
	m.limit = limit
	m.mu.Unlock()
}

// Taken returns what is spent and what is set aside, together.
func (m *Meter) Taken() domain.Budget {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.taken()
}

// Spent returns what is spent.
func (m *Meter) Spent() domain.Budget {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

func (m *Meter) taken() domain.Budget {
	sum := m.spent
	for _, a := range m.held {
		sum = add(sum, a)
	}
	return sum
}

func add(a, b domain.Budget) domain.Budget {
	return domain.Budget{Tokens: plus(a.Tokens, b.Tokens), Calls: plus(a.Calls, b.Calls), Seconds: plus(a.Seconds, b.Seconds), Steps: plus(a.Steps, b.Steps)}
}

// plus adds two amounts that are not negative, without wrapping around.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func positive(b domain.Budget) bool {
	return b.Tokens >= 0 && b.Calls >= 0 && b.Seconds >= 0 && b.Steps >= 0
}

// exceeded names the first bound that sum is over.
func exceeded(limit, sum domain.Budget) string {
	for _, b := range []struct {
		name       string
		limit, sum int64
	}{{"tokens", limit.Tokens, sum.Tokens}, {"calls", limit.Calls, sum.Calls}, {"seconds", limit.Seconds, sum.Seconds}, {"steps", limit.Steps, sum.Steps}} {
		if b.limit > 0 && b.sum > b.limit {
			return b.name
		}
	}
	return ""
}
