// Package saveartifact is the hand that promotes a file of the workspace to an
// artifact: a kept, versioned output.
package saveartifact

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/hands"
)

//go:embed saveartifact.md
var description string

const schema = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"name":{"type":"string"}},"required":["path"],"additionalProperties":false}`

// maxSize is the largest artifact, in bytes.
const maxSize = 2 << 30

// Store keeps artifacts.
type Store interface {
	// Promote keeps the bytes of r under a new revision of name. A second call
	// with the same call id returns the first one's answer.
	Promote(ctx context.Context, p Promotion, r io.Reader) (domain.ArtifactRef, error)
	// PromotedBy finds what a call has promoted.
	PromotedBy(ctx context.Context, session domain.SessionID, call domain.CallID) (domain.ArtifactRef, bool, error)
}

// Promotion says whose file becomes which artifact.
type Promotion struct {
	Session domain.SessionID
	CallID  domain.CallID
	Name    string
	Source  string // path inside the workspace
	By      string
}

// Hand implements capability.Hand.
type Hand struct {
	open  hands.OpenFunc
	store Store
}

// New returns the hand.
func New(open hands.OpenFunc, store Store) *Hand { return &Hand{open, store} }

type input struct{ Path, Name string }

// Spec implements capability.Hand.
func (h *Hand) Spec() domain.HandSpec {
	return domain.HandSpec{
		Name: "save_artifact", Description: strings.TrimSpace(description), Schema: []byte(schema),
		Class: domain.EffectIdempotent, Capabilities: []domain.Capability{domain.CapArtifact},
		Timeout: 2 * time.Minute, MaxOutput: 4 << 10, Where: "this process",
	}
}

// Prepare implements capability.Hand.
func (h *Hand) Prepare(ctx context.Context, call domain.HandCall) (*domain.PreparedCall, error) {
	in, err := hands.Decode[input](call)
	if err != nil {
		return nil, err
	}
	ws, err := h.open(ctx, call.Workspace)
	if err != nil {
		return nil, err
	}
	rel, err := ws.Resolve(in.Path)
	if err != nil {
		return nil, err
	}
	name, err := artifactName(in.Name, rel)
	if err != nil {
		return nil, err
	}
	sum, size, err := hashFile(ctx, ws, rel)
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("Keep %s as artifact %s", rel, name)
	return &domain.PreparedCall{
		Call: call,
		// The file stays as it is: both images are the same.
		Effect: domain.Effect{Class: domain.EffectIdempotent, Files: []domain.FileImage{{Path: rel, Pre: sum, Post: sum}}},
		Title:  title, Shown: fmt.Sprintf("%s\n%s, SHA-256 %s", title, hands.Size(size), sum), ShownKind: "text",
		Touches: []string{rel + " (read)", "artifacts"},
	}, nil
}

// artifactName checks a wanted name, or takes that of the file.
func artifactName(want, rel string) (string, error) {
	if want == "" {
		return path.Base(rel), nil
	}
	if len(want) > 200 || want == "." || want == ".." || strings.ContainsFunc(want, func(r rune) bool {
		return r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r)
	}) {
		return "", domain.Errorf(domain.CodeInvalid, "name %q cannot be a file name everywhere; use letters, digits, spaces, dots and dashes", hands.Clip(want, 60))
	}
	return want, nil
}

// hashFile reads a file of any size for its hash.
func hashFile(ctx context.Context, ws hands.Reader, rel string) (domain.Hash, int64, error) {
	f, err := openRegular(ws, rel)
	if err != nil {
		return domain.Hash{}, 0, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, reader{ctx, f})
	return domain.Hash(sum.Sum(nil)), n, err
}

func openRegular(ws hands.Reader, rel string) (fs.File, error) {
	f, err := hands.OpenFile(ws, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hands.NotFound(ws, rel)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = domain.Errorf(domain.CodeInvalid, "%s is not a file", rel)
	case info.Size() > maxSize:
		err = domain.Errorf(domain.CodeTooLarge, "%s has %s; an artifact can have %s", rel, hands.Size(info.Size()), hands.Size(maxSize))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Execute implements capability.Hand.
func (h *Hand) Execute(ctx context.Context, p *domain.PreparedCall, _ func([]byte)) (domain.HandResult, error) {
	var res domain.HandResult
	in, err := hands.Decode[input](p.Call)
	if err != nil {
		return res, err
	}
	ws, err := h.open(ctx, p.Call.Workspace)
	if err != nil {
		return res, err
	}
	rel, err := ws.Resolve(in.Path)
	if err != nil {
		return res, err
	}
	if len(p.Effect.Files) != 1 || p.Effect.Files[0].Path != rel {
		return res, domain.Errorf(domain.CodeConflict, "%s is not the file that was decided on", rel)
	}
	name, err := artifactName(in.Name, rel)
	if err != nil {
		return res, err
	}
	if done, ok, err := h.store.PromotedBy(ctx, p.Call.Session, p.Call.CallID); err != nil {
		return res, err
	} else if ok {
		return result(done, p.Call.CallID, rel), nil
	}
	f, err := openRegular(ws, rel)
	if err != nil {
		return res, err
	}
	defer f.Close()
	// The reader refuses at its end when the bytes are not the decided ones, so
	// that the store never keeps anything else.
	r := &checked{r: reader{ctx, f}, want: p.Effect.Files[0].Post, path: rel, sum: sha256.New()}
	ref, err := h.store.Promote(ctx, Promotion{
		Session: p.Call.Session, CallID: p.Call.CallID, Name: name, Source: rel, By: by,
	}, r)
	if err != nil {
		return res, err
	}
	return result(ref, p.Call.CallID, rel), nil
}

// by is who promotes when it is not a person.
const by = "agent"

func result(ref domain.ArtifactRef, call domain.CallID, rel string) domain.HandResult {
	return domain.HandResult{
		Output: domain.ToolOutput{
			Text:     fmt.Sprintf("Kept %s as artifact %s, revision %d (%s, %s).", rel, ref.Name, ref.Revision, ref.MediaType, hands.Size(ref.Size)),
			Summary:  fmt.Sprintf("revision %d", ref.Revision),
			Artifact: &ref,
		},
		Drafts: []domain.Payload{domain.ArtifactPromoted{V: 1, CallID: call, Artifact: ref, Source: rel, By: by}},
	}
}

// Recovered implements capability.Recoverer.
func (h *Hand) Recovered(ctx context.Context, call domain.HandCall, effect domain.Effect) (domain.HandResult, error) {
	ref, ok, err := h.store.PromotedBy(ctx, call.Session, call.CallID)
	if err != nil || !ok || len(effect.Files) != 1 {
		return domain.HandResult{}, errors.Join(err, domain.Errorf(domain.CodeNotFound, "the call kept no artifact"))
	}
	return result(ref, call.CallID, effect.Files[0].Path), nil
}

// Probe implements capability.Hand.
func (h *Hand) Probe(ctx context.Context, call domain.HandCall, _ domain.Effect) (domain.ProbeResult, string) {
	ref, ok, err := h.store.PromotedBy(ctx, call.Session, call.CallID)
	switch {
	case err != nil:
		return domain.ProbeUnknown, "the artifact store cannot be asked: " + err.Error()
	case ok:
		return domain.ProbeDone, fmt.Sprintf("artifact %s revision %d was kept by this call", ref.Name, ref.Revision)
	}
	return domain.ProbeNotDone, "no artifact was kept by this call"
}

// reader ends with the context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// checked hands on what it reads and fails instead of ending when the whole is
// not what was expected.
type checked struct {
	r    io.Reader
	want domain.Hash
	path string
	sum  hash.Hash
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && domain.Hash(c.sum.Sum(nil)) != c.want {
		return n, domain.Errorf(domain.CodeConflict, "%s was changed since the call was decided on; nothing was kept", c.path)
	}
	return n, err
}
