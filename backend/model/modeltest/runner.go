package modeltest

import (
	"context"
	"net/http"
	"sort"
	"time"

	"github.com/ollama/ollama/api"
)

const keepAlive = 5 * time.Minute

// runner is one loaded model, as the real scheduler keeps it.
type runner struct {
	name    string // of the model it was loaded for
	weights string
	numCtx  int
	slots   chan struct{} // a token for each free slot
	loaded  chan struct{} // closed when the load has ended
	listed  bool
	refs    int       // requests that wait for it or use it
	expires time.Time // zero until a request has ended
	leaving bool      // to be unloaded when refs reaches 0
	gone    chan struct{}
}

// acquire gets a runner for m with the window numCtx and a slot of it, loading
// and waiting as the real server does. It reports false when ctx ended.
func (s *Server) acquire(ctx context.Context, m Model, numCtx int) (*runner, bool) {
	for {
		s.mu.Lock()
		r, ok := s.runners[m.Weights]
		if ok && r.numCtx != numCtx { // another window: reload when nobody uses it
			s.expire(r)
			if s.runners[m.Weights] == r {
				gone := r.gone
				s.mu.Unlock()
				select {
				case <-gone:
				case <-ctx.Done():
					return nil, false
				}
				continue
			}
			ok = false
		}
		if !ok {
			r = &runner{
				name: m.Name, weights: m.Weights, numCtx: numCtx,
				slots: make(chan struct{}, s.script.Parallel), loaded: make(chan struct{}), gone: make(chan struct{}),
				listed: s.script.LoadGate == nil || s.script.LoadListed,
			}
			for range s.script.Parallel {
				r.slots <- struct{}{}
			}
			s.runners[m.Weights] = r
			r.refs++
			s.mu.Unlock()
			if s.script.LoadGate != nil {
				select {
				case <-s.script.LoadGate:
				case <-ctx.Done():
					s.mu.Lock()
					delete(s.runners, m.Weights)
					close(r.gone)
					s.mu.Unlock()
					return nil, false
				}
			}
			s.mu.Lock()
			r.listed = true
			close(r.loaded)
			s.mu.Unlock()
		} else {
			r.refs++
			s.mu.Unlock()
			select {
			case <-r.loaded:
			case <-r.gone:
				continue
			case <-ctx.Done():
				s.release(r, false)
				return nil, false
			}
		}
		select {
		case <-r.slots:
			return r, true
		case <-ctx.Done():
			s.release(r, false)
			return nil, false
		}
	}
}

// release ends a request's use of r; slot says whether it gives a slot back.
func (s *Server) release(r *runner, slot bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot {
		r.slots <- struct{}{}
	}
	if r.refs--; r.refs > 0 {
		return
	}
	if r.leaving {
		s.remove(r)
		return
	}
	r.expires = time.Now().Add(keepAlive)
}

// expire unloads r, now or when its last request has ended. s.mu is held.
func (s *Server) expire(r *runner) {
	r.leaving, r.expires = true, time.Now()
	if r.refs == 0 {
		s.remove(r)
	}
}

func (s *Server) remove(r *runner) {
	if s.runners[r.weights] == r {
		delete(s.runners, r.weights)
		close(r.gone)
	}
}

// unload answers a request without messages and with keep_alive 0.
func (s *Server) unload(m Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unloads++
	if r, ok := s.runners[m.Weights]; ok {
		s.expire(r)
	}
}

func (s *Server) ps(w *writer) {
	s.mu.Lock()
	models := []api.ProcessModelResponse{}
	for _, r := range s.runners {
		if !r.listed {
			continue
		}
		expires := r.expires
		if expires.IsZero() {
			expires = time.Now().Add(keepAlive) // so it moves from look to look
		}
		models = append(models, api.ProcessModelResponse{
			Name: r.name, Model: r.name, Size: 1 << 30, Digest: digest(r.name), ExpiresAt: expires, ContextLength: r.numCtx,
		})
	}
	s.mu.Unlock()
	sort.Slice(models, func(i, j int) bool { return models[i].Name < models[j].Name })
	w.json(http.StatusOK, api.ProcessResponse{Models: models})
}
