package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	api "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"worksite/backend/domain"
	"worksite/backend/model/internal/wire"
)

// Name is the provider's name in a [domain.ModelRef].
const Name = "openai"

const (
	defaultKeyEnv = "OPENAI_API_KEY"
	// unknownWindow is assumed for a model whose window the endpoint does not tell.
	unknownWindow = 32768
	listBound     = 10 * time.Second
	listFresh     = 5 * time.Minute
)

// Config configures a Provider.
type Config struct {
	// BaseURL is the endpoint, with its version part, e.g.
	// "http://127.0.0.1:8080/v1". Without one the provider is not set up, and
	// nothing is contacted.
	BaseURL string
	// KeyEnv names the environment variable with the key; default
	// OPENAI_API_KEY. It is read for each request and never kept or written.
	KeyEnv string
	// Transport replaces the HTTP transport in tests.
	Transport http.RoundTripper
}

// Provider answers model requests from OpenAI-compatible endpoints. It is safe
// for use by several goroutines.
type Provider struct {
	cfg    Config
	client *http.Client
	pooled *http.Transport

	mu    sync.Mutex
	known map[string]listing // by base URL
}

// listing is what an endpoint told about its models.
type listing struct {
	models []domain.ModelInfo
	at     time.Time
}

// New returns a Provider. It does not connect.
func New(cfg Config) (*Provider, error) {
	if cfg.BaseURL != "" {
		base, err := normalise(cfg.BaseURL)
		if err != nil {
			return nil, err
		}
		cfg.BaseURL = base
	}
	if cfg.KeyEnv == "" {
		cfg.KeyEnv = defaultKeyEnv
	}
	p := &Provider{cfg: cfg, known: map[string]listing{}}
	inner := cfg.Transport
	if inner == nil {
		// No ResponseHeaderTimeout: a local server reads a long prompt first.
		p.pooled = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
			DisableCompression:  true, // a compressed stream arrives in lumps
		}
		inner = p.pooled
	}
	p.client = &http.Client{Transport: wire.Transport{Base: inner}}
	return p, nil
}

// BaseURL returns the configured endpoint, "" when none is set up.
func (p *Provider) BaseURL() string { return p.cfg.BaseURL }

// Close drops idle connections.
func (p *Provider) Close() error {
	if p.pooled != nil {
		p.pooled.CloseIdleConnections()
	}
	return nil
}

func normalise(raw string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
		return "", domain.Errorf(domain.CodeInvalid, "%q is not the address of an endpoint", raw).
			WithHint("Write it with its version part, for example http://127.0.0.1:8080/v1, and without a password in it.")
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimSuffix(u.String(), "/"), nil
}

// endpoint is one base URL with the key that may go there.
type endpoint struct {
	base, key string
	keyEnv    string
}

func (p *Provider) endpoint(baseURL string) (endpoint, error) {
	base := p.cfg.BaseURL
	if baseURL != "" {
		var err error
		if base, err = normalise(baseURL); err != nil {
			return endpoint{}, err
		}
	}
	if base == "" {
		return endpoint{}, &domain.ModelFailure{
			State:   domain.ModelDown,
			Message: "No OpenAI-compatible endpoint is set up.",
			Hint:    "Set its address in the settings; a key is read from the environment variable " + p.cfg.KeyEnv + ".",
		}
	}
	e := endpoint{base: base, keyEnv: p.cfg.KeyEnv}
	if sameOrigin(base, p.cfg.BaseURL) {
		e.key = os.Getenv(p.cfg.KeyEnv)
	}
	return e, nil
}

func sameOrigin(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// options are those of every request. The service constructors, unlike the
// library's NewClient, read nothing from the environment.
func (p *Provider) options(e endpoint) []option.RequestOption {
	out := []option.RequestOption{
		option.WithBaseURL(e.base + "/"), option.WithHTTPClient(p.client), option.WithMaxRetries(0),
	}
	if e.key != "" {
		out = append(out, option.WithAPIKey(e.key))
	}
	return out
}

// Next asks the model of req once and streams the answer to emit, from the
// calling goroutine. Every error is a [*domain.ModelFailure]; that of a
// cancelled ctx also matches ctx's error and carries what had been streamed.
func (p *Provider) Next(ctx context.Context, req domain.ModelRequest, emit func(domain.Delta)) (domain.ModelAnswer, error) {
	begin := time.Now()
	e, err := p.endpoint(req.Model.BaseURL)
	if err != nil {
		return domain.ModelAnswer{}, failed(e, req.Model.Name, nil, err)
	}
	x, err := newExchange(req)
	if err != nil {
		return domain.ModelAnswer{}, failed(e, req.Model.Name, nil, err)
	}
	service := api.NewChatCompletionService(p.options(e)...)
	stream := service.NewStreaming(x.Context(ctx), params(req.Model.Name))
	defer stream.Close()
	got := collector{offered: req.Tools, emit: emit}
	for stream.Next() {
		got.chunk(stream.Current())
	}
	switch err := stream.Err(); {
	case ctx.Err() != nil:
		f := failed(e, req.Model.Name, x, ctx.Err())
		f.Partial = got.text.String()
		return domain.ModelAnswer{}, f
	case err != nil && !got.finished: // after the finish reason only the count can be missing
		f := failed(e, req.Model.Name, x, err)
		f.Partial = got.text.String()
		return domain.ModelAnswer{}, f
	case !got.finished && !x.SawDone():
		return domain.ModelAnswer{}, cutOff(got.text.String(), nil)
	}
	return got.answer(time.Since(begin))
}

// params is the part of the body that the library encodes; messages and tools
// come in through the transport.
func params(model string) api.ChatCompletionNewParams {
	return api.ChatCompletionNewParams{
		Model:         model,
		Messages:      []api.ChatCompletionMessageParamUnion{},
		StreamOptions: api.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
}

// Models lists what the configured endpoint offers, nothing when none is set
// up. Endpoints do not say whether a model calls tools; they are listed as if.
func (p *Provider) Models(ctx context.Context) ([]domain.ModelInfo, error) {
	if p.cfg.BaseURL == "" {
		return nil, nil
	}
	e, err := p.endpoint("")
	if err != nil {
		return nil, err
	}
	return p.list(ctx, e)
}

func (p *Provider) list(ctx context.Context, e endpoint) ([]domain.ModelInfo, error) {
	bounded, cancel := context.WithTimeout(ctx, listBound)
	defer cancel()
	x := &wire.Exchange{Observe: true}
	service := api.NewModelService(p.options(e)...)
	page, err := service.List(x.Context(bounded))
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			err = errNoAnswer
		}
		return nil, failed(e, "", x, err)
	}
	models := []domain.ModelInfo{}
	for _, m := range page.Data {
		if strings.Contains(m.ID, "embed") {
			continue
		}
		models = append(models, domain.ModelInfo{
			Provider: Name, Name: m.ID, Tools: true, ContextTokens: window(m.RawJSON()), Remote: !loopback(e.base),
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[e.base] = listing{models: models, at: time.Now()}
	return models, nil
}

// window finds a model's context among the names that servers give it.
func window(raw string) int {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &m) != nil {
		return 0
	}
	for _, key := range []string{"max_model_len", "context_length", "context_window", "max_context_length"} {
		var n int
		if v, ok := m[key]; ok && json.Unmarshal(v, &n) == nil && n > 0 {
			return n
		}
	}
	return 0
}

func loopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}

// Context returns the context window, in tokens, that is reckoned with for ref:
// what ref says, else what the endpoint tells of the model, else 32,768.
func (p *Provider) Context(ctx context.Context, ref domain.ModelRef) (int, error) {
	if ref.ContextTokens > 0 {
		return ref.ContextTokens, nil
	}
	e, err := p.endpoint(ref.BaseURL)
	if err != nil {
		return 0, failed(e, ref.Name, nil, err)
	}
	p.mu.Lock()
	known, ok := p.known[e.base]
	p.mu.Unlock()
	if !ok || time.Since(known.at) > listFresh {
		models, err := p.list(ctx, e)
		if err != nil {
			if ctx.Err() != nil {
				return 0, err
			}
			return unknownWindow, nil // an endpoint need not list its models
		}
		known.models = models
	}
	for _, m := range known.models {
		if m.Name == ref.Name && m.ContextTokens > 0 {
			return m.ContextTokens, nil
		}
	}
	return unknownWindow, nil
}
