package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"worksite/backend/domain"
	"worksite/backend/model/ollama"
	"worksite/backend/model/openai"
	"worksite/backend/model/practice"
)

// listBound is how long a list waits for a provider that does not answer.
const listBound = 2 * time.Second

// Provider is what a provider owes the registry. Errors of a model call or list
// are [*domain.ModelFailure].
type Provider interface {
	// Next asks the model once. emit is called by one goroutine at a time and
	// never after Next has returned.
	Next(ctx context.Context, req domain.ModelRequest, emit func(domain.Delta)) (domain.ModelAnswer, error)
	// Models lists what can be chosen, best first.
	Models(ctx context.Context) ([]domain.ModelInfo, error)
	// Context returns the context window in tokens that a request of ref gets.
	Context(ctx context.Context, ref domain.ModelRef) (int, error)
}

// Config configures a Registry.
type Config struct {
	// OllamaURL is the address of the Ollama server; "" is the usual one on
	// this machine.
	OllamaURL string
	// OpenAIURL is the base URL of an OpenAI-compatible endpoint, with its
	// version part; "" sets none up, and nothing is contacted.
	OpenAIURL string
	// OpenAIKeyEnv names the environment variable with the endpoint's key;
	// default OPENAI_API_KEY. The key goes to OpenAIURL's origin only.
	OpenAIKeyEnv string
	// PracticePause is the time between two pieces of a recorded answer.
	PracticePause time.Duration
}

// State tells how a provider is doing; an empty State is fine.
type State struct {
	Name    string
	State   domain.ModelState
	Message string
	Hint    string
	BaseURL string
}

// Registry holds the providers. It is safe for use by several goroutines.
type Registry struct {
	entries []entry // in the order of lists
}

type entry struct {
	name    string
	baseURL string
	use     Provider
	close   func() error
}

// New returns a Registry. It does not connect. A provider whose configuration
// is wrong is there and says so in [Registry.Providers] and when it is used: the
// others work all the same.
func New(cfg Config) *Registry {
	r := &Registry{}
	if p, err := ollama.New(ollama.Config{BaseURL: cfg.OllamaURL}); err != nil {
		r.entries = append(r.entries, entry{name: ollama.Name, baseURL: cfg.OllamaURL, use: broken{err}})
	} else {
		r.entries = append(r.entries, entry{name: ollama.Name, baseURL: p.BaseURL(), use: p, close: p.Close})
	}
	if p, err := openai.New(openai.Config{BaseURL: cfg.OpenAIURL, KeyEnv: cfg.OpenAIKeyEnv}); err != nil {
		r.entries = append(r.entries, entry{name: openai.Name, baseURL: cfg.OpenAIURL, use: broken{err}})
	} else {
		r.entries = append(r.entries, entry{name: openai.Name, baseURL: p.BaseURL(), use: p, close: p.Close})
	}
	if p, err := practice.New(practice.Config{Pause: cfg.PracticePause}); err != nil {
		r.entries = append(r.entries, entry{name: practice.Name, use: broken{err}})
	} else {
		r.entries = append(r.entries, entry{name: practice.Name, use: p})
	}
	return r
}

// Close drops idle connections of all providers.
func (r *Registry) Close() error {
	var errs []error
	for _, e := range r.entries {
		if e.close != nil {
			errs = append(errs, e.close())
		}
	}
	return errors.Join(errs...)
}

func (r *Registry) provider(name string) (Provider, error) {
	for _, e := range r.entries {
		if e.name == name {
			return e.use, nil
		}
	}
	return nil, &domain.ModelFailure{
		State:   domain.ModelMissing,
		Message: fmt.Sprintf("There is no model provider called %q.", name),
		Hint:    "The providers are " + strings.Join(r.names(), ", ") + "; a model is written PROVIDER:NAME.",
	}
}

func (r *Registry) names() []string {
	var out []string
	for _, e := range r.entries {
		out = append(out, e.name)
	}
	return out
}

// Next asks the model that req names; see [Provider].
func (r *Registry) Next(ctx context.Context, req domain.ModelRequest, emit func(domain.Delta)) (domain.ModelAnswer, error) {
	p, err := r.provider(req.Model.Provider)
	if err != nil {
		return domain.ModelAnswer{}, err
	}
	return p.Next(ctx, req, emit)
}

// Context returns the context window in tokens that a request of ref gets.
func (r *Registry) Context(ctx context.Context, ref domain.ModelRef) (int, error) {
	p, err := r.provider(ref.Provider)
	if err != nil {
		return 0, err
	}
	return p.Context(ctx, ref)
}

// listed is one provider's list.
type listed struct {
	models []domain.ModelInfo
	err    error
}

// lists asks all providers at the same time; one that does not answer within
// [listBound] counts as down.
func (r *Registry) lists(ctx context.Context) []listed {
	bounded, cancel := context.WithTimeout(ctx, listBound)
	defer cancel()
	out := make([]listed, len(r.entries))
	var wg sync.WaitGroup
	for i, e := range r.entries {
		wg.Go(func() {
			models, err := e.use.Models(bounded)
			if err != nil && bounded.Err() != nil && ctx.Err() == nil {
				err = &domain.ModelFailure{
					State: domain.ModelDown, Err: err, Retryable: true,
					Message: fmt.Sprintf("%s does not answer within %s.", e.baseURL, listBound),
					Hint:    "See whether the server is busy or the address is right, and look again.",
				}
			}
			out[i] = listed{models, err}
		})
	}
	wg.Wait()
	return out
}

// Models lists the models of all providers that answer, Ollama's first and the
// practice model last. A provider that does not is told of by [Registry.Providers].
func (r *Registry) Models(ctx context.Context) ([]domain.ModelInfo, error) {
	out := []domain.ModelInfo{}
	for _, l := range r.lists(ctx) {
		out = append(out, l.models...)
	}
	return out, ctx.Err()
}

// Providers says how each provider is doing.
func (r *Registry) Providers(ctx context.Context) []State {
	_, states := r.Look(ctx)
	return states
}

// Look returns what Models and Providers return, asking each provider once.
func (r *Registry) Look(ctx context.Context) ([]domain.ModelInfo, []State) {
	models := []domain.ModelInfo{}
	states := make([]State, len(r.entries))
	for i, l := range r.lists(ctx) {
		models = append(models, l.models...)
		states[i] = r.entries[i].state(l)
	}
	return models, states
}

func (e entry) state(l listed) State {
	s := State{Name: e.name, BaseURL: e.baseURL}
	var f *domain.ModelFailure
	switch {
	case errors.As(l.err, &f):
		s.State, s.Message, s.Hint = f.State, f.Message, f.Hint
	case l.err != nil:
		s.State, s.Message, s.Hint = domain.ModelError, l.err.Error(), domain.HintOf(l.err)
	case e.name == ollama.Name && len(l.models) == 0:
		s.State, s.Message = domain.ModelMissing, "Ollama answers, but has no model that can chat."
		s.Hint = "Run `ollama pull` with a model that can call tools, for example `ollama pull qwen3:4b`."
	case e.name == ollama.Name && !slices.ContainsFunc(l.models, func(m domain.ModelInfo) bool { return m.Tools }):
		s.State, s.Message = domain.ModelNoTools, "Ollama answers, but none of its models can call tools, so none can work on files."
		s.Hint = "Run `ollama pull` with a model that can, for example `ollama pull qwen3:4b`."
	case e.name == openai.Name && e.baseURL == "":
		s.State, s.Message = domain.ModelDown, "No OpenAI-compatible endpoint is set up."
		s.Hint = "Set its address in the settings."
	}
	return s
}

// Pick returns the model for a first start: a local model of Ollama's that can
// call tools (one that is loaded, else the newest), else the practice model.
func (r *Registry) Pick(ctx context.Context) (domain.ModelRef, error) {
	models, err := r.Models(ctx)
	if err != nil {
		return domain.ModelRef{}, err
	}
	var best *domain.ModelInfo
	for i, m := range models {
		if m.Provider == ollama.Name && m.Tools && !m.Remote && (best == nil || (m.Loaded && !best.Loaded)) {
			best = &models[i]
		}
	}
	if best == nil {
		return domain.ModelRef{Provider: practice.Name, Name: practice.Sample}, nil
	}
	return domain.ModelRef{Provider: best.Provider, Name: best.Name}, nil
}

// broken is a provider whose configuration is wrong.
type broken struct{ err error }

func (b broken) failure() error {
	return &domain.ModelFailure{State: domain.ModelError, Err: b.err, Message: b.err.Error(), Hint: domain.HintOf(b.err)}
}

func (b broken) Next(context.Context, domain.ModelRequest, func(domain.Delta)) (domain.ModelAnswer, error) {
	return domain.ModelAnswer{}, b.failure()
}

func (b broken) Models(context.Context) ([]domain.ModelInfo, error) { return nil, b.failure() }

func (b broken) Context(context.Context, domain.ModelRef) (int, error) { return 0, b.failure() }
