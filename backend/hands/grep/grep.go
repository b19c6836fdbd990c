// Package grep is the hand that searches file contents with a Go regular
// expression (RE2), in parallel, leaving out binary files and what Git ignores.
package grep

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"worksite/backend/domain"
	"worksite/backend/hands"
)

//go:embed grep.md
var description string

const schema = `{"type":"object","properties":{"pattern":{"type":"string","minLength":1},"path":{"type":"string"},"glob":{"type":"string","description":"e.g. *.py"},"ignore_case":{"type":"boolean"},"context":{"type":"integer","minimum":0,"maximum":10,"description":"lines around"},"files_only":{"type":"boolean"}},"required":["pattern"],"additionalProperties":false}`

// Hand implements capability.Hand.
type Hand struct{ open hands.OpenFunc }

// New returns the hand.
func New(open hands.OpenFunc) *Hand { return &Hand{open} }

type input struct {
	Pattern, Path, Glob string
	IgnoreCase          bool `json:"ignore_case"`
	Context             int
	FilesOnly           bool `json:"files_only"`
}

// query is a call resolved.
type query struct {
	input
	ws  hands.Workspace
	rel string
	re  *regexp.Regexp
}

// Spec implements capability.Hand.
func (h *Hand) Spec() domain.HandSpec {
	return domain.HandSpec{
		Name: "grep", Description: strings.TrimSpace(description), Schema: []byte(schema),
		Class: domain.EffectRead, Capabilities: []domain.Capability{domain.CapRead},
		Timeout: time.Minute, MaxOutput: maxText + 4<<10, Where: "this process",
	}
}

func (h *Hand) resolve(ctx context.Context, call domain.HandCall) (q query, err error) {
	if q.input, err = hands.Decode[input](call); err != nil {
		return q, err
	}
	if q.ws, err = h.open(ctx, call.Workspace); err != nil {
		return q, err
	}
	if q.Path == "" {
		q.Path = "."
	}
	if q.rel, err = q.ws.Resolve(q.Path); err != nil {
		return q, err
	}
	pattern := "(?m)" + q.Pattern
	if q.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	if q.re, err = regexp.Compile(pattern); err != nil {
		msg := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return q, domain.Errorf(domain.CodeInvalid, "the pattern is not a valid RE2 expression: %s (no look-around, no back references; write \\( for a bracket)", hands.Clip(msg, 200))
	}
	if q.Glob != "" {
		if !strings.Contains(q.Glob, "/") {
			q.Glob = "**/" + q.Glob
		}
		q.Glob = strings.TrimPrefix(q.Glob, "./")
		if !doublestar.ValidatePattern(q.Glob) {
			return q, domain.Errorf(domain.CodeInvalid, "glob %q is not valid; use *, **, ?, [a-z] and {a,b}", hands.Clip(q.Glob, 60))
		}
	}
	return q, nil
}

// Prepare implements capability.Hand.
func (h *Hand) Prepare(ctx context.Context, call domain.HandCall) (*domain.PreparedCall, error) {
	q, err := h.resolve(ctx, call)
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("Search %q in %s", hands.Clip(q.Pattern, 80), q.rel)
	if q.Glob != "" {
		title += " (" + q.Glob + ")"
	}
	return hands.ReadOnly(call, title, q.rel), nil
}

// Execute implements capability.Hand.
func (h *Hand) Execute(ctx context.Context, p *domain.PreparedCall, _ func([]byte)) (domain.HandResult, error) {
	var res domain.HandResult
	q, err := h.resolve(ctx, p.Call)
	if err != nil {
		return res, err
	}
	s, err := q.search(ctx)
	if err != nil {
		return res, err
	}
	res.Output.Text = s.render(q)
	res.Output.Summary = hands.Plural(s.matches, "match")
	if s.matches > 0 {
		res.Output.Summary += " in " + hands.Plural(len(s.files), "file")
	}
	return res, nil
}

// Probe implements capability.Hand.
func (h *Hand) Probe(context.Context, domain.HandCall, domain.Effect) (domain.ProbeResult, string) {
	return hands.ProbeRead()
}
