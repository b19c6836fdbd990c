package builtin_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"worksite/backend/artifact"
	"worksite/backend/blob"
	"worksite/backend/capability"
	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/bash"
	"worksite/backend/hands/builtin"
	"worksite/backend/hands/handstest"
	"worksite/backend/hands/saveartifact"
	"worksite/backend/sandbox"
	"worksite/backend/sandbox/local"
	"worksite/backend/workspace"
)

// runner is the real sandbox behind the hand's interface, joined as the service
// joins it.
type runner struct {
	local *local.Local
	dir   string
}

func (r runner) Plan(root string, unsandboxed bool) (bash.Plan, error) {
	s, err := r.local.Spec(root)
	s.Unsandboxed = unsandboxed
	return bash.Plan{Hash: s.Hash(), Network: s.Network, Recipe: s}, err
}

func (r runner) Run(ctx context.Context, p bash.Plan, c bash.Command) (bash.Result, error) {
	res, err := r.local.Run(ctx, p.Recipe.(sandbox.Spec), sandbox.Command{
		Argv: c.Argv, Dir: c.Dir, Timeout: c.Timeout, Head: c.Head, Tail: c.Tail, SpillDir: r.dir, OnOutput: c.OnOutput,
	})
	out := bash.Result{
		Code: res.Code, Signal: res.Signal, TimedOut: res.TimedOut, Cancelled: res.Cancelled, Text: res.Text(),
		Dropped: res.Dropped, Planted: res.Planted, Left: res.LeftNames, Report: res.Report,
	}
	if err == nil && res.SpillPath != "" {
		out.Spill, err = os.Open(res.SpillPath)
	}
	return out, err
}

func (r runner) Tripwire(changed []string) []string { return sandbox.Tripwire(changed) }

type shelf struct{ *artifact.Store }

func (s shelf) Promote(ctx context.Context, p saveartifact.Promotion, r io.Reader) (domain.ArtifactRef, error) {
	return s.Store.Promote(ctx, artifact.Promotion(p), r)
}

// folder is the real workspace behind the hands' interface.
type folder struct {
	*workspace.Handle
	store *workspace.Store
}

func (f folder) ReadFile(rel string) ([]byte, hands.Image, error) {
	b, img, err := f.Handle.ReadFile(rel)
	return b, hands.Image(img), err
}

func (f folder) Base(ctx context.Context, session domain.SessionID) (domain.WorkspaceBased, bool, error) {
	return f.store.Base(ctx, session, f.Handle)
}

func (f folder) Scan(ctx context.Context) (hands.Tree, error) {
	t, err := f.store.Scan(ctx, f.Handle)
	return tree{t}, err
}

type tree struct{ workspace.Tree }

func (t tree) Changes(after hands.Tree) []domain.FileImage {
	return workspace.Compare(t.Tree, after.(tree).Tree)
}

// realParts are the nine hands over the real workspace, sandbox, blobs and artifacts.
type realParts struct {
	*capability.Registry
	dir       string
	id        domain.WorkspaceID
	blobs     *blob.Store
	artifacts *artifact.Store
}

func (p *realParts) caller(tool string) handstest.Caller {
	return handstest.Caller{Registry: p.Registry, Name: tool, Session: "ses_test", Workspace: p.id}
}

func (p *realParts) get(t *testing.T, rel string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, rel))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func real(t testing.TB, files map[string]string) *realParts {
	t.Helper()
	data := t.TempDir()
	box, err := local.New(local.Config{DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	if st := box.Status(t.Context()); !st.OK {
		t.Skipf("skipped: no sandbox here: %s", st.Detail)
	}
	blobs, err := blob.New(filepath.Join(data, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := artifact.Open(artifact.Config{Dir: data, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	store, err := workspace.Open(workspace.Config{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	dir := handstest.New(t, files).Dir
	w, err := store.Add(t.Context(), dir, domain.TaskCoding)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := store.Handle(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	open := func(context.Context, domain.WorkspaceID) (hands.Workspace, error) { return folder{handle, store}, nil }
	p := &realParts{Registry: capability.New(), dir: dir, id: w.ID, blobs: blobs, artifacts: artifacts}
	for _, h := range builtin.New(builtin.Config{
		Open: open, Seen: hands.NewSeen(), Sandbox: runner{box, t.TempDir()}, PutOutput: blobs.Put, Artifacts: shelf{artifacts},
	}) {
		p.Register(h)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), handle.Close(), store.Close(), artifacts.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *realParts) do(t *testing.T, ctx context.Context, tool string, args map[string]any) domain.HandResult {
	t.Helper()
	c := p.caller(tool)
	res, err := c.Do(ctx, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res
}

// R5: one workspace serves reading, changing, running and keeping.
func TestAllHandsActOnOneWorkspace(t *testing.T) {
	p := real(t, map[string]string{"clean.sh": "echo old\n"})
	ctx := t.Context()
	p.do(t, ctx, "read", map[string]any{"path": "clean.sh"})
	p.do(t, ctx, "edit", map[string]any{"path": "clean.sh", "old_string": "old", "new_string": "region"})
	res := p.do(t, ctx, "bash", map[string]any{"command": "bash clean.sh | tee report.md; mkdir sub; touch sub/.envrc; exit 3"})
	if *res.Output.ExitCode != 3 || !strings.HasPrefix(res.Output.Text, "region\n[exit code 3]\n[changed: +report.md, +sub/.envrc]\n[would act on the person's machine later: sub/.envrc: direnv") {
		t.Fatalf("%q", res.Output.Text)
	}
	kept := p.do(t, ctx, "save_artifact", map[string]any{"path": "report.md"}).Output.Artifact
	r, a, err := p.artifacts.Open(ctx, kept.ID, kept.Revision)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	r.Close()
	if err != nil || string(b) != "region\n" || a.Ref.MediaType != "text/markdown" {
		t.Fatalf("%q %+v %v", b, a.Ref, err)
	}
	// A file that a command changed must be read again.
	p.do(t, ctx, "bash", map[string]any{"command": "echo x >> clean.sh"})
	c := p.caller("edit")
	if _, err := c.Prepare(ctx, map[string]any{"path": "clean.sh", "old_string": "x", "new_string": "y"}); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("changed since read: %v", err)
	}
}

// R150
func TestOutputOfARealCommandIsBoundedAndKeptWhole(t *testing.T) {
	p := real(t, nil)
	out := p.do(t, t.Context(), "bash", map[string]any{"command": `head -c 3000000 /dev/zero | tr '\0' x; printf '\033[31mred\033[0m \377 end'`}).Output
	if len(out.Text) > 40<<10 || out.Dropped < 2_900_000 || !strings.Contains(out.Text, "end") || strings.Contains(out.Text, "\x1b") {
		t.Fatalf("%d bytes, %d dropped, …%q", len(out.Text), out.Dropped, out.Text[max(0, len(out.Text)-200):])
	}
	r, err := p.blobs.Open(out.Spill)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := io.Copy(io.Discard, r); err != nil || n != 3_000_000+18 {
		t.Fatalf("%d bytes kept, %v", n, err)
	}
}

// R149
func TestStopEndsARealCommandAndRecordsWhatItDid(t *testing.T) {
	p := real(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	c := p.caller("bash")
	call, err := c.Prepare(ctx, map[string]any{"command": "echo begun > f; echo begun; setsid sleep 300 & sleep 300"})
	if err != nil {
		t.Fatal(err)
	}
	var stopped time.Time
	res, err := p.Execute(ctx, "bash", call, func([]byte) {
		if stopped.IsZero() {
			stopped = time.Now()
			cancel()
		}
	})
	if err != nil || stopped.IsZero() {
		t.Fatal(err)
	}
	if d := time.Since(stopped); d > 4*time.Second {
		t.Errorf("the stop took %s", d)
	}
	if len(res.Output.Files) != 1 || res.Output.Files[0].Path != "f" || !strings.Contains(res.Output.Text, "cancelled") {
		t.Fatalf("%+v", res.Output)
	}
}

// R137 R151: through the real workspace, bytes, mode and links stay.
func TestEditKeepsBytesModeAndLinks(t *testing.T) {
	p := real(t, map[string]string{
		"run.sh": "#!/bin/sh\r\necho a\r\n", "latin.txt": "caf\xe9\n", "bom.txt": "\xEF\xBB\xBFa\nb", "d/real.txt": "one\n",
	})
	ctx := t.Context()
	if err := os.Chmod(filepath.Join(p.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("d/real.txt", filepath.Join(p.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, old, new, want string }{
		{"run.sh", "echo a\n", "echo b\necho c\n", "#!/bin/sh\r\necho b\r\necho c\r\n"},
		{"latin.txt", "café", "thé", "th\xe9\n"},
		{"bom.txt", "b", "c", "\xEF\xBB\xBFa\nc"},
		{"link", "one", "two", "two\n"},
	} {
		p.do(t, ctx, "read", map[string]any{"path": c.path})
		p.do(t, ctx, "edit", map[string]any{"path": c.path, "old_string": c.old, "new_string": c.new})
		if got := p.get(t, c.path); got != c.want {
			t.Errorf("%s: %q, want %q", c.path, got, c.want)
		}
	}
	if info, err := os.Stat(filepath.Join(p.dir, "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if to, err := os.Readlink(filepath.Join(p.dir, "link")); err != nil || to != "d/real.txt" {
		t.Errorf("link to %q, %v", to, err)
	}
	if got := p.get(t, "d/real.txt"); got != "two\n" {
		t.Errorf("target %q", got)
	}
}

// R151 R152: what must not be written is not, and says why.
func TestWriteRefusals(t *testing.T) {
	p := real(t, map[string]string{"a.txt": "a", ".git/config": "[core]\n"})
	ctx := t.Context()
	if err := os.Symlink("/etc", filepath.Join(p.dir, "etc")); err != nil {
		t.Fatal(err)
	}
	write := p.caller("write")
	for path, want := range map[string]domain.Code{
		"a.txt": domain.CodeConflict, "etc/x": domain.CodeForbidden, "../x": domain.CodeForbidden, "/etc/x": domain.CodeForbidden,
		".git/hooks/pre-commit": domain.CodeForbidden, ".envrc": domain.CodeForbidden,
	} {
		if _, err := write.Do(ctx, map[string]any{"path": path, "content": "x"}); domain.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	// It appears between decision and execution.
	call, err := write.Prepare(ctx, map[string]any{"path": "late.txt", "content": "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "late.txt"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := write.Execute(ctx, call); domain.CodeOf(err) != domain.CodeConflict || p.get(t, "late.txt") != "theirs" {
		t.Errorf("%v", err)
	}
	for tool, args := range map[string]map[string]any{
		"read": {"path": "nope.txt"}, "ls": {"path": "nope"}, "glob": {"pattern": "*", "path": "nope"}, "grep": {"pattern": "x", "path": "nope"},
		"edit": {"path": "nope.txt", "old_string": "a", "new_string": "b"}, "save_artifact": {"path": "nope.txt"},
	} {
		c := p.caller(tool)
		if _, err := c.Do(ctx, args); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("%s of what is not there: %v", tool, err)
		}
	}
}

func TestSearchLeavesOutWhatGitIgnores(t *testing.T) {
	p := real(t, map[string]string{".gitignore": "build/\n*.log\n", "src/a.py": "needle\n", "build/b.py": "needle\n", "x.log": "needle\n", ".git/HEAD": "needle\n"})
	ctx := t.Context()
	if got := p.do(t, ctx, "grep", map[string]any{"pattern": "needle"}).Output.Text; got != "src/a.py\n  1: needle\n" {
		t.Errorf("grep: %q", got)
	}
	if got := p.do(t, ctx, "glob", map[string]any{"pattern": "*.py"}).Output.Text; got != "src/a.py\n" {
		t.Errorf("glob: %q", got)
	}
	if got := p.do(t, ctx, "read", map[string]any{"path": "build/b.py"}).Output.Text; got != "     1\tneedle\n" {
		t.Errorf("read of an ignored file by name: %q", got)
	}
	if got := p.do(t, ctx, "grep", map[string]any{"pattern": "needle", "path": "build"}).Output.Text; !strings.Contains(got, "build/b.py") {
		t.Errorf("grep in an ignored folder by name: %q", got)
	}
}
