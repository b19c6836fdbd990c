package service

import (
	"context"
	"io"
	"slices"

	"worksite/backend/domain"
	"worksite/sessions/projection"
)

// SessionPatch changes what a session shows or how it goes on; nil leaves as is.
type SessionPatch struct {
	Title    *string          `json:"title,omitempty"`
	Mode     *domain.Mode     `json:"mode,omitempty"`
	Model    *domain.ModelRef `json:"model,omitempty"`
	Archived *bool            `json:"archived,omitempty"`
}

// Bootstrap answers a page's first question. Cursor is the ledger position the
// answer is true at; the page streams from there.
func (s *Service) Bootstrap(ctx context.Context, face string) (Bootstrap, error) {
	cursor, err := s.ledger.LastPos(ctx)
	if err != nil {
		return Bootstrap{}, err
	}
	all, err := s.Sessions(ctx, false)
	if err != nil {
		return Bootstrap{}, err
	}
	workspaces, err := s.Workspaces(ctx)
	if err != nil {
		return Bootstrap{}, err
	}
	approvals, err := s.Approvals(ctx)
	if err != nil {
		return Bootstrap{}, err
	}
	notices := s.Notices()
	s.mu.Lock()
	chosen, started := s.settings.Model, s.settings.Started
	s.mu.Unlock()
	if n, ok := s.sandboxNotice(ctx); ok {
		notices = append(notices, n)
	}
	return Bootstrap{
		Version: s.cfg.Version, Cell: s.ledger.Cell().ID, Face: face, DataDir: s.cfg.DataDir,
		FirstStart: !started, AsRoot: asRoot(), Notices: notices,
		Workspaces: workspaces, Sessions: all, Approvals: approvals, Model: chosen, Cursor: cursor,
	}, nil
}

// Sessions lists the sessions, newest change first; archived ones only when asked.
func (s *Service) Sessions(ctx context.Context, archived bool) ([]SessionView, error) {
	list, err := s.ledger.Views(ctx, archived)
	if err != nil {
		return nil, err
	}
	out := make([]SessionView, 0, len(list))
	for _, v := range list {
		out = append(out, s.view(ctx, v))
	}
	slices.SortStableFunc(out, func(a, b SessionView) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return out, nil
}

// Session returns the head of one session.
func (s *Service) Session(ctx context.Context, id domain.SessionID) (SessionView, error) {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return SessionView{}, err
	}
	return s.view(ctx, v), nil
}

func (s *Service) view(ctx context.Context, v projection.Session) SessionView {
	out := SessionView{
		ID: v.ID, Title: v.Title, Workspace: v.Workspace, TaskKind: v.TaskKind, Placement: v.Placement,
		Model: v.Model, Mode: v.Mode, LastSeq: v.LastSeq, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt,
		Archived: v.Archived, Waiting: len(v.Approvals), Consented: v.Consented,
	}
	if r := v.Run; r != nil {
		run := RunView{
			ID: r.ID, State: RunState(r.State), Reason: r.Reason, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
			Steps: r.Steps, Usage: r.Usage, Budget: r.Budget, Here: s.runner.here(v.ID), Survival: r.Found, Unknown: v.Unknown,
		}
		if r.State == projection.RunWorking && !run.Here && s.idle(ctx, v.ID) {
			run.State = RunInterrupted
			s.mu.Lock()
			if err := s.trouble[v.ID]; err != nil {
				run.Reason = err.Error()
			}
			s.mu.Unlock()
		}
		out.Run = &run
	}
	return out
}

// CreateSession opens a session on a workspace.
func (s *Service) CreateSession(ctx context.Context, req NewSession) (SessionView, error) {
	ws, err := s.workspaces.Get(ctx, req.Workspace)
	if err != nil {
		return SessionView{}, err
	}
	s.mu.Lock()
	mode, ref := s.settings.Mode, s.settings.Model
	s.mu.Unlock()
	if req.Mode != "" {
		mode = req.Mode
	}
	if err := checkMode(mode); err != nil {
		return SessionView{}, err
	}
	if req.Model != nil {
		ref = *req.Model
	}
	if ref.Provider == "" {
		if ref, err = s.models.Pick(ctx); err != nil {
			return SessionView{}, err
		}
	}
	kind := ws.TaskKind
	if req.TaskKind != "" {
		kind = req.TaskKind
	}
	id := domain.NewSessionID()
	_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.SessionCreated{
		V: 1, Title: req.Title, TaskKind: kind, Placement: domain.PlacementLocal, Workspace: ws.ID,
		WorkspacePath: ws.Path, Model: ref, Mode: mode,
	}}}})
	if err != nil {
		return SessionView{}, err
	}
	return s.Session(ctx, id)
}

func checkMode(m domain.Mode) error {
	switch m {
	case domain.ModePlan, domain.ModeAsk, domain.ModeEdits, domain.ModeAuto:
		return nil
	}
	return domain.Errorf(domain.CodeInvalid, "there is no permission mode %q", m).WithHint("The modes are plan, ask, edits and auto.")
}

// UpdateSession records each change that differs from what is.
func (s *Service) UpdateSession(ctx context.Context, id domain.SessionID, p SessionPatch) (SessionView, error) {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return SessionView{}, err
	}
	var drafts []domain.Draft
	add := func(payload domain.Payload) { drafts = append(drafts, domain.Draft{Payload: payload}) }
	if p.Title != nil && *p.Title != v.Title {
		add(domain.SessionRenamed{V: 1, Title: titleFrom(*p.Title)})
	}
	if p.Mode != nil && *p.Mode != v.Mode {
		if err := checkMode(*p.Mode); err != nil {
			return SessionView{}, err
		}
		add(domain.ModeChanged{V: 1, Mode: *p.Mode})
	}
	if p.Model != nil && *p.Model != v.Model {
		add(domain.ModelSelected{V: 1, Model: *p.Model})
	}
	if p.Archived != nil && *p.Archived != v.Archived {
		if *p.Archived && v.Run != nil && !ended(v.Run.State) {
			return SessionView{}, domain.Errorf(domain.CodeConflict, "the session's run has not ended").WithHint("Stop it first, then archive.")
		}
		add(domain.SessionArchived{V: 1, Archived: *p.Archived})
	}
	if len(drafts) > 0 {
		if _, err := s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: drafts}); err != nil {
			return SessionView{}, err
		}
	}
	return s.Session(ctx, id)
}

// DeleteSession removes a session's content for good; its run must have ended.
func (s *Service) DeleteSession(ctx context.Context, id domain.SessionID) error {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return err
	}
	if v.Run != nil && !ended(v.Run.State) {
		return domain.Errorf(domain.CodeConflict, "the session's run has not ended").WithHint("Stop it first, then delete.")
	}
	if err := s.ledger.Delete(ctx, id); err != nil {
		return err
	}
	s.harness.Forget(id)
	s.seen.Forget(id)
	if err := s.workspaces.ForgetSession(ctx, id); err != nil {
		return err
	}
	s.hub.Notify("session:" + string(id))
	return nil
}

// Events reads a session's events in order.
func (s *Service) Events(ctx context.Context, id domain.SessionID, span domain.Span) ([]domain.Event, error) {
	if _, err := s.ledger.View(ctx, id); err != nil {
		return nil, err
	}
	return s.ledger.Read(ctx, id, span)
}

// EventsBefore reads the limit events before a seq, in order.
func (s *Service) EventsBefore(ctx context.Context, id domain.SessionID, before int64, limit int) ([]domain.Event, error) {
	if _, err := s.ledger.View(ctx, id); err != nil {
		return nil, err
	}
	return s.ledger.ReadBefore(ctx, id, before, limit)
}

// MoveLeaf makes an earlier event the end of the conversation. Files are not touched.
func (s *Service) MoveLeaf(ctx context.Context, id domain.SessionID, to domain.EventID) error {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return err
	}
	if v.Run != nil && !ended(v.Run.State) {
		return domain.Errorf(domain.CodeConflict, "the session's run has not ended").WithHint("Stop it first, then go back to an earlier message.")
	}
	_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: id, ExpectSeq: &v.LastSeq, Drafts: []domain.Draft{{Payload: domain.LeafMoved{V: 1, To: to}}}})
	return err
}

// Export writes one session as lines of JSON.
func (s *Service) Export(ctx context.Context, id domain.SessionID, w io.Writer) error {
	return s.ledger.Export(ctx, id, w)
}

// Import takes an exported session in, after checking its chain and signatures.
func (s *Service) Import(ctx context.Context, r io.Reader) (domain.SessionID, error) {
	return s.ledger.Import(ctx, r)
}

// Search finds messages by their text.
func (s *Service) Search(ctx context.Context, text string) ([]SearchHit, error) {
	hits, err := s.ledger.Search(ctx, text, 100)
	if err != nil {
		return nil, err
	}
	out := make([]SearchHit, 0, len(hits))
	for _, h := range hits {
		out = append(out, SearchHit(h))
	}
	return out, nil
}
