package service

import (
	"context"
	"strings"
	"unicode/utf8"

	"worksite/backend/domain"
	"worksite/sessions/projection"
)

// onlyWake, as a reason to run, settles what a crash left and goes no further.
const onlyWake = "only wake"

// by is how the person at this machine is named in the ledger.
const by = "you"

// Send records the person's message and starts a run on it; while a run goes on
// the message is queued. The message is durable when Send returns.
func (s *Service) Send(ctx context.Context, id domain.SessionID, m NewMessage) (Receipt, error) {
	if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 {
		return Receipt{}, domain.Errorf(domain.CodeInvalid, "the message is empty")
	}
	if !utf8.ValidString(m.Text) {
		m.Text = strings.ToValidUTF8(m.Text, "\uFFFD")
	}
	message := domain.NewMessageID()
	for {
		v, err := s.ledger.View(ctx, id)
		if err != nil {
			return Receipt{}, err
		}
		if r := v.Run; r != nil && !ended(r.State) {
			receipt, err := s.queue(ctx, v, message, m)
			if c := domain.CodeOf(err); c == domain.CodeConflict || c == domain.CodeFinished {
				continue // the run ended meanwhile
			}
			return receipt, err
		}
		run := domain.NewRunID()
		sent := domain.Draft{ID: domain.NewEventID(), Run: run, Payload: domain.MessageSent{
			V: 1, MessageID: message, Text: m.Text, Attachments: m.Attachments,
		}}
		drafts := []domain.Draft{sent, s.runStarted(v, run, message, sent.ID, m.Budget)}
		if v.Title == "" {
			drafts = append(drafts, domain.Draft{CausedBy: sent.ID, Payload: domain.SessionRenamed{V: 1, Title: titleFrom(m.Text)}})
		}
		_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: id, ExpectSeq: &v.LastSeq, Drafts: drafts})
		if domain.CodeOf(err) == domain.CodeConflict {
			continue // somebody else appended; look again
		}
		if err != nil {
			return Receipt{}, err
		}
		s.runner.kick(id, "")
		return Receipt{Session: id, Run: run, Pending: true, Durable: true}, nil
	}
}

func (s *Service) runStarted(v projection.Session, run domain.RunID, message domain.MessageID, cause domain.EventID, budget *domain.Budget) domain.Draft {
	s.mu.Lock()
	limits := s.settings.Budget
	s.mu.Unlock()
	if budget != nil {
		limits = *budget
	}
	return domain.Draft{Run: run, CausedBy: cause, Payload: domain.RunStarted{
		V: 1, MessageID: message, Mode: v.Mode, Model: v.Model, Budget: limits, Ceiling: ceiling(),
	}}
}

// ceiling is what the agent of a local session may do at most.
func ceiling() []domain.Capability {
	return []domain.Capability{domain.CapRead, domain.CapWrite, domain.CapRun, domain.CapPlan, domain.CapArtifact}
}

func (s *Service) queue(ctx context.Context, v projection.Session, message domain.MessageID, m NewMessage) (Receipt, error) {
	_, err := s.ledger.Append(ctx, domain.AppendRequest{Session: v.ID, Drafts: []domain.Draft{{Run: v.Run.ID, Payload: domain.MessageQueued{
		V: 1, MessageID: message, Text: m.Text, Attachments: m.Attachments, Steer: m.Steer,
	}}}})
	if err != nil {
		return Receipt{}, err
	}
	r := Receipt{Session: v.ID, Run: v.Run.ID, Pending: true, Durable: true, Queued: true, Reason: "A run is going on; the message is taken up when it gets there."}
	if s.runner.here(v.ID) {
		s.runner.kick(v.ID, "")
	}
	return r, nil
}

// Unqueue takes a queued message back.
func (s *Service) Unqueue(ctx context.Context, id domain.SessionID, message domain.MessageID) error {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return err
	}
	for _, q := range v.Queue {
		if q.Message.MessageID == message {
			_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.MessageUnqueued{V: 1, MessageID: message}}}})
			return err
		}
	}
	return domain.Errorf(domain.CodeConflict, "the message is not in the queue any more; the run has taken it")
}

// Cancel stops the session's run, in whatever process it is carried out.
func (s *Service) Cancel(ctx context.Context, id domain.SessionID) error {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return err
	}
	if v.Run == nil || ended(v.Run.State) {
		return domain.Errorf(domain.CodeFinished, "there is no run to stop")
	}
	_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Run: v.Run.ID, Payload: domain.RunCancelRequested{V: 1}}}})
	if err != nil {
		return err
	}
	if s.runner.here(id) {
		s.runner.cancel(id)
	} else if s.idle(ctx, id) {
		s.runner.kick(id, "") // nobody runs it: close it here
	}
	return nil
}

// idle reports whether no living process holds the session's lease.
func (s *Service) idle(ctx context.Context, id domain.SessionID) bool {
	l, held, err := s.ledger.LeaseOf(ctx, id)
	return err == nil && (!held || s.holder.dead(l.Holder))
}

// Continue computes on: an interrupted run goes on from its last committed event.
// It is not how to watch one; that is Subscribe.
func (s *Service) Continue(ctx context.Context, id domain.SessionID) (Receipt, error) {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	switch {
	case v.Run == nil:
		return Receipt{}, domain.Errorf(domain.CodeNotFound, "this session has no run yet").WithHint("Send a message to begin.")
	case ended(v.Run.State):
		return Receipt{}, domain.Errorf(domain.CodeFinished, "the run has ended (%s); there is nothing to continue", v.Run.State).
			WithHint("Send a message to begin another run, or fork the session before its end.")
	case !s.runner.here(id) && !s.idle(ctx, id):
		return Receipt{}, domain.Errorf(domain.CodeConflict, "another window or process runs this session now").WithHint("Follow it live; messages you send are queued.")
	}
	s.runner.kick(id, "asked")
	return Receipt{Session: id, Run: v.Run.ID, Pending: true, Durable: true}, nil
}

// Retry starts a new run on the last instruction, after one that failed or was stopped.
func (s *Service) Retry(ctx context.Context, id domain.SessionID) (Receipt, error) {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	if v.Run == nil || !ended(v.Run.State) || v.Run.State == projection.RunDone {
		return Receipt{}, domain.Errorf(domain.CodeConflict, "only a run that failed or was stopped can be tried again")
	}
	run := domain.NewRunID()
	_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: id, ExpectSeq: &v.LastSeq, Drafts: []domain.Draft{
		s.runStarted(v, run, v.Run.MessageID, v.Leaf, nil),
	}})
	if err != nil {
		return Receipt{}, err
	}
	s.runner.kick(id, "")
	return Receipt{Session: id, Run: run, Pending: true, Durable: true}, nil
}

// Resolve records the person's decision on a call of which nobody knows whether
// it took effect, and goes on.
func (s *Service) Resolve(ctx context.Context, id domain.SessionID, call domain.CallID, resolution, note string) error {
	switch resolution {
	case "retry", "done", "skip":
	default:
		return domain.Errorf(domain.CodeInvalid, "a call is resolved by retry, done or skip, not %q", resolution)
	}
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return err
	}
	for _, c := range v.Unknown {
		if c == call {
			_, err := s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Run: v.Run.ID, Payload: domain.ToolCallResolved{
				V: 1, CallID: call, Resolution: resolution, Note: note,
			}}}})
			if err == nil {
				s.runner.kick(id, "asked")
			}
			return err
		}
	}
	return domain.Errorf(domain.CodeConflict, "this call is not waiting for a decision (any more)")
}

// Wait blocks until this process has nothing more to do for the session, or ctx ends.
func (s *Service) Wait(ctx context.Context, id domain.SessionID) error {
	s.runner.mu.Lock()
	a := s.runner.active[id]
	s.runner.mu.Unlock()
	if a != nil {
		select {
		case <-a.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble[id]
}

// appendContinued records that the run goes on here.
func (s *Service) appendContinued(ctx context.Context, lease domain.Lease, reason string) error {
	v, err := s.ledger.View(ctx, lease.Session)
	if err != nil || v.Run == nil || ended(v.Run.State) {
		return err
	}
	_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: lease.Session, Generation: lease.Generation, Drafts: []domain.Draft{{
		Run: v.Run.ID, Payload: domain.RunContinued{V: 1, Reason: reason},
	}}})
	return err
}

func titleFrom(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 72
	if r := []rune(line); len(r) > most {
		cut := string(r[:most])
		if i := strings.LastIndexByte(cut, ' '); i > most/2 {
			cut = cut[:i]
		}
		return cut + "…"
	}
	if line == "" {
		return "Untitled"
	}
	return line
}

// ended reports whether a run's state is one of its endings.
func ended(state projection.RunState) bool { return state.Ended() }
