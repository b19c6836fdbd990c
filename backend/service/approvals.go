package service

import (
	"context"
	"slices"

	"worksite/backend/domain"
	"worksite/sessions/projection"
)

// Approvals lists the open requests of all sessions, oldest first.
func (s *Service) Approvals(ctx context.Context) ([]ApprovalView, error) {
	list, err := s.ledger.Views(ctx, true)
	if err != nil {
		return nil, err
	}
	out := []ApprovalView{}
	for _, v := range list {
		for _, a := range v.Approvals {
			out = append(out, ApprovalView{Session: v.ID, Title: v.Title, Run: a.Run, Seq: a.Seq, At: a.At, Request: a.Request})
		}
	}
	slices.SortStableFunc(out, func(a, b ApprovalView) int { return a.At.Compare(b.At) })
	return out, nil
}

// find looks for an open request in every session.
func (s *Service) find(ctx context.Context, id domain.ApprovalID) (projection.Session, projection.Approval, error) {
	list, err := s.ledger.Views(ctx, true)
	if err != nil {
		return projection.Session{}, projection.Approval{}, err
	}
	for _, v := range list {
		for _, a := range v.Approvals {
			if a.Request.ApprovalID == id {
				return v, a, nil
			}
		}
	}
	return projection.Session{}, projection.Approval{}, domain.Errorf(domain.CodeConflict,
		"this request is not open any more: it was answered elsewhere, or its run ended")
}

// Answer records the person's yes or no, once, and lets the run go on. The first
// of several answers wins; the others get CodeConflict. The digest must be the one
// that was shown.
func (s *Service) Answer(ctx context.Context, id domain.ApprovalID, answer ApprovalAnswer) error {
	for {
		v, a, err := s.find(ctx, id)
		if err != nil {
			return err
		}
		req := a.Request
		if answer.Digest != req.Digest {
			return domain.Errorf(domain.CodeConflict, "the answer is for something else than what is asked now").WithHint("Look at the request again.")
		}
		var payload domain.Payload
		switch answer.Decision {
		case "grant":
			granted := domain.ApprovalGranted{V: 1, ApprovalID: id, CallID: req.CallID, Digest: req.Digest, By: by}
			if answer.Scope != "" {
				i := slices.IndexFunc(req.Scopes, func(g domain.GrantScope) bool { return g.ID == answer.Scope })
				if i < 0 {
					return domain.Errorf(domain.CodeInvalid, "%q is not one of the offered permissions", answer.Scope)
				}
				granted.Scope = &req.Scopes[i]
			}
			payload = granted
		case "deny":
			payload = domain.ApprovalDenied{V: 1, ApprovalID: id, CallID: req.CallID, By: by, Note: answer.Note}
		default:
			return domain.Errorf(domain.CodeInvalid, "a request is answered by grant or deny, not %q", answer.Decision)
		}
		_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: v.ID, ExpectSeq: &v.LastSeq, Drafts: []domain.Draft{{Run: a.Run, Payload: payload}}})
		if domain.CodeOf(err) == domain.CodeConflict {
			continue // the session moved on: see whether it is still asked
		}
		if err != nil {
			return err
		}
		if s.runner.here(v.ID) || s.idle(ctx, v.ID) {
			s.runner.kick(v.ID, "approved")
		}
		return nil
	}
}

// Consent records whether the session's commands may run without a sandbox.
func (s *Service) Consent(ctx context.Context, id domain.SessionID, yes bool) error {
	if yes && asRoot() {
		return domain.Errorf(domain.CodeForbidden, "as root nothing is run unsandboxed").WithHint("Start Worksite as your own user.")
	}
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return err
	}
	if v.Consented == yes {
		return nil
	}
	status := s.sandbox.Status(ctx)
	if yes && status.OK {
		return domain.Errorf(domain.CodeConflict, "the sandbox works here; nothing needs to run without it")
	}
	_, err = s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: domain.SandboxConsented{
		V: 1, By: by, Reason: status.Detail, Revoked: !yes,
	}}}})
	return err
}
