package sessions_test

import (
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/sessions"
)

// openStore opens a ledger in dir and closes it with the test.
func openStore(t testing.TB, dir string) *sessions.Store {
	t.Helper()
	s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// add appends what a person may write and returns the events.
func add(t testing.TB, s *sessions.Store, id domain.SessionID, list ...domain.Payload) []domain.Event {
	t.Helper()
	drafts := make([]domain.Draft, len(list))
	for i, p := range list {
		drafts[i].Payload = p
	}
	events, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: drafts})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func newSession(t testing.TB, s *sessions.Store) domain.SessionID {
	t.Helper()
	id := domain.NewSessionID()
	add(t, s, id, domain.SessionCreated{V: 1, Title: "Region field", TaskKind: domain.TaskCoding, Mode: domain.ModeAsk})
	return id
}

// newRun starts a run and takes its lease.
func newRun(t testing.TB, s *sessions.Store, id domain.SessionID) (domain.RunID, domain.Lease) {
	t.Helper()
	run := domain.NewRunID()
	_, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{
		{Run: run, Payload: domain.RunStarted{V: 1, MessageID: domain.NewMessageID(), Mode: domain.ModeAsk}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), id, "test", time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run, lease
}
