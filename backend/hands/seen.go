package hands

import (
	"sync"

	"worksite/backend/domain"
)

// Seen remembers, per session, which state of which file the model was given to
// read. It is a cache of the ledger: [Seen.Apply] rebuilds it from events.
type Seen struct {
	mu sync.Mutex
	m  map[domain.SessionID]map[string]domain.Hash
}

// NewSeen returns an empty memory.
func NewSeen() *Seen { return &Seen{m: map[domain.SessionID]map[string]domain.Hash{}} }

// Mark records that the session knows the file at path in the state hash.
func (s *Seen) Mark(session domain.SessionID, path string, hash domain.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m[session] == nil {
		s.m[session] = map[string]domain.Hash{}
	}
	s.m[session][path] = hash
}

// Hash returns the state in which the session last saw the file.
func (s *Seen) Hash(session domain.SessionID, path string) (domain.Hash, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.m[session][path]
	return h, ok
}

// Forget drops a session.
func (s *Seen) Forget(session domain.SessionID) {
	s.mu.Lock()
	delete(s.m, session)
	s.mu.Unlock()
}

// Apply replays one event of a session: what a completed call gave to read, and
// what the model itself wrote.
func (s *Seen) Apply(e domain.Event) {
	switch e.Kind {
	case domain.ToolCallCompleted{}.Kind():
		if p, ok := domain.PayloadOf[domain.ToolCallCompleted](e); ok {
			for _, f := range p.Output.Seen {
				s.Mark(e.Session, f.Path, f.Post)
			}
		}
	case domain.FileWritten{}.Kind():
		if p, ok := domain.PayloadOf[domain.FileWritten](e); ok {
			s.Mark(e.Session, p.File.Path, p.File.Post)
		}
	}
}

// Check refuses a change of a file that the session has not read, or that is no
// longer as it was read.
func (s *Seen) Check(session domain.SessionID, path string, now domain.Hash) error {
	was, ok := s.Hash(session, path)
	switch {
	case !ok:
		return domain.Errorf(domain.CodeConflict, "%s exists but was not read in this session; read it first, then change it", path)
	case was != now:
		return domain.Errorf(domain.CodeConflict, "%s was changed since it was read; read it again, then change it", path)
	}
	return nil
}
