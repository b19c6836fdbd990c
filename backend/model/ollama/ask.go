package ollama

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/ollama/ollama/api"

	"worksite/backend/domain"
	"worksite/backend/model/internal/wire"
)

// Reasons of the watchdog for ending an attempt.
var (
	errStuck       = errors.New("no first byte from a loaded, idle model")
	errLoadTooLong = errors.New("the load took longer than the patience given")
)

// ask sends call, and once more if the model had to be freed for it.
func (p *Provider) ask(ctx context.Context, s *server, c *call) (domain.ModelAnswer, error) {
	t := s.track(c.model)
	queued, freedBefore := false, false
	for {
		epoch := t.epoch()
		answer, err := p.attempt(ctx, s, t, c, queued)
		if !errors.Is(err, errStuck) {
			return answer, err
		}
		freed, err := t.free(ctx, s, c, epoch)
		if err != nil {
			return domain.ModelAnswer{}, failed(s, c.model, err)
		}
		switch {
		case freed && freedBefore:
			return domain.ModelAnswer{}, &domain.ModelFailure{
				State: domain.ModelWedged, Err: errStuck,
				Message: "The model is loaded and idle but does not begin to answer, also after it was unloaded and loaded again.",
				Hint:    "Restart the Ollama server, then continue.",
			}
		case freed:
			freedBefore = true
			c.emit(domain.Delta{Status: string(domain.ModelWedged)})
		default:
			// Somebody else's answer is being written, so it was a queue after
			// all. The next attempt stands in it again and is not cut short.
			queued = true
		}
	}
}

// attempt sends call once. It returns an error matching errStuck when the
// watchdog ended it.
func (p *Provider) attempt(ctx context.Context, s *server, t *track, c *call, queued bool) (domain.ModelAnswer, error) {
	actx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := t.enter(cancel)
	defer t.leave(a)

	answered := make(chan struct{})
	var once sync.Once
	exchange := &wire.Exchange{
		Messages: c.messages, Tools: c.tools, SkipBlank: true,
		OnHeaders: func() { once.Do(func() { t.answering(a, c.numCtx); close(answered) }) },
	}
	var watch sync.WaitGroup
	stop := make(chan struct{})
	watch.Go(func() {
		w := watchdog{cfg: p.cfg, server: s, track: t, call: c, patient: queued}
		if err := w.run(actx, answered, stop); err != nil {
			cancel(err)
		}
	})
	got := &collector{call: c, exchange: exchange}
	err := s.api.Chat(exchange.Context(actx), c.request(), got.chunk)
	close(stop)
	watch.Wait()

	switch cause := context.Cause(actx); {
	case got.done && err == nil:
		t.answered(got.metrics)
		return got.answer()
	case ctx.Err() != nil:
		t.dropped()
		f := failed(s, c.model, ctx.Err())
		f.Partial = got.text.String()
		return domain.ModelAnswer{}, f
	case errors.Is(cause, errStuck):
		return domain.ModelAnswer{}, errStuck
	case errors.Is(cause, errLoadTooLong):
		t.dropped()
		return domain.ModelAnswer{}, &domain.ModelFailure{
			State: domain.ModelLoading, Err: cause, Retryable: true,
			Message: fmt.Sprintf("The model %q was still not loaded after %s.", c.model, p.cfg.LoadPatience),
			Hint:    "Choose a smaller model, or wait until the server has loaded this one and continue.",
		}
	}
	if exchange.Status() == http.StatusOK {
		t.dropped() // whoever broke it off, the slot may not have been given back
	}
	return domain.ModelAnswer{}, p.broken(s, c, got, err)
}

// broken maps an attempt that ended without done:true and not by our own hand.
func (p *Provider) broken(s *server, c *call, got *collector, err error) *domain.ModelFailure {
	x, partial := got.exchange, got.text.String()
	var status api.StatusError
	var auth api.AuthorizationError
	switch {
	case errors.As(err, &status), errors.As(err, &auth):
		f := failed(s, c.model, err)
		if f.State == domain.ModelMissing || f.State == domain.ModelNoTools {
			s.forget(c.model)
		}
		return f
	case x.Status() >= http.StatusBadRequest: // no body: the client reports nothing at all
		return failed(s, c.model, api.StatusError{
			StatusCode: x.Status(), Status: http.StatusText(x.Status()), ErrorMessage: string(x.ErrorBody()),
		})
	case x.Status() == 0:
		return failed(s, c.model, err)
	case x.ReadErr() != nil:
		return cutOff(partial, x.ReadErr())
	case err != nil && x.Lines() > 0:
		return lastLine(err, partial)
	}
	return cutOff(partial, nil)
}
