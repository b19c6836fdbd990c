package workspace

import (
	"context"
	"maps"
	"slices"

	"worksite/backend/domain"
	"worksite/backend/workspace/git"
)

// GitStatus looks at the workspace's repository; nil without error when there is
// none or git is not installed.
func (s *Store) GitStatus(ctx context.Context, id domain.WorkspaceID) (*git.Status, error) {
	path, err := s.presentPath(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.git.Status(ctx, path)
}

// Commit commits exactly the given files (slash-separated, deleted ones too) under
// the person's own name, on a new branch when one is named, and returns the commit.
// What Git ignores is refused.
func (s *Store) Commit(ctx context.Context, id domain.WorkspaceID, paths []string, message, branch string) (string, error) {
	path, err := s.presentPath(ctx, id)
	if err != nil {
		return "", err
	}
	return s.git.Commit(ctx, path, git.Commit{Paths: paths, Message: message, Branch: branch})
}

// Touched lists the files that the session wrote or deleted and that a commit would
// take: what is ignored, or came and went again, is left out.
func (s *Store) Touched(ctx context.Context, session domain.SessionID) ([]string, error) {
	b, ok, err := s.baseOf(ctx, session)
	if err != nil || !ok {
		return nil, err
	}
	h, err := s.Handle(ctx, b.workspace)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	r, err := s.begun(ctx, session, h)
	if err != nil {
		return nil, err
	}
	now, err := s.Scan(ctx, h)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range slices.Sorted(maps.Keys(r.first)) {
		_, is := now.Lookup(p)
		_, was := r.tree.Lookup(p)
		if !is {
			img, err := r.now(ctx, p)
			if err != nil {
				return nil, err
			}
			was = was && img.Hash.IsZero() // else it is there, and ignored
		}
		if is || was {
			out = append(out, p)
		}
	}
	return out, nil
}

// GitInit makes a folder of this app's (a sample) a repository with one commit.
func (s *Store) GitInit(ctx context.Context, dir string) error {
	real, err := canonical(dir)
	if err != nil {
		return err
	}
	if !contains(s.dir, real) {
		return domain.Errorf(domain.CodeForbidden, "%s is not a folder of this app's", dir)
	}
	return s.git.Init(ctx, real, "Worksite sample", "sample@worksite.invalid", "Begin with the sample")
}

func (s *Store) presentPath(ctx context.Context, id domain.WorkspaceID) (string, error) {
	h, err := s.Handle(ctx, id)
	if err != nil {
		return "", err
	}
	defer h.Close()
	return h.Root(), nil
}
