package ollama

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ollama/ollama/api"

	"worksite/backend/domain"
)

// Why a silent request is silent. The server tells nothing until the first
// byte, so it is read from /api/ps (seen with 0.17.4):
//
//	not listed, or listed with another window   it is being loaded
//	listed, expires_at moves between two looks  no use of it has ended yet: loading, or in its first use
//	listed, expires_at stands still             it reads the prompt, serves somebody else first, or is stuck
//
// A dropped request leaves the model stuck in about one of a hundred cases: its
// slot is never given back, and the one cure is to unload it. A queue looks the
// same from outside. What tells them apart is the cure: once our own waiting
// requests are gone, an unload takes effect at once on a stuck model, and waits
// on one that is writing an answer. So the cure is harmless where it is not
// needed: nobody's answer is ever cut short by it.
const (
	promptRate    = 60 // tokens a second that a prompt is read with, until a rate was seen
	bytesPerToken = 3
	unloadWait    = 3 * time.Second
	// stillLoaded is how long after a dropped request the model is held to be
	// loaded still, whatever its expiry looks like: with another request waiting
	// already, the drop does not count as the end of a use.
	stillLoaded = 2 * time.Minute
)

// track is what this process knows of its requests to one model.
type track struct {
	mu       sync.Mutex
	waiting  map[*ticket]struct{} // sent, no first byte yet
	writing  map[*ticket]struct{} // being answered
	doubtful bool                 // a request was dropped since the last first byte
	since    time.Time            // when it was
	window   int                  // num_ctx of the last first byte; 0 none yet
	rate     float64              // how fast it reads prompts, tokens a second; 0 not known
	freeing  chan struct{}        // not nil while a free is going on; closed at its end
	freed    bool                 // result of the newest free
	frees    int                  // how many there were
}

// ticket is one attempt.
type ticket struct{ cancel context.CancelCauseFunc }

func (s *server) track(model string) *track {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.models[model]
	if !ok {
		t = &track{waiting: map[*ticket]struct{}{}, writing: map[*ticket]struct{}{}}
		s.models[model] = t
	}
	return t
}

func (t *track) enter(cancel context.CancelCauseFunc) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := &ticket{cancel: cancel}
	t.waiting[a] = struct{}{}
	return a
}

func (t *track) leave(a *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, a)
	delete(t.writing, a)
}

// answering notes the first byte: the model is certainly not stuck.
func (t *track) answering(a *ticket, window int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, a)
	t.writing[a] = struct{}{}
	t.doubtful, t.window = false, window
}

// dropped notes a request that was ended before its answer was whole.
func (t *track) dropped() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubtful, t.since = true, time.Now()
}

// lately reports whether a request to the model with this window was dropped a
// short time ago, so that it is certainly not being loaded just now.
func (t *track) lately(window int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doubtful && t.window == window && time.Since(t.since) < stillLoaded
}

func (t *track) suspect() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doubtful
}

func (t *track) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.writing) > 0
}

// answered learns how fast the model reads. A cached prompt looks faster than it
// is, so a slower reading counts at once and a faster one only a little.
func (t *track) answered(m api.Metrics) {
	if m.PromptEvalCount < 32 || m.PromptEvalDuration <= 0 {
		return
	}
	rate := float64(m.PromptEvalCount) / m.PromptEvalDuration.Seconds()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate == 0 || rate < t.rate {
		t.rate = rate
	} else {
		t.rate += (rate - t.rate) / 8
	}
}

// reading estimates how long reading a prompt of n bytes takes.
func (t *track) reading(n int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	rate := t.rate
	if rate == 0 {
		rate = promptRate
	}
	return time.Duration(float64(n) / bytesPerToken / rate * float64(time.Second))
}

// epoch numbers the frees so far.
func (t *track) epoch() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frees
}

// free takes all of this process's waiting requests away from the model and
// unloads it. It reports whether the model went away, that is: was stuck.
// Callers that were waiting since the same epoch share one go.
func (t *track) free(ctx context.Context, s *server, c *call, epoch int) (bool, error) {
	t.mu.Lock()
	if t.frees > epoch {
		defer t.mu.Unlock()
		return t.freed, nil
	}
	if done := t.freeing; done != nil {
		t.mu.Unlock()
		select {
		case <-done:
			t.mu.Lock()
			defer t.mu.Unlock()
			return t.freed, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	t.freeing = make(chan struct{})
	for _, a := range slices.Collect(maps.Keys(t.waiting)) {
		a.cancel(errStuck)
	}
	t.mu.Unlock()

	freed, err := s.unload(ctx, c)

	t.mu.Lock()
	defer t.mu.Unlock()
	t.freed, t.doubtful = freed, false
	t.frees++
	close(t.freeing)
	t.freeing = nil
	return freed, err
}

// unload asks the server to let the model go and reports whether it did so
// within [unloadWait].
func (s *server) unload(ctx context.Context, c *call) (bool, error) {
	req := c.request()
	req.KeepAlive, req.Options = &api.Duration{}, nil
	if err := s.api.Chat(ctx, req, func(api.ChatResponse) error { return nil }); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, unloadWait)
	defer cancel()
	for {
		m, err := s.running(ctx, c)
		if err == nil && m == nil {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// running returns the loaded entry that serves c, nil when there is none.
// Models made from the same weights share one entry, under the name that was
// loaded first.
func (s *server) running(ctx context.Context, c *call) (*api.ProcessModelResponse, error) {
	ps, err := quick(ctx, s.api.ListRunning)
	if err != nil {
		return nil, err
	}
	for i, m := range ps.Models {
		if sameName(m.Name, c.model) {
			return &ps.Models[i], nil
		}
	}
	for i, m := range ps.Models {
		if c.weights == "" {
			break
		}
		if other, err := s.show(ctx, m.Name); err == nil && other.weights == c.weights {
			return &ps.Models[i], nil
		}
	}
	return nil, nil
}

// watchdog looks after one attempt until its first byte.
type watchdog struct {
	cfg     Config
	server  *server
	track   *track
	call    *call
	patient bool // it is known to be a queue: wait as long as it takes
}

// run returns why the attempt should end, or nil when it was answered or ended.
func (w *watchdog) run(ctx context.Context, answered, stop <-chan struct{}) error {
	var (
		begin    = time.Now()
		readyAt  time.Time // since when the model could have been reading
		expires  time.Time
		shown    string
		interval = w.cfg.Patience
	)
	tell := func(state domain.ModelState) {
		if shown != string(state) {
			shown = string(state)
			w.call.emit(domain.Delta{Status: shown})
		}
	}
	for {
		select {
		case <-answered:
			return nil
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
		m, err := w.server.running(ctx, w.call)
		select {
		case <-answered: // while we looked
			return nil
		default:
		}
		interval = w.cfg.Patience
		switch {
		case err != nil: // the request itself will tell
			continue
		case m != nil && m.ContextLength == w.call.numCtx && w.track.busy():
			readyAt = time.Now() // the clock starts when that answer has ended
			tell(domain.ModelQueued)
			continue
		case m == nil, m.ContextLength != 0 && m.ContextLength != w.call.numCtx,
			!m.ExpiresAt.Equal(expires) && !w.track.lately(w.call.numCtx):
			if m != nil {
				expires = m.ExpiresAt
			}
			if m != nil && readyAt.IsZero() && shown == "" {
				// The first look says nothing about movement yet: look again soon.
				readyAt = time.Now()
				interval = w.cfg.Patience / 4
				continue
			}
			readyAt = time.Time{}
			if time.Since(begin) > w.cfg.LoadPatience {
				return errLoadTooLong
			}
			tell(domain.ModelLoading)
			continue
		}
		if readyAt.IsZero() {
			readyAt = time.Now()
		}
		silent := time.Since(readyAt) - min(w.track.reading(w.call.bytes), w.cfg.Reading)
		switch {
		case silent <= 0: // probably reading the prompt
		case w.patient:
			tell(domain.ModelQueued)
		case w.track.suspect() && silent > w.cfg.FirstByte, silent > w.cfg.Stall:
			return errStuck
		default:
			tell(domain.ModelQueued)
		}
	}
}
