package builtin_test

import (
	"context"
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

// realParts are the nine hands over the real sandbox, blobs and artifacts.
type realParts struct {
	*capability.Registry
	ws        *handstest.Workspace
	blobs     *blob.Store
	artifacts *artifact.Store
}

func real(t *testing.T, files map[string]string) *realParts {
	t.Helper()
	data := t.TempDir()
	box, err := local.New(local.Config{DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	if st := box.Status(t.Context()); !st.OK {
		t.Skipf("no sandbox here: %s", st.Detail)
	}
	blobs, err := blob.New(filepath.Join(data, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := artifact.Open(artifact.Config{Dir: data, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	p := &realParts{Registry: capability.New(), ws: handstest.New(t, files), blobs: blobs, artifacts: artifacts}
	for _, h := range builtin.New(builtin.Config{
		Open: p.ws.Open, Seen: hands.NewSeen(), Sandbox: runner{box, t.TempDir()}, PutOutput: blobs.Put, Artifacts: shelf{artifacts},
	}) {
		p.Register(h)
	}
	t.Cleanup(func() {
		if err := artifacts.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *realParts) do(t *testing.T, ctx context.Context, tool string, args map[string]any) domain.HandResult {
	t.Helper()
	c := handstest.Caller{Registry: p.Registry, Name: tool, Session: "ses_test"}
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
	c := handstest.Caller{Registry: p.Registry, Name: "edit", Session: "ses_test"}
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
	c := handstest.Caller{Registry: p.Registry, Name: "bash", Session: "ses_test"}
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
