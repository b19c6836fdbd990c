package saveartifact

import (
	"context"
	"io"
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/hands/handstest"
)

// shelf keeps the contract of Store in memory.
type shelf struct {
	byCall map[domain.CallID]domain.ArtifactRef
	bytes  map[domain.ArtifactID]string
	next   map[string]int
}

func (s *shelf) Promote(_ context.Context, p Promotion, r io.Reader) (domain.ArtifactRef, error) {
	if ref, ok := s.byCall[p.CallID]; ok {
		return ref, nil
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return domain.ArtifactRef{}, err
	}
	ref := domain.ArtifactRef{ID: domain.NewArtifactID(), Name: p.Name, Revision: s.next[p.Name], MediaType: "text/plain", SHA256: domain.HashBytes(b), Size: int64(len(b))}
	s.next[p.Name]++
	s.byCall[p.CallID], s.bytes[ref.ID] = ref, string(b)
	return ref, nil
}

func (s *shelf) PromotedBy(_ context.Context, _ domain.SessionID, call domain.CallID) (domain.ArtifactRef, bool, error) {
	ref, ok := s.byCall[call]
	return ref, ok, nil
}

// R44
func TestPromote(t *testing.T) {
	ws := handstest.New(t, map[string]string{"out/report.md": "# Report", "d/x": ""})
	s := &shelf{byCall: map[domain.CallID]domain.ArtifactRef{}, bytes: map[domain.ArtifactID]string{}, next: map[string]int{}}
	c := handstest.NewCaller(New(ws.Open, s))
	p, err := c.Prepare(t.Context(), map[string]any{"path": "out/report.md"})
	if err != nil || p.Effect.Files[0].Post != domain.HashBytes([]byte("# Report")) || len(s.byCall) != 0 {
		t.Fatalf("%+v %v", p, err)
	}
	if r, _ := c.Registry.Probe(t.Context(), "save_artifact", p.Call, p.Effect); r != domain.ProbeNotDone {
		t.Error(r)
	}
	res, err := c.Execute(t.Context(), p)
	if err != nil || res.Output.Artifact.Name != "report.md" || s.bytes[res.Output.Artifact.ID] != "# Report" {
		t.Fatalf("%+v %v", res.Output, err)
	}
	if d := res.Drafts[0].(domain.ArtifactPromoted); d.Artifact != *res.Output.Artifact || d.Source != "out/report.md" || d.CallID != p.Call.CallID {
		t.Fatalf("%+v", d)
	}
	if r, ev := c.Registry.Probe(t.Context(), "save_artifact", p.Call, p.Effect); r != domain.ProbeDone || ev == "" {
		t.Error(r, ev)
	}
	// Run again after a crash: the same answer, not a second revision.
	again, err := c.Execute(t.Context(), p)
	if err != nil || *again.Output.Artifact != *res.Output.Artifact {
		t.Fatalf("%+v %v", again.Output.Artifact, err)
	}
	// R132: other bytes than decided on are not kept.
	p, _ = c.Prepare(t.Context(), map[string]any{"path": "out/report.md", "name": "Final report.md"})
	ws.Put(t, "out/report.md", "changed")
	if _, err := c.Execute(t.Context(), p); domain.CodeOf(err) != domain.CodeConflict || len(s.byCall) != 1 {
		t.Fatalf("%v, %d kept", err, len(s.byCall))
	}
	for args, want := range map[[2]string]string{
		{"out/repord.md", ""}: "near names: out/report.md", {"d", ""}: "not a file", {"../x", ""}: "outside",
		{"out/report.md", "../x"}: "cannot be a file name", {"out/report.md", "a\nb"}: "cannot be a file name",
	} {
		if _, err := c.Prepare(t.Context(), map[string]any{"path": args[0], "name": args[1]}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
