package ollama

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/types/model"

	"worksite/backend/domain"
)

const (
	showFresh    = 2 * time.Minute // how long a model's card is taken as true without asking again
	showParallel = 4
	quickBound   = 10 * time.Second
	// The windows of [contextFor].
	smallWindow = 8192
	largeWindow = 16384
	largeUpTo   = 6 << 30 // bytes of weights
)

// shown is what /api/show told about a model.
type shown struct {
	info    domain.ModelInfo
	chat    bool   // completes text at all; an embedding model does not
	numCtx  int    // of its Modelfile, 0 when it has none
	weights string // the blob it is made from; models with the same one share a runner
	digest  string // from /api/tags, "" when unknown
	at      time.Time
}

// Models lists the server's models that can chat, newest first, with what they
// can do. Models whose card cannot be read are left out.
func (p *Provider) Models(ctx context.Context) ([]domain.ModelInfo, error) {
	s, err := p.at("")
	if err != nil {
		return nil, err
	}
	list, err := quick(ctx, s.api.List)
	if err != nil {
		return nil, failed(s, "", err)
	}
	loaded := map[string]bool{}
	if ps, err := quick(ctx, s.api.ListRunning); err == nil {
		for _, m := range ps.Models {
			loaded[m.Name] = true
		}
	}
	infos := make([]*domain.ModelInfo, len(list.Models))
	slots := make(chan struct{}, showParallel)
	var wg sync.WaitGroup
	for i, m := range list.Models {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			card, err := s.card(ctx, m)
			if err != nil || !card.chat {
				return
			}
			info := card.info
			info.Loaded, info.Size = loaded[m.Name], m.Size
			infos[i] = &info
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, failed(s, "", err)
	}
	out := make([]domain.ModelInfo, 0, len(infos))
	for _, info := range infos {
		if info != nil {
			out = append(out, *info)
		}
	}
	return out, nil
}

// Context returns the context window, in tokens, that requests of ref will ask
// for: what ref asks for, else by a rule. The rule gives 16,384 tokens to models
// of up to 6 GiB of weights and 8,192 to larger ones, because the memory for the
// window grows with the model; a larger num_ctx in the model's own Modelfile
// wins, as somebody chose it. It is never more than the model's own maximum and
// stays the same from step to step, since another window reloads the model.
func (p *Provider) Context(ctx context.Context, ref domain.ModelRef) (int, error) {
	s, err := p.at(ref.BaseURL)
	if err != nil {
		return 0, err
	}
	show, err := s.show(ctx, ref.Name)
	if err != nil {
		return 0, failed(s, ref.Name, err)
	}
	return contextFor(ref, show), nil
}

func contextFor(ref domain.ModelRef, show shown) int {
	maximum := show.info.ContextTokens
	n := ref.ContextTokens
	if n <= 0 {
		n = largeWindow
		if show.info.Size > largeUpTo || maximum == 0 {
			n = smallWindow
		}
		n = max(n, show.numCtx)
	}
	if maximum > 0 {
		n = min(n, maximum)
	}
	return n
}

// errNoAnswer is a server that takes connections and says nothing.
var errNoAnswer = errors.New("the server took the connection and did not answer")

// quick bounds a request that a healthy server answers from memory.
func quick[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, quickBound)
	defer cancel()
	v, err := f(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = errNoAnswer
	}
	return v, err
}

// show returns the card of the model called name, kept for [showFresh].
func (s *server) show(ctx context.Context, name string) (shown, error) {
	s.mu.Lock()
	kept, ok := s.shown[name]
	s.mu.Unlock()
	if ok && time.Since(kept.at) < showFresh {
		return kept, nil
	}
	return s.ask(ctx, name, kept.digest, kept.info.Size)
}

// card returns the card of a listed model; an unchanged digest is not asked again.
func (s *server) card(ctx context.Context, m api.ListModelResponse) (shown, error) {
	s.mu.Lock()
	kept, ok := s.shown[m.Name]
	s.mu.Unlock()
	if ok && kept.digest == m.Digest {
		return kept, nil
	}
	return s.ask(ctx, m.Name, m.Digest, m.Size)
}

// forget drops the kept card of name, after an answer that contradicts it.
func (s *server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.shown, name)
}

func (s *server) ask(ctx context.Context, name, digest string, size int64) (shown, error) {
	if size == 0 { // the window depends on it; one list call per model and process
		if list, err := quick(ctx, s.api.List); err == nil {
			for _, m := range list.Models {
				if sameName(m.Name, name) {
					digest, size = m.Digest, m.Size
				}
			}
		}
	}
	res, err := quick(ctx, func(ctx context.Context) (*api.ShowResponse, error) {
		return s.api.Show(ctx, &api.ShowRequest{Model: name})
	})
	if err != nil {
		return shown{}, err
	}
	card := shown{
		info: domain.ModelInfo{
			Provider:      Name,
			Name:          name,
			Tools:         slices.Contains(res.Capabilities, model.CapabilityTools),
			Thinking:      slices.Contains(res.Capabilities, model.CapabilityThinking),
			Vision:        slices.Contains(res.Capabilities, model.CapabilityVision),
			Remote:        res.RemoteHost != "",
			ContextTokens: contextLength(res.ModelInfo),
			Size:          size,
		},
		chat:    slices.Contains(res.Capabilities, model.CapabilityCompletion),
		numCtx:  parameter(res.Parameters, "num_ctx"),
		weights: fromLine(res.Modelfile),
		digest:  digest,
		at:      time.Now(),
	}
	if len(res.Capabilities) == 0 { // a server older than this list: look at the prompt template instead
		card.chat, card.info.Tools = true, strings.Contains(res.Template, ".Tools")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown[name] = card
	return card, nil
}

// contextLength finds "<architecture>.context_length" in a model's metadata.
func contextLength(info map[string]any) int {
	arch, _ := info["general.architecture"].(string)
	if n, ok := info[arch+".context_length"].(float64); ok {
		return int(n)
	}
	for key, v := range info {
		if n, ok := v.(float64); ok && strings.HasSuffix(key, ".context_length") {
			return int(n)
		}
	}
	return 0
}

// parameter reads one number of the "name value" lines of /api/show.
func parameter(text, name string) int {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 {
				return n
			}
		}
	}
	return 0
}

var from = regexp.MustCompile(`(?m)^FROM (\S+)$`)

// fromLine returns what a Modelfile's first FROM names.
func fromLine(modelfile string) string {
	if m := from.FindStringSubmatch(modelfile); m != nil {
		return m[1]
	}
	return ""
}

// sameName compares model names as the server does: ":latest" may be left out.
func sameName(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, ":latest"), strings.TrimSuffix(b, ":latest"))
}
