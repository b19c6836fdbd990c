// Package edit is the hand that replaces a piece of a file: exact, unique and
// faithful to every byte outside of the change.
package edit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/textfile"
)

//go:embed edit.md
var description string

const schema = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"old_string":{"type":"string","minLength":1},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["path","old_string","new_string"],"additionalProperties":false}`

// maxNamed is how many line numbers a message lists.
const maxNamed = 50

// Hand implements capability.Hand.
type Hand struct {
	open hands.OpenFunc
	seen *hands.Seen
}

// New returns the hand.
func New(open hands.OpenFunc, seen *hands.Seen) *Hand { return &Hand{open, seen} }

type input struct {
	Path string
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	All  bool   `json:"replace_all"`
}

// Spec implements capability.Hand.
func (h *Hand) Spec() domain.HandSpec {
	return domain.HandSpec{
		Name: "edit", Description: strings.TrimSpace(description), Schema: []byte(schema),
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
	if _, derr := ws.ReadDir(rel); derr == nil {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is a folder", rel)
	}
	before, img, err := hands.ReadForChange(ws, h.seen, call, rel)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, hands.NotFound(ws, rel)
	}
	f := textfile.Decode(before)
	if f.Binary {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is a binary file; edit changes text only", rel)
	}
	r, err := f.Replace(before, in.Old, in.New, in.All)
	if err != nil {
		return nil, explain(rel, err)
	}
	c := &hands.Change{
		Image:   domain.FileImage{Path: rel, Pre: img.Hash, Post: domain.HashBytes(r.Bytes)},
		Content: r.Bytes, Mode: img.Mode, Where: where(r.Spans),
	}
	return c.Prepared(ws, call, "Edit", before), nil
}

// explain words why an edit is not possible, for the model to mend it.
func explain(rel string, err error) error {
	var ambiguous *textfile.AmbiguousError
	var none *textfile.NoMatchError
	switch {
	case errors.As(err, &ambiguous):
		return domain.Errorf(domain.CodeConflict, "old_string stands %d times in %s, at lines %s; add lines around it to make it unique, or set replace_all",
			len(ambiguous.Lines), rel, numbers(ambiguous.Lines))
	case errors.As(err, &none) && len(none.Near) == 0:
		return domain.Errorf(domain.CodeConflict, "old_string is not in %s, nor anything close to it; read the file again", rel)
	case errors.As(err, &none):
		var b strings.Builder
		fmt.Fprintf(&b, "old_string is not in %s. Nearest:", rel)
		for _, c := range none.Near {
			fmt.Fprintf(&b, "\n- lines %d-%d: %s", c.First, c.Last, c.Differs)
		}
		return domain.Errorf(domain.CodeConflict, "%s", b.String())
	case errors.Is(err, textfile.ErrNoChange):
		return domain.Errorf(domain.CodeInvalid, "old_string and new_string are equal; nothing to change in %s", rel)
	}
	return domain.Errorf(domain.CodeInvalid, "%s cannot be changed: %w", rel, err)
}

func numbers(lines []int) string {
	var parts []string
	for _, n := range lines[:min(len(lines), maxNamed)] {
		parts = append(parts, fmt.Sprint(n))
	}
	s := strings.Join(parts, ", ")
	if n := len(lines) - maxNamed; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}

func where(spans []textfile.Span) string {
	var parts []string
	for _, s := range spans[:min(len(spans), maxNamed)] {
		if s.First == s.Last {
			parts = append(parts, fmt.Sprint(s.First))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", s.First, s.Last))
		}
	}
	s := strings.Join(parts, ", ")
	if n := len(spans) - maxNamed; n > 0 {
		s += fmt.Sprintf(" and %d more places", n)
	}
	if len(spans) == 1 && spans[0].First == spans[0].Last {
		return "line " + s
	}
	return "lines " + s
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
	res.Output.Text = fmt.Sprintf("Edited %s, now %s (%s).", c.Image.Path, c.Where, c.Summary)
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
