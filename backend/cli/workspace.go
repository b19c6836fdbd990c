package cli

import (
	"encoding/json"
	"fmt"

	"worksite/backend/domain"
	"worksite/backend/service"
)

type workspaceCmd struct {
	List    workspaceListCmd    `cmd:"" help:"List workspaces."`
	Open    workspaceOpenCmd    `cmd:"" help:"Make a folder a workspace."`
	Trust   workspaceTrustCmd   `cmd:"" help:"Show what a folder would load after trust, and trust it."`
	Relink  workspaceRelinkCmd  `cmd:"" help:"Say where a workspace's folder is now."`
	Diff    workspaceDiffCmd    `cmd:"" help:"Show a session's changes."`
	Accept  workspaceAcceptCmd  `cmd:"" help:"Take changes over."`
	Reject  workspaceRejectCmd  `cmd:"" help:"Take changes out of the files."`
	Restore workspaceRestoreCmd `cmd:"" help:"Put a session's files back as they were before it."`
}

type workspaceListCmd struct{ listing }

func (c *workspaceListCmd) Run(a *app) error {
	list, err := a.svc.Workspaces(a.ctx)
	if err != nil {
		return err
	}
	return show(a, c.listing, "WORKSPACE\tSTATE\tTRUST\tPATH", list, func(w service.WorkspaceView) string {
		trust := "not trusted"
		if w.Trusted {
			trust = "trusted"
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s", w.ID, w.State, trust, w.Path)
	})
}

type workspaceOpenCmd struct {
	Path string `arg:"" type:"existingdir" default:"."`
	JSON bool   `name:"json"`
}

func (c *workspaceOpenCmd) Run(a *app) error {
	w, err := a.svc.AddWorkspace(a.ctx, c.Path)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(a.Stdout).Encode(w)
	}
	fmt.Fprintln(a.Stdout, w.ID)
	return nil
}

// workspaceNamed finds a workspace by id or path.
func (a *app) workspaceNamed(name string) (service.WorkspaceView, error) {
	list, err := a.svc.Workspaces(a.ctx)
	if err != nil {
		return service.WorkspaceView{}, err
	}
	for _, w := range list {
		if string(w.ID) == name || w.Path == name {
			return w, nil
		}
	}
	return service.WorkspaceView{}, domain.Errorf(domain.CodeNotFound, "there is no workspace %q", name).
		WithHint("`worksite workspace list` shows them; `worksite workspace open DIR` adds one.")
}

type workspaceTrustCmd struct {
	Workspace string `arg:"" help:"Its id or path."`
	Yes       bool   `short:"y" help:"Trust what is listed."`
	Revoke    bool   `help:"Trust it no longer."`
}

func (c *workspaceTrustCmd) Run(a *app) error {
	w, err := a.workspaceNamed(c.Workspace)
	if err != nil {
		return err
	}
	for _, g := range w.Gated {
		fmt.Fprintf(a.Stdout, "would be loaded: %s\n", g)
	}
	if !c.Yes && !c.Revoke {
		fmt.Fprintln(a.Stdout, "Say --yes to trust exactly these files as they are now. Trust never changes the sandbox.")
		return nil
	}
	_, err = a.svc.Trust(a.ctx, w.ID, !c.Revoke)
	return err
}

type workspaceRelinkCmd struct {
	Workspace string `arg:"" help:"Its id or old path."`
	Path      string `arg:"" type:"existingdir"`
}

func (c *workspaceRelinkCmd) Run(a *app) error {
	w, err := a.workspaceNamed(c.Workspace)
	if err != nil {
		return err
	}
	_, err = a.svc.Relink(a.ctx, w.ID, c.Path)
	return err
}

type workspaceDiffCmd struct {
	Session domain.SessionID `arg:""`
	JSON    bool             `name:"json"`
}

func (c *workspaceDiffCmd) Run(a *app) error {
	v, err := a.svc.Changes(a.ctx, c.Session)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(a.Stdout).Encode(v)
	}
	a.diff(v)
	return nil
}

// diff prints changes with the ids by which hunks are accepted or rejected.
func (a *app) diff(v service.ChangesView) {
	if len(v.Files) == 0 {
		fmt.Fprintln(a.Stdout, "No open changes.")
	}
	for _, f := range v.Files {
		fmt.Fprintf(a.Stdout, "%s %s  +%d −%d\n", f.Status, f.Path, f.Added, f.Removed)
		if f.Binary {
			fmt.Fprintln(a.Stdout, "  (binary)")
		}
		for _, h := range f.Hunks {
			fmt.Fprintf(a.Stdout, "@@ -%d,%d +%d,%d @@ %s  [hunk %s]\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines, h.Section, h.ID)
			for _, l := range h.Lines {
				fmt.Fprintf(a.Stdout, "%s%s\n", l.Op, l.Text)
				if l.NoNL {
					fmt.Fprintln(a.Stdout, `\ No newline at end of file`)
				}
			}
		}
	}
}

// reviewed is shared by accept and reject.
type reviewed struct {
	Session domain.SessionID `arg:""`
	Path    string           `arg:"" optional:"" help:"One file; default all."`
	Hunk    []string         `help:"Only these hunks of the file."`
}

func (r reviewed) request() (service.ReviewRequest, error) {
	if len(r.Hunk) > 0 && r.Path == "" {
		return service.ReviewRequest{}, domain.Errorf(domain.CodeInvalid, "--hunk needs the path of the file")
	}
	return service.ReviewRequest{Path: r.Path, Hunks: r.Hunk}, nil
}

func (a *app) reviewAnswer(v service.ReviewAnswer, err error) error {
	if err != nil {
		return err
	}
	for _, s := range v.Skipped {
		fmt.Fprintln(a.Stderr, "not done:", s)
	}
	fmt.Fprintf(a.Stdout, "%d hunks accepted, %d rejected, %d open\n", v.Changes.Accepted, v.Changes.Rejected, v.Changes.Hunks)
	return nil
}

type workspaceAcceptCmd struct{ reviewed }

func (c *workspaceAcceptCmd) Run(a *app) error {
	req, err := c.request()
	if err != nil {
		return err
	}
	v, err := a.svc.Accept(a.ctx, c.Session, req)
	return a.reviewAnswer(v, err)
}

type workspaceRejectCmd struct{ reviewed }

func (c *workspaceRejectCmd) Run(a *app) error {
	req, err := c.request()
	if err != nil {
		return err
	}
	v, err := a.svc.Reject(a.ctx, c.Session, req)
	return a.reviewAnswer(v, err)
}

type workspaceRestoreCmd struct {
	Session domain.SessionID `arg:""`
	Path    []string         `arg:"" optional:"" help:"Only these files."`
	DryRun  bool             `help:"Only say what would be done."`
	Undo    domain.EventID   `help:"Undo this earlier restore."`
}

func (c *workspaceRestoreCmd) Run(a *app) error {
	v, err := a.svc.Restore(a.ctx, c.Session, service.RestoreRequest{Paths: c.Path, DryRun: c.DryRun, Undo: c.Undo})
	if err != nil {
		return err
	}
	for _, f := range v.Restored {
		fmt.Fprintln(a.Stdout, f)
	}
	for _, s := range v.Skipped {
		fmt.Fprintln(a.Stderr, "not done:", s)
	}
	if v.Event != "" {
		fmt.Fprintf(a.Stdout, "undo: worksite workspace restore %s --undo %s\n", c.Session, v.Event)
	}
	return nil
}

type artifactsCmd struct {
	List     artifactsListCmd  `cmd:"" help:"List artifacts."`
	Save     artifactsSaveCmd  `cmd:"" help:"Save an artifact elsewhere; this adopts it."`
	Validate artifactsMarkCmd  `cmd:"" help:"Check that an artifact opens as what it says it is."`
	Adopt    artifactsAdoptCmd `cmd:"" help:"Say that you take it."`
	Withdraw artifactsGoneCmd  `cmd:"" help:"Say that it is not wanted any more."`
}

type artifactsListCmd struct {
	listing
	Session domain.SessionID `help:"Only those of one session."`
}

func (c *artifactsListCmd) Run(a *app) error {
	list, err := a.svc.Artifacts(a.ctx, c.Session)
	if err != nil {
		return err
	}
	return show(a, c.listing, "ARTIFACT\tREV\tSIZE\tTYPE\tMARKS\tNAME", list, func(v service.ArtifactView) string {
		return fmt.Sprintf("%s\t%d\t%d\t%s\t%s\t%s", v.Ref.ID, v.Ref.Revision, v.Ref.Size, v.Ref.MediaType, marks(v), v.Ref.Name)
	})
}

func marks(v service.ArtifactView) string {
	out := ""
	for _, m := range []struct {
		mark *service.Mark
		name string
	}{{v.Produced, "produced"}, {v.Validated, "validated"}, {v.Adopted, "adopted"}, {v.Withdrawn, "withdrawn"}} {
		if m.mark != nil {
			if out != "" {
				out += "+"
			}
			out += m.name
		}
	}
	return out
}

// artifactNamed is one revision; 0 is the newest.
type artifactNamed struct {
	Artifact domain.ArtifactID `arg:""`
	Revision int               `help:"The revision; default the newest." default:"-1"`
}

func (n artifactNamed) rev(a *app) (int, error) {
	if n.Revision >= 0 {
		return n.Revision, nil
	}
	list, err := a.svc.Artifacts(a.ctx, "")
	if err != nil {
		return 0, err
	}
	newest := -1
	for _, v := range list {
		if v.Ref.ID == n.Artifact {
			newest = max(newest, v.Ref.Revision)
		}
	}
	if newest < 0 {
		return 0, domain.Errorf(domain.CodeNotFound, "there is no artifact %s", n.Artifact).WithHint("`worksite artifacts list` shows them.")
	}
	return newest, nil
}

func (n artifactNamed) act(a *app, f func(rev int) (service.ArtifactView, error)) error {
	rev, err := n.rev(a)
	if err != nil {
		return err
	}
	v, err := f(rev)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s revision %d: %s\n", v.Ref.Name, v.Ref.Revision, marks(v))
	return nil
}

type artifactsSaveCmd struct {
	artifactNamed
	Path string `arg:"" type:"path" help:"The file or folder to save to; a file that is there is never replaced."`
}

func (c *artifactsSaveCmd) Run(a *app) error {
	return c.act(a, func(rev int) (service.ArtifactView, error) {
		return a.svc.SaveArtifact(a.ctx, c.Artifact, rev, c.Path)
	})
}

type artifactsMarkCmd struct{ artifactNamed }

func (c *artifactsMarkCmd) Run(a *app) error {
	return c.act(a, func(rev int) (service.ArtifactView, error) {
		return a.svc.ValidateArtifact(a.ctx, c.Artifact, rev, "")
	})
}

type artifactsAdoptCmd struct{ artifactNamed }

func (c *artifactsAdoptCmd) Run(a *app) error {
	return c.act(a, func(rev int) (service.ArtifactView, error) { return a.svc.AdoptArtifact(a.ctx, c.Artifact, rev) })
}

type artifactsGoneCmd struct{ artifactNamed }

func (c *artifactsGoneCmd) Run(a *app) error {
	return c.act(a, func(rev int) (service.ArtifactView, error) { return a.svc.WithdrawArtifact(a.ctx, c.Artifact, rev) })
}
