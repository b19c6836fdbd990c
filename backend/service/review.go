package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/failpoint"
	"worksite/backend/workspace"
	"worksite/sessions/projection"
)

type (
	// CommitRequest commits what was accepted; Branch, when given, is a new one.
	CommitRequest struct {
		Message string   `json:"message"`
		Branch  string   `json:"branch,omitempty"`
		Paths   []string `json:"paths,omitempty"` // none: every file the session changed
	}
	// CommitAnswer names the commit that was made.
	CommitAnswer struct {
		Commit string `json:"commit"`
	}
	// RestoreRequest puts a session's files back; no paths is all of them.
	RestoreRequest struct {
		Paths  []string       `json:"paths,omitempty"`
		DryRun bool           `json:"dryRun,omitempty"`
		Undo   domain.EventID `json:"undo,omitempty"` // the restore to undo
	}
	// RestoreAnswer says what was, or would be, put back.
	RestoreAnswer struct {
		Restored []string       `json:"restored"`
		Skipped  []string       `json:"skipped"`
		Event    domain.EventID `json:"event,omitempty"` // to undo it by
		Changes  ChangesView    `json:"changes"`
	}
)

// reviewed is a session with its open workspace.
type reviewed struct {
	view projection.Session
	ws   *openWorkspace
}

func (s *Service) reviewed(ctx context.Context, id domain.SessionID) (reviewed, error) {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return reviewed{}, err
	}
	ws, err := s.open(ctx, v.Workspace)
	if err != nil {
		return reviewed{}, err
	}
	return reviewed{v, ws}, s.settle(ctx, v, ws)
}

// settle carries out, once per session and process, the newest review or restore
// in the ledger if a crash came between its record and its effect.
func (s *Service) settle(ctx context.Context, v projection.Session, ws *openWorkspace) error {
	s.mu.Lock()
	done := s.settled[v.ID]
	s.settled[v.ID] = true
	s.mu.Unlock()
	if done {
		return nil
	}
	const far = 2000 // events; a record further back was settled long ago
	events, err := s.ledger.ReadBefore(ctx, v.ID, v.LastSeq+1, far)
	if err != nil {
		return err
	}
	var changes []workspace.Change
	var newest time.Time
	for _, e := range slices.Backward(events) {
		if !newest.IsZero() && !e.CreatedAt.Equal(newest) {
			break // the events of one answer were appended together
		}
		switch e.Kind {
		case domain.HunkAccepted{}.Kind(), domain.HunkRejected{}.Kind(), domain.WorkspaceRestored{}.Kind():
			newest = e.CreatedAt
		default:
			continue
		}
		payload, err := domain.DecodePayload(e.Kind, e.Payload)
		if err != nil {
			return err
		}
		changes = append(changes, workspace.ChangesOf(v.ID, payload)...)
	}
	return s.workspaces.Settle(ctx, ws.Handle, newest, changes...)
}

// Changes compares the session's review base with the workspace as it is now.
func (s *Service) Changes(ctx context.Context, id domain.SessionID) (ChangesView, error) {
	r, err := s.reviewed(ctx, id)
	if err != nil {
		return ChangesView{}, err
	}
	return s.changes(ctx, r)
}

func (s *Service) changes(ctx context.Context, r reviewed) (ChangesView, error) {
	c, err := s.workspaces.Changes(ctx, r.view.ID, r.ws.Handle)
	if err != nil {
		return ChangesView{}, err
	}
	out := ChangesView{Session: r.view.ID, Based: c.Based, Files: []FileChange{}, Accepted: c.Accepted, Rejected: c.Rejected}
	for _, f := range c.Files {
		v := FileChange{
			Path: f.Path, Status: f.Status, Binary: f.Binary, TooBig: f.TooBig, Added: f.Added, Removed: f.Removed,
			Pre: f.Pre, Post: f.Post, ByYou: f.ByYou, Hunks: []Hunk{},
		}
		for _, h := range f.Hunks {
			hunk := Hunk{ID: h.ID, OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines, Section: h.Section}
			for _, l := range h.Lines {
				hunk.Lines = append(hunk.Lines, DiffLine{Op: l.Op, Text: l.Text, NoNL: l.NoNL})
			}
			v.Hunks = append(v.Hunks, hunk)
		}
		out.Files = append(out.Files, v)
		out.Hunks += max(len(v.Hunks), 1)
	}
	out.Git = s.git(ctx, r.view.Workspace)
	out.Message = proposedMessage(r.view.Title, out.Files)
	return out, nil
}

// proposedMessage is a commit message to start from.
func proposedMessage(title string, files []FileChange) string {
	if cut, ok := strings.CutSuffix(title, "…"); ok { // a title that was cut: end it where a clause ends
		title = cut
		if i := strings.LastIndex(title, ", "); i > 0 {
			title = title[:i]
		}
	}
	title = strings.TrimRight(strings.TrimSpace(title), ".,;: ")
	if title == "" && len(files) > 0 {
		title = "Change " + files[0].Path
	}
	return title
}

// Accept moves the review base forward by the named hunks: the changes stay in
// the files and are no longer open. The ledger has it first.
func (s *Service) Accept(ctx context.Context, id domain.SessionID, req ReviewRequest) (ReviewAnswer, error) {
	return s.review(ctx, id, req, s.workspaces.PlanAccept, s.workspaces.PlanAcceptAll)
}

// Reject takes the named hunks out of the files. Rejecting everything leaves alone
// what the person changed since, and says so.
func (s *Service) Reject(ctx context.Context, id domain.SessionID, req ReviewRequest) (ReviewAnswer, error) {
	return s.review(ctx, id, req, s.workspaces.PlanReject, s.workspaces.PlanRejectAll)
}

type planAllFunc func(ctx context.Context, session domain.SessionID, h *workspace.Handle) (workspace.Plan, error)

type planFunc func(ctx context.Context, session domain.SessionID, h *workspace.Handle, path string, hunks []string, post domain.Hash) (workspace.Change, error)

func (s *Service) review(ctx context.Context, id domain.SessionID, req ReviewRequest, plan planFunc, planAll planAllFunc) (ReviewAnswer, error) {
	r, err := s.reviewed(ctx, id)
	if err != nil {
		return ReviewAnswer{}, err
	}
	var out ReviewAnswer
	var todo workspace.Plan
	if req.Path == "" {
		todo, err = planAll(ctx, id, r.ws.Handle)
	} else {
		todo.Changes = make([]workspace.Change, 1)
		todo.Changes[0], err = plan(ctx, id, r.ws.Handle, req.Path, req.Hunks, req.Post)
	}
	if err != nil {
		return ReviewAnswer{}, err
	}
	for _, c := range todo.Conflicts {
		out.Skipped = append(out.Skipped, c.Path+": "+c.Reason)
	}
	var drafts []domain.Draft
	for _, c := range todo.Changes {
		drafts = append(drafts, domain.Draft{Payload: c.Payload(by)})
	}
	if len(drafts) > 0 {
		if _, err := s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: drafts}); err != nil {
			return ReviewAnswer{}, err
		}
		failpoint.Reach(failpoint.ReviewRecorded)
		err := s.workspaces.Apply(context.WithoutCancel(ctx), r.ws.Handle, todo.Changes...)
		failpoint.Reach(failpoint.ReviewApplied)
		if err != nil {
			if req.Path != "" {
				return ReviewAnswer{}, err
			}
			out.Skipped = append(out.Skipped, err.Error())
		}
	}
	if out.Changes, err = s.changes(ctx, r); err != nil {
		return ReviewAnswer{}, err
	}
	s.hub.Notify("changes:" + string(id))
	return out, nil
}

// Restore undoes the session's own writes, merged with what the person changed
// later; with Undo it undoes an earlier restore.
func (s *Service) Restore(ctx context.Context, id domain.SessionID, req RestoreRequest) (RestoreAnswer, error) {
	r, err := s.reviewed(ctx, id)
	if err != nil {
		return RestoreAnswer{}, err
	}
	if v := r.view.Run; v != nil && !ended(v.State) && !req.DryRun {
		return RestoreAnswer{}, domain.Errorf(domain.CodeConflict, "the session's run has not ended").WithHint("Stop it first, then restore.")
	}
	var plan workspace.RestorePlan
	if req.Undo != "" {
		done, err := s.restoreEvent(ctx, id, req.Undo)
		if err != nil {
			return RestoreAnswer{}, err
		}
		plan, err = s.workspaces.PlanUndo(ctx, id, r.ws.Handle, done.Files)
		if err != nil {
			return RestoreAnswer{}, err
		}
	} else if plan, err = s.workspaces.PlanRestore(ctx, id, r.ws.Handle, req.Paths); err != nil {
		return RestoreAnswer{}, err
	}
	out := RestoreAnswer{Restored: []string{}, Skipped: []string{}}
	for _, c := range plan.Conflicts {
		out.Skipped = append(out.Skipped, c.Path+": "+c.Reason)
	}
	for _, c := range plan.Changes {
		out.Restored = append(out.Restored, c.Path)
	}
	if !req.DryRun && len(plan.Changes) > 0 {
		events, err := s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: plan.Restored(req.Undo, by)}}})
		if err != nil {
			return RestoreAnswer{}, err
		}
		out.Event = events[0].ID
		failpoint.Reach(failpoint.RestoreRecorded)
		for _, c := range plan.Changes {
			if err := s.workspaces.Apply(context.WithoutCancel(ctx), r.ws.Handle, c); err != nil {
				out.Skipped = append(out.Skipped, fmt.Sprintf("%s: %v", c.Path, err))
				out.Restored = slices.DeleteFunc(out.Restored, func(p string) bool { return p == c.Path })
			}
			failpoint.Reach(failpoint.RestoreApplied)
		}
	}
	if out.Changes, err = s.changes(ctx, r); err != nil {
		return RestoreAnswer{}, err
	}
	return out, nil
}

func (s *Service) restoreEvent(ctx context.Context, id domain.SessionID, event domain.EventID) (domain.WorkspaceRestored, error) {
	events, err := s.ledger.Read(ctx, id, domain.Span{})
	if err != nil {
		return domain.WorkspaceRestored{}, err
	}
	for _, e := range events {
		if p, ok := domain.PayloadOf[domain.WorkspaceRestored](e); ok && e.ID == event {
			return p, nil
		}
	}
	return domain.WorkspaceRestored{}, domain.Errorf(domain.CodeNotFound, "there is no restore %s in this session", event)
}

// Commit makes a Git commit of the session's files, with the person's own
// identity and without running hooks. What is committed is adopted.
func (s *Service) Commit(ctx context.Context, id domain.SessionID, req CommitRequest) (CommitAnswer, error) {
	if strings.TrimSpace(req.Message) == "" {
		return CommitAnswer{}, domain.Errorf(domain.CodeInvalid, "the commit message is empty")
	}
	r, err := s.reviewed(ctx, id)
	if err != nil {
		return CommitAnswer{}, err
	}
	paths := req.Paths
	if len(paths) == 0 {
		if paths, err = s.workspaces.Touched(ctx, id); err != nil {
			return CommitAnswer{}, err
		}
	}
	commit, err := s.workspaces.Commit(ctx, r.view.Workspace, paths, req.Message, req.Branch)
	if err != nil {
		return CommitAnswer{}, err
	}
	_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.WorkspaceAdopted{
		V: 1, Paths: paths, How: "committed", Commit: commit, By: by,
	}}}})
	return CommitAnswer{Commit: commit}, err
}
