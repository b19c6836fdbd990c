// Package ls is the hand that lists one folder.
package ls

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/hands"
)

//go:embed ls.md
var description string

const schema = `{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`

// maxEntries bounds one listing.
const maxEntries = 500

// Hand implements capability.Hand.
type Hand struct{ open hands.OpenFunc }

// New returns the hand.
func New(open hands.OpenFunc) *Hand { return &Hand{open} }

type input struct{ Path string }

// Spec implements capability.Hand.
func (h *Hand) Spec() domain.HandSpec {
	return domain.HandSpec{
		Name: "ls", Description: strings.TrimSpace(description), Schema: []byte(schema),
		Class: domain.EffectRead, Capabilities: []domain.Capability{domain.CapRead},
		Timeout: 30 * time.Second, MaxOutput: 32 << 10, Where: "this process",
	}
}

func (h *Hand) resolve(ctx context.Context, call domain.HandCall) (hands.Workspace, string, error) {
	in, err := hands.Decode[input](call)
	if err != nil {
		return nil, "", err
	}
	ws, err := h.open(ctx, call.Workspace)
	if err != nil {
		return nil, "", err
	}
	if in.Path == "" {
		in.Path = "."
	}
	rel, err := ws.Resolve(in.Path)
	return ws, rel, err
}

// Prepare implements capability.Hand.
func (h *Hand) Prepare(ctx context.Context, call domain.HandCall) (*domain.PreparedCall, error) {
	_, rel, err := h.resolve(ctx, call)
	if err != nil {
		return nil, err
	}
	return hands.ReadOnly(call, "List "+rel, rel), nil
}

// Execute implements capability.Hand.
func (h *Hand) Execute(ctx context.Context, p *domain.PreparedCall, _ func([]byte)) (domain.HandResult, error) {
	var res domain.HandResult
	ws, rel, err := h.resolve(ctx, p.Call)
	if err != nil {
		return res, err
	}
	entries, err := ws.ReadDir(rel)
	if err != nil {
		if _, _, ferr := ws.ReadFile(rel); ferr == nil || domain.CodeOf(ferr) == domain.CodeTooLarge {
			return res, domain.Errorf(domain.CodeInvalid, "%s is a file; use read", rel)
		}
		return res, hands.NotFound(ws, rel)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		if a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name(), b.Name())
	})
	var b strings.Builder
	for _, e := range entries[:min(len(entries), maxEntries)] {
		b.WriteString(line(e))
	}
	if n := len(entries) - maxEntries; n > 0 {
		fmt.Fprintf(&b, "[%d more entries not shown; use glob]\n", n)
	}
	if len(entries) == 0 {
		b.WriteString("The folder is empty.\n")
	}
	res.Output.Text = b.String()
	res.Output.Summary = hands.Plural(len(entries), "entry")
	return res, nil
}

// line shows one entry: folders end in "/", links in "@", files have their size.
func line(e fs.DirEntry) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' {
			return '?' // one entry, one line
		}
		return r
	}, e.Name())
	switch {
	case e.IsDir():
		return name + "/\n"
	case e.Type()&fs.ModeSymlink != 0:
		return name + "@\n"
	case !e.Type().IsRegular():
		return name + " (special)\n"
	}
	info, err := e.Info()
	if err != nil {
		return name + "\n"
	}
	return fmt.Sprintf("%s (%s)\n", name, hands.Size(info.Size()))
}

// Probe implements capability.Hand.
func (h *Hand) Probe(context.Context, domain.HandCall, domain.Effect) (domain.ProbeResult, string) {
	return hands.ProbeRead()
}
