package sessions

import (
	"context"
	"testing"
	"worksite/backend/domain"
)

func TestSmoke(t *testing.T) {
	s, err := Open(context.Background(), Config{Dir: t.TempDir()})
	if err != nil { t.Fatal(err) }
	id := domain.NewSessionID()
	run := domain.NewRunID()
	evs, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{
		{Payload: domain.SessionCreated{V: 1, Title: "Hi"}}, {Payload: domain.MessageSent{V:1, MessageID: "msg_1", Text: "Add a Region field"}}, {Run: run, Payload: domain.RunStarted{V:1}}}})
	if err != nil { t.Fatal(err) }
	t.Log(evs[2].Pos, evs[2].Seq)
	l, err := s.Acquire(t.Context(), id, "me", 1e9, nil)
	if err != nil { t.Fatal(err) }
	_, err = s.Append(t.Context(), domain.AppendRequest{Session: id, Generation: l.Generation, Drafts: []domain.Draft{{Run: run, Payload: domain.RunFinished{V: 1, Outcome: "done"}}}})
	if err != nil { t.Fatal(err) }
	v, err := s.View(t.Context(), id)
	t.Logf("%+v %+v %v", v, v.Run, err)
	h, err := s.Search(t.Context(), "region", 0)
	t.Logf("%+v %v", h, err)
	r, err := s.Verify(t.Context(), "")
	t.Logf("%+v %v %v", r, r.Bad, err)
	t.Logf("%+v", s.Opened())
	if err := s.Close(); err != nil { t.Fatal(err) }
}
