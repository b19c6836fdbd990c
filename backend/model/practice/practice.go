package practice

import (
	"context"
	"slices"
	"strings"
	"time"

	"worksite/backend/domain"
)

// Name is the provider's name in a [domain.ModelRef].
const Name = "practice"

// Sample is the name of the recording for the sample workspace.
const Sample = "sample"

const (
	window = 200_000 // tokens; nothing is ever read by a model, so this only keeps compaction away
	piece  = 24      // bytes of one delta, about
)

// Config configures a Provider.
type Config struct {
	// Pause is the time between two deltas; 0 plays at once.
	Pause time.Duration
}

// Provider plays recordings. It is safe for use by several goroutines.
type Provider struct {
	cfg  Config
	recs map[string]*recording
}

// New returns a Provider with the built-in recordings.
func New(cfg Config) (*Provider, error) {
	recs, err := load()
	if err != nil {
		return nil, err
	}
	return &Provider{cfg: cfg, recs: recs}, nil
}

// Requests returns the recorded requests, which are all that can be played.
func (p *Provider) Requests() []string {
	var out []string
	for _, r := range p.recs {
		out = append(out, r.Request)
	}
	slices.Sort(out)
	return out
}

// Models lists the recordings as models.
func (p *Provider) Models(context.Context) ([]domain.ModelInfo, error) {
	var out []domain.ModelInfo
	for _, r := range p.recs {
		out = append(out, domain.ModelInfo{Provider: Name, Name: r.Name, Tools: true, ContextTokens: window, Loaded: true, Recorded: true})
	}
	slices.SortFunc(out, func(a, b domain.ModelInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Context returns the context window of ref, in tokens.
func (p *Provider) Context(_ context.Context, ref domain.ModelRef) (int, error) {
	if _, err := p.recording(ref.Name); err != nil {
		return 0, err
	}
	return window, nil
}

func (p *Provider) recording(name string) (*recording, error) {
	if r, ok := p.recs[name]; ok {
		return r, nil
	}
	return nil, &domain.ModelFailure{
		State:   domain.ModelMissing,
		Message: "There is no recording called " + `"` + name + `".`,
		Hint:    "Choose the practice model \"" + Sample + "\".",
	}
}

// Next plays the answer that follows req.Messages and streams it to emit.
func (p *Provider) Next(ctx context.Context, req domain.ModelRequest, emit func(domain.Delta)) (domain.ModelAnswer, error) {
	rec, err := p.recording(req.Model.Name)
	if err != nil {
		return domain.ModelAnswer{}, err
	}
	begin := time.Now()
	out := rec.next(req.Messages)
	out.Recorded = true
	out.Finish = domain.FinishStop
	if len(out.ToolCalls) > 0 {
		out.Finish = domain.FinishTools
	}
	var sent strings.Builder
	for _, d := range deltas(out) {
		if err := p.pause(ctx); err != nil {
			return domain.ModelAnswer{}, &domain.ModelFailure{
				State: domain.ModelCutOff, Err: err, Partial: sent.String(),
				Message: "The request was stopped before the recorded answer was played.",
			}
		}
		sent.WriteString(d.Text)
		emit(d)
	}
	out.Usage.DurationMS = time.Since(begin).Milliseconds()
	return out, nil
}

func (p *Provider) pause(ctx context.Context) error {
	if p.cfg.Pause <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(p.cfg.Pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deltas cuts an answer into small pieces, between words.
func deltas(a domain.ModelAnswer) []domain.Delta {
	var out []domain.Delta
	for _, t := range chop(a.Thinking) {
		out = append(out, domain.Delta{Thinking: t})
	}
	for _, t := range chop(a.Text) {
		out = append(out, domain.Delta{Text: t})
	}
	return out
}

func chop(s string) []string {
	var out []string
	for len(s) > piece {
		n := strings.IndexAny(s[piece:], " \n")
		if n < 0 {
			break
		}
		out = append(out, s[:piece+n+1])
		s = s[piece+n+1:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}
