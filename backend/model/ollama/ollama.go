package ollama

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"

	"worksite/backend/domain"
	"worksite/backend/model/internal/wire"
)

// Name is the provider's name in a [domain.ModelRef].
const Name = "ollama"

// DefaultURL is where Ollama listens unless told otherwise.
const DefaultURL = "http://127.0.0.1:11434"

// Config configures a Provider; zero values mean the defaults.
type Config struct {
	// BaseURL is the server's address, also without a scheme; a wildcard host
	// (0.0.0.0, ::) means this machine. Default [DefaultURL].
	BaseURL string
	// Patience is the silence after which /api/ps is asked what is going on.
	// Default 1.5 s.
	Patience time.Duration
	// FirstByte is the silence, beyond the time for reading the prompt, after
	// which a loaded model is held to be stuck if this process has dropped a
	// request to it since its last answer. Default 4 s.
	FirstByte time.Duration
	// Reading is the longest time allowed for reading a prompt; within it the
	// time is estimated from the prompt's size. Default 60 s.
	Reading time.Duration
	// Stall is the silence that is held to be a stuck model without such a reason. Default 3 min.
	Stall time.Duration
	// LoadPatience is how long a load may take. Default 15 min.
	LoadPatience time.Duration
	// Transport replaces the HTTP transport in tests.
	Transport http.RoundTripper
}

// Provider answers model requests from Ollama servers. It is safe for use by
// several goroutines.
type Provider struct {
	cfg    Config
	pooled *http.Transport // nil when Config.Transport was given

	mu      sync.Mutex
	servers map[string]*server // by base URL
}

// server is one Ollama server and what is known of its models.
type server struct {
	base string
	api  *api.Client

	mu     sync.Mutex
	shown  map[string]shown  // by model name
	models map[string]*track // by model name
}

// New returns a Provider. It does not connect.
func New(cfg Config) (*Provider, error) {
	setDefault(&cfg.Patience, 1500*time.Millisecond)
	setDefault(&cfg.FirstByte, 4*time.Second)
	setDefault(&cfg.Reading, time.Minute)
	setDefault(&cfg.Stall, 3*time.Minute)
	setDefault(&cfg.LoadPatience, 15*time.Minute)
	base, err := normalise(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	cfg.BaseURL = base
	p := &Provider{cfg: cfg, servers: map[string]*server{}}
	if cfg.Transport == nil {
		// No ResponseHeaderTimeout: a cold load of a large model takes minutes.
		p.pooled = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true,
		}
	}
	return p, nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}

// BaseURL returns the address of the configured server.
func (p *Provider) BaseURL() string { return p.cfg.BaseURL }

// Close drops idle connections.
func (p *Provider) Close() error {
	if p.pooled != nil {
		p.pooled.CloseIdleConnections()
	}
	return nil
}

// normalise turns what people write for an address into a base URL.
func normalise(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return DefaultURL, nil
	}
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", domain.Errorf(domain.CodeInvalid, "%q is not an address of an Ollama server", raw).
			WithHint("Write it as http://host:port, for example %s.", DefaultURL)
	}
	host, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(host); (ip != nil && ip.IsUnspecified()) || host == "" {
		host = "127.0.0.1"
	}
	if port == "" && u.Scheme == "http" {
		port = "11434"
	}
	if port != "" {
		u.Host = net.JoinHostPort(host, port)
	}
	u.RawQuery, u.Fragment, u.Path = "", "", strings.TrimSuffix(u.Path, "/")
	return u.String(), nil
}

// at returns the server of a model reference.
func (p *Provider) at(baseURL string) (*server, error) {
	base := p.cfg.BaseURL
	if baseURL != "" {
		var err error
		if base, err = normalise(baseURL); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.servers[base]; ok {
		return s, nil
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "%q is not an address of an Ollama server", base)
	}
	inner := p.cfg.Transport
	if inner == nil {
		inner = p.pooled
	}
	s := &server{
		base:   base,
		api:    api.NewClient(u, &http.Client{Transport: wire.Transport{Base: inner}}),
		shown:  map[string]shown{},
		models: map[string]*track{},
	}
	p.servers[base] = s
	return s, nil
}

// Next asks the model of req once and streams the answer to emit, which is
// never called by two goroutines at a time and not after Next has returned.
// Every error is a [*domain.ModelFailure]; that of a cancelled ctx also matches
// ctx's error and carries what had been streamed.
func (p *Provider) Next(ctx context.Context, req domain.ModelRequest, emit func(domain.Delta)) (domain.ModelAnswer, error) {
	s, err := p.at(req.Model.BaseURL)
	if err != nil {
		return domain.ModelAnswer{}, failed(s, req.Model.Name, err)
	}
	show, err := s.show(ctx, req.Model.Name)
	if err != nil {
		return domain.ModelAnswer{}, failed(s, req.Model.Name, err)
	}
	if len(req.Tools) > 0 && !show.info.Tools {
		return domain.ModelAnswer{}, noTools(req.Model.Name, nil)
	}
	call, err := newCall(req, show)
	if err != nil {
		return domain.ModelAnswer{}, failed(s, req.Model.Name, err)
	}
	var mu sync.Mutex
	call.emit = func(d domain.Delta) {
		mu.Lock()
		defer mu.Unlock()
		emit(d)
	}
	return p.ask(ctx, s, call)
}
