// Package glob is the hand that finds files by a name pattern with **, newest
// first, leaving out what Git ignores.
package glob

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"worksite/backend/domain"
	"worksite/backend/hands"
)

//go:embed glob.md
var description string

const schema = `{"type":"object","properties":{"pattern":{"type":"string","minLength":1},"path":{"type":"string"}},"required":["pattern"],"additionalProperties":false}`

// maxShown bounds one answer.
const maxShown = 200

// Hand implements capability.Hand.
type Hand struct{ open hands.OpenFunc }

// New returns the hand.
func New(open hands.OpenFunc) *Hand { return &Hand{open} }

type input struct{ Pattern, Path string }

// Spec implements capability.Hand.
func (h *Hand) Spec() domain.HandSpec {
	return domain.HandSpec{
		Name: "glob", Description: strings.TrimSpace(description), Schema: []byte(schema),
		Class: domain.EffectRead, Capabilities: []domain.Capability{domain.CapRead},
		Timeout: time.Minute, MaxOutput: 32 << 10, Where: "this process",
	}
}

func (h *Hand) resolve(ctx context.Context, call domain.HandCall) (ws hands.Workspace, in input, rel string, err error) {
	if in, err = hands.Decode[input](call); err != nil {
		return nil, in, "", err
	}
	if ws, err = h.open(ctx, call.Workspace); err != nil {
		return nil, in, "", err
	}
	if in.Path == "" {
		in.Path = "."
	}
	if rel, err = ws.Resolve(in.Path); err != nil {
		return nil, in, "", err
	}
	// A model may write the pattern with the folder in it, absolute or with "./".
	in.Pattern = strings.TrimPrefix(path.Clean(strings.ReplaceAll(in.Pattern, `\`, "/")), "./")
	if below, ok := strings.CutPrefix(in.Pattern, strings.TrimSuffix(ws.Root(), "/")+"/"); ok {
		in.Pattern = below
	}
	if !strings.Contains(in.Pattern, "/") && !strings.HasPrefix(in.Pattern, "**") {
		in.Pattern = "**/" + in.Pattern
	}
	if !doublestar.ValidatePattern(in.Pattern) {
		return nil, in, "", domain.Errorf(domain.CodeInvalid, "pattern %q is not a valid glob; use *, **, ?, [a-z] and {a,b}", hands.Clip(in.Pattern, 60))
	}
	return ws, in, rel, nil
}

// Prepare implements capability.Hand.
func (h *Hand) Prepare(ctx context.Context, call domain.HandCall) (*domain.PreparedCall, error) {
	_, in, rel, err := h.resolve(ctx, call)
	if err != nil {
		return nil, err
	}
	return hands.ReadOnly(call, fmt.Sprintf("Find %s in %s", in.Pattern, rel), rel), nil
}

type found struct {
	path string
	at   time.Time
}

// Execute implements capability.Hand.
func (h *Hand) Execute(ctx context.Context, p *domain.PreparedCall, _ func([]byte)) (domain.HandResult, error) {
	var res domain.HandResult
	ws, in, rel, err := h.resolve(ctx, p.Call)
	if err != nil {
		return res, err
	}
	if _, err := ws.ReadDir(rel); err != nil {
		return res, hands.NotFound(ws, rel)
	}
	var all []found
	err = ws.Walk(ctx, rel, false, func(name string, d fs.DirEntry) error {
		if d.IsDir() {
			return nil
		}
		below := name
		if rel != "." {
			below = strings.TrimPrefix(name, rel+"/")
		}
		if !doublestar.MatchUnvalidated(in.Pattern, below) {
			return nil
		}
		f := found{path: name}
		if info, err := d.Info(); err == nil { // it may have just gone
			f.at = info.ModTime()
		}
		all = append(all, f)
		return nil
	})
	if err != nil {
		return res, err
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path))
	})
	var b strings.Builder
	for _, f := range all[:min(len(all), maxShown)] {
		b.WriteString(f.path + "\n")
	}
	if n := len(all) - maxShown; n > 0 {
		fmt.Fprintf(&b, "[%d more not shown, all older; narrow the pattern]\n", n)
	}
	if len(all) == 0 {
		fmt.Fprintf(&b, "No file matches %s in %s (files ignored by Git are left out).\n", in.Pattern, rel)
	}
	res.Output.Text = b.String()
	res.Output.Summary = hands.Plural(len(all), "file")
	return res, nil
}

// Probe implements capability.Hand.
func (h *Hand) Probe(context.Context, domain.HandCall, domain.Effect) (domain.ProbeResult, string) {
	return hands.ProbeRead()
}
