package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"worksite/backend/config"
	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/service/sample"
	"worksite/backend/workspace"
)

// openWorkspace is a workspace in use: its handle, and the watch that keeps the
// panes fresh.
type openWorkspace struct {
	*workspace.Handle
	store *workspace.Store
}

// open returns the handle of a workspace, kept until Close.
func (s *Service) open(ctx context.Context, id domain.WorkspaceID) (*openWorkspace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ws := s.handles[id]; ws != nil {
		return ws, nil
	}
	h, err := s.workspaces.Handle(ctx, id)
	if err != nil {
		return nil, err
	}
	ws := &openWorkspace{Handle: h, store: s.workspaces}
	s.handles[id] = ws
	s.wg.Go(func() { s.watch(id) })
	return ws, nil
}

func (s *Service) closeHandles() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, ws := range s.handles {
		err = errors.Join(err, ws.Close())
	}
	clear(s.handles)
	return err
}

// watch tells pages to look at a workspace's changes again when files move.
func (s *Service) watch(id domain.WorkspaceID) {
	notices, err := s.workspaces.Watch(s.ctx, id)
	if err != nil {
		if s.ctx.Err() == nil {
			s.log.Warn("watch workspace", "workspace", id, "error", err)
		}
		return
	}
	for range notices {
		list, err := s.ledger.Views(s.ctx, false)
		if err != nil {
			continue // the page asks again by itself
		}
		for _, v := range list {
			if v.Workspace == id {
				s.hub.Notify("changes:" + string(v.ID))
			}
		}
	}
}

// Workspaces lists the known workspaces with their present state.
func (s *Service) Workspaces(ctx context.Context) ([]WorkspaceView, error) {
	list, err := s.workspaces.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]WorkspaceView, len(list))
	var wg sync.WaitGroup
	for i, w := range list {
		wg.Go(func() { out[i] = s.describe(ctx, w) })
	}
	wg.Wait()
	return out, nil
}

func (s *Service) workspaceView(ctx context.Context, id domain.WorkspaceID) (WorkspaceView, error) {
	w, err := s.workspaces.Get(ctx, id)
	if err != nil {
		return WorkspaceView{}, err
	}
	return s.describe(ctx, w), nil
}

// gitPatience bounds how long a list waits for Git in a slow folder.
const gitPatience = 2 * time.Second

func (s *Service) describe(ctx context.Context, w workspace.Workspace) WorkspaceView {
	v := WorkspaceView{ID: w.ID, Name: w.Name, Path: w.Path, TaskKind: w.TaskKind, Gated: []string{}, Sandbox: "sandboxed"}
	if st := s.sandbox.Status(ctx); !st.OK {
		v.Sandbox = st.Detail
	}
	state, err := s.workspaces.State(ctx, w.ID)
	v.State = string(state)
	if err != nil {
		v.State = "missing"
	}
	if v.State != "present" {
		return v
	}
	if gated, err := s.workspaces.Gated(ctx, w.ID); err == nil {
		for _, g := range gated {
			v.Gated = append(v.Gated, g.Path)
		}
	}
	if trusted, err := s.workspaces.Trusted(ctx, w.ID); err == nil {
		v.Trusted = trusted
	}
	v.Git = s.git(ctx, w.ID)
	return v
}

func (s *Service) git(ctx context.Context, id domain.WorkspaceID) *GitView {
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	st, err := s.workspaces.GitStatus(ctx, id)
	if err != nil || st == nil {
		return nil
	}
	return &GitView{Branch: st.Branch, Commit: st.Commit, Changed: st.Changed, Detached: st.Detached}
}

// OpenFolder makes a folder a workspace, or finds the one it already is. It looks
// at nothing else: no sandbox is tried and no Git is asked.
func (s *Service) OpenFolder(ctx context.Context, path string) (domain.WorkspaceID, error) {
	if path == "" {
		return "", domain.Errorf(domain.CodeInvalid, "no folder was named")
	}
	w, err := s.workspaces.Add(ctx, path, domain.TaskCoding)
	if err != nil {
		return "", err
	}
	s.hub.Notify("workspaces:")
	return w.ID, s.started()
}

// AddWorkspace is OpenFolder with what a list shows of the workspace.
func (s *Service) AddWorkspace(ctx context.Context, path string) (WorkspaceView, error) {
	id, err := s.OpenFolder(ctx, path)
	if err != nil {
		return WorkspaceView{}, err
	}
	return s.workspaceView(ctx, id)
}

// started remembers that the first-start page was answered.
func (s *Service) started() error {
	s.mu.Lock()
	done := s.settings.Started
	s.mu.Unlock()
	if done {
		return nil
	}
	return s.change(func(c *config.Settings) { c.Started = true })
}

// AddSample copies the sample repository into the data folder and opens it. Each
// call makes a fresh copy, so that the sample job can be tried again.
func (s *Service) AddSample(ctx context.Context) (WorkspaceView, error) {
	base := filepath.Join(s.cfg.DataDir, "samples")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return WorkspaceView{}, domain.Errorf(domain.CodeUnavailable, "the sample cannot be copied: %w", err)
	}
	dir := filepath.Join(base, "data-cleaning")
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return WorkspaceView{}, domain.Errorf(domain.CodeUnavailable, "the sample cannot be copied: %w", err)
		}
		dir = filepath.Join(base, fmt.Sprintf("data-cleaning-%d", n))
	}
	if err := os.CopyFS(dir, sample.Files()); err != nil {
		return WorkspaceView{}, domain.Errorf(domain.CodeUnavailable, "the sample cannot be copied: %w", err)
	}
	if err := s.workspaces.GitInit(ctx, dir); err != nil {
		s.log.Info("sample without Git", "error", err) // it works without
	}
	return s.AddWorkspace(ctx, dir)
}

// NewTask makes an empty task folder for loose files.
func (s *Service) NewTask(ctx context.Context, name string) (WorkspaceView, error) {
	w, err := s.workspaces.NewTask(ctx, name)
	if err != nil {
		return WorkspaceView{}, err
	}
	return s.describe(ctx, w), s.started()
}

// Trust lets a folder's instructions be loaded, exactly as they are now.
func (s *Service) Trust(ctx context.Context, id domain.WorkspaceID, yes bool) (WorkspaceView, error) {
	if err := s.workspaces.Trust(ctx, id, yes); err != nil {
		return WorkspaceView{}, err
	}
	return s.workspaceView(ctx, id)
}

// Relink says where a workspace's folder is now.
func (s *Service) Relink(ctx context.Context, id domain.WorkspaceID, path string) (WorkspaceView, error) {
	if err := s.workspaces.Relink(ctx, id, path); err != nil {
		return WorkspaceView{}, err
	}
	s.mu.Lock()
	ws := s.handles[id]
	delete(s.handles, id)
	s.mu.Unlock()
	if ws != nil {
		if err := ws.Close(); err != nil {
			return WorkspaceView{}, err
		}
	}
	return s.workspaceView(ctx, id)
}

// ForgetWorkspace removes a workspace from the list; the folder stays.
func (s *Service) ForgetWorkspace(ctx context.Context, id domain.WorkspaceID) error {
	return s.workspaces.Forget(ctx, id)
}

// Attach copies a dropped file into the session's workspace.
func (s *Service) Attach(ctx context.Context, id domain.SessionID, name string, r io.Reader) (domain.Attachment, error) {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return domain.Attachment{}, err
	}
	ws, err := s.open(ctx, v.Workspace)
	if err != nil {
		return domain.Attachment{}, err
	}
	return ws.Import(ctx, name, "", r)
}

// AttachPaths copies files of this machine into the session's workspace; the
// originals are only read.
func (s *Service) AttachPaths(ctx context.Context, id domain.SessionID, paths []string) ([]domain.Attachment, error) {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return nil, err
	}
	ws, err := s.open(ctx, v.Workspace)
	if err != nil {
		return nil, err
	}
	out := []domain.Attachment{}
	for _, p := range paths {
		list, err := ws.ImportPath(ctx, p)
		if err != nil {
			return out, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// handWorkspace is a workspace as the hands see it.
type handWorkspace struct {
	*openWorkspace
	svc *Service
}

func (s *Service) openForHands(ctx context.Context, id domain.WorkspaceID) (hands.Workspace, error) {
	ws, err := s.open(ctx, id)
	if err != nil {
		return nil, err
	}
	return handWorkspace{ws, s}, nil
}

// ReadFile implements hands.Reader.
func (w handWorkspace) ReadFile(rel string) ([]byte, hands.Image, error) {
	b, img, err := w.Handle.ReadFile(rel)
	return b, hands.Image(img), err
}

// Base implements hands.Observer.
func (w handWorkspace) Base(ctx context.Context, session domain.SessionID) (domain.WorkspaceBased, bool, error) {
	based, _, err := w.store.Base(ctx, session, w.Handle)
	if err != nil {
		return based, false, err
	}
	// A crash may have come between the snapshot and its record: what is new is
	// what the ledger does not know.
	w.svc.mu.Lock()
	defer w.svc.mu.Unlock()
	fresh := !w.svc.based[session]
	w.svc.based[session] = true
	return based, fresh, nil
}

// Scan implements hands.Observer.
func (w handWorkspace) Scan(ctx context.Context) (hands.Tree, error) {
	t, err := w.store.Scan(ctx, w.Handle)
	if err != nil {
		return nil, err
	}
	return tree{t}, nil
}

type tree struct{ workspace.Tree }

// Changes implements hands.Tree.
func (t tree) Changes(after hands.Tree) []domain.FileImage {
	a, ok := after.(tree)
	if !ok {
		return nil
	}
	return workspace.Compare(t.Tree, a.Tree)
}
