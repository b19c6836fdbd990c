// Package write is the hand that writes a whole file: a new one, or one that the
// session has read, whose encoding, byte order mark and line endings are kept.
package write

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/textfile"
)

//go:embed write.md
var description string

const schema = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"content":{"type":"string"}},"required":["path","content"],"additionalProperties":false}`

// Hand implements capability.Hand.
type Hand struct {
	open hands.OpenFunc
	seen *hands.Seen
}

// New returns the hand.
func New(open hands.OpenFunc, seen *hands.Seen) *Hand { return &Hand{open, seen} }

type input struct{ Path, Content string }

// Spec implements capability.Hand.
func (h *Hand) Spec() domain.HandSpec {
	return domain.HandSpec{
		Name: "write", Description: strings.TrimSpace(description), Schema: []byte(schema),
		Class: domain.EffectIdempotent, Capabilities: []domain.Capability{domain.CapWrite},
		Timeout: time.Minute, MaxOutput: 4 << 10, Where: "this process",
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
	if entries, derr := ws.ReadDir(rel); derr == nil {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is a folder (%s)", rel, hands.Plural(len(entries), "entry"))
	}
	before, img, err := hands.ReadForChange(ws, h.seen, call, rel)
	if err != nil {
		return nil, err
	}
	c := &hands.Change{Content: []byte(in.Content), Mode: 0o644}
	verb := "Create"
	if before != nil {
		verb, c.Mode = "Write", img.Mode
		if len(before) > 0 {
			if c.Content, c.Notes, err = textfile.Decode(before).Adopt(in.Content); err != nil {
				return nil, domain.Errorf(domain.CodeInvalid, "%s cannot be written: %w", rel, err)
			}
		}
		if img.Hash == domain.HashBytes(c.Content) {
			return nil, domain.Errorf(domain.CodeInvalid, "%s already has exactly this content; nothing to write", rel)
		}
	}
	c.Image = domain.FileImage{Path: rel, Pre: img.Hash, Post: domain.HashBytes(c.Content)}
	return c.Prepared(ws, call, verb, before), nil
}

// Execute implements capability.Hand.
func (h *Hand) Execute(ctx context.Context, p *domain.PreparedCall, _ func([]byte)) (domain.HandResult, error) {
	c, err := hands.Opaque[*hands.Change](p)
	if err != nil {
		return domain.HandResult{}, err
	}
	ws, err := h.open(ctx, p.Call.Workspace)
	if err != nil {
		return domain.HandResult{}, err
	}
	res, err := c.Apply(ctx, ws, h.seen, p)
	if err != nil {
		return res, err
	}
	verb := "Wrote"
	if c.Image.Pre.IsZero() {
		verb = "Created"
	}
	res.Output.Text = fmt.Sprintf("%s %s (%s, %s).", verb, c.Image.Path, hands.Plural(textfile.Lines(string(c.Content)), "line"), hands.Size(int64(len(c.Content))))
	if len(c.Notes) > 0 {
		res.Output.Text += " Kept: " + strings.Join(c.Notes, ", ") + "."
	}
	res.Output.Summary = c.Summary
	return res, nil
}

// Probe implements capability.Hand.
func (h *Hand) Probe(ctx context.Context, call domain.HandCall, effect domain.Effect) (domain.ProbeResult, string) {
	ws, err := h.open(ctx, call.Workspace)
	if err != nil {
		return domain.ProbeUnknown, "the workspace cannot be opened: " + err.Error()
	}
	return hands.ProbeChange(ws, effect)
}

// Recovered implements capability.Recoverer.
func (h *Hand) Recovered(_ context.Context, call domain.HandCall, effect domain.Effect) (domain.HandResult, error) {
	return hands.RecoveredChange(h.seen, call, effect)
}
