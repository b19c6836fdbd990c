package sessions_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"worksite/backend/domain"
	"worksite/sessions"
)

const recorderLog = "RECORDER_LOG"

// mark is what the recorded process says about itself, in the record between
// what it did to its files: what it is about to do, and what it was told is done.
type mark struct {
	Acked   bool
	Session domain.SessionID
	Events  []markedEvent `json:",omitempty"`
	Lease   *domain.Lease `json:",omitempty"` // as it is, or before: as it will be
	Deleted bool          `json:",omitempty"`
	Head    string        `json:",omitempty"` // the checkpoint outside the database, as it is now
}

type markedEvent struct {
	Seq  int64
	Hash domain.Hash
}

// recorded is a process whose writes are recorded. Its methods append marks.
type recorded struct {
	log *os.File
	dir string

	mu   sync.Mutex
	head string
}

func (r *recorded) mark(m mark) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	rec := make([]byte, recordHead, recordHead+len(data))
	rec[0] = 'm'
	binary.LittleEndian.PutUint32(rec[21:], uint32(len(data)))
	_, err = r.log.Write(append(rec, data...)) // one write: see recorder.c
	return err
}

// acked marks what was acknowledged, and the checkpoint when there is a new one.
func (r *recorded) acked(m mark) error {
	m.Acked = true
	raw, err := os.ReadFile(filepath.Join(r.dir, "heads", "checkpoint"))
	if err == nil {
		r.mu.Lock()
		if text := string(raw); text != r.head {
			r.head, m.Head = text, text
		}
		r.mu.Unlock()
	}
	return r.mark(m)
}

// childPowerCut lives the life of a ledger: three sessions at a time that are
// worked on at once, with restarts and checkpoints in between. arg is
// "seed/synchronous/steps".
func childPowerCut(ctx context.Context, s *sessions.Store, arg domain.SessionID) error {
	var seed uint64
	var steps int
	var mode string
	if _, err := fmt.Sscanf(string(arg), "%d %s %d", &seed, &mode, &steps); err != nil {
		return err
	}
	log, err := os.OpenFile(os.Getenv(recorderLog), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	rec := &recorded{log: log, dir: os.Getenv(dirEnv)}
	lives := make([]*life, 3)
	for i := range lives {
		lives[i] = &life{rec: rec, r: rand.New(rand.NewPCG(seed, uint64(i)))}
	}
	const starts = 3
	for n := range starts {
		if err := s.Weaken(ctx, mode); err != nil {
			return err
		}
		errs := make([]error, len(lives))
		var wg sync.WaitGroup
		for i, l := range lives {
			wg.Go(func() {
				for k := 0; k < steps/starts/len(lives) && errs[i] == nil; k++ {
					errs[i] = l.step(ctx, s)
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		if n == starts-1 {
			return nil // it ends as it is
		}
		if err := s.Close(); err != nil {
			return err
		}
		if s, err = sessions.Open(ctx, sessions.Config{Dir: rec.dir}); err != nil {
			return err
		}
	}
	return nil
}

// life is a session after the other.
type life struct {
	rec   *recorded
	r     *rand.Rand
	id    domain.SessionID
	seq   int64
	run   domain.RunID
	lease domain.Lease
}

func (l *life) step(ctx context.Context, s *sessions.Store) error {
	if l.id == "" {
		l.id, l.seq, l.lease = domain.NewSessionID(), 0, domain.Lease{}
		if err := l.append(ctx, s, 0, domain.Draft{Payload: domain.SessionCreated{V: 1, Title: "Region field", Mode: domain.ModeAuto}}, domain.Draft{Payload: message()}); err != nil {
			return err
		}
		return l.start(ctx, s)
	}
	switch n := l.r.IntN(20); {
	case n < 10:
		return l.append(ctx, s, l.lease.Generation, stepDrafts(l.run)...)
	case n < 12:
		return l.append(ctx, s, 0, domain.Draft{Payload: domain.SessionRenamed{V: 1, Title: fmt.Sprint("renamed ", n)}})
	case n < 14:
		return l.hold(l.lease, func() (domain.Lease, error) { return s.Renew(ctx, l.lease, time.Hour) })
	case n < 15:
		return s.Checkpoint(ctx)
	case n < 18:
		if err := l.end(ctx, s); err != nil {
			return err
		}
		return l.start(ctx, s)
	}
	if err := l.end(ctx, s); err != nil {
		return err
	}
	gone := l.id
	l.id = ""
	if l.r.IntN(2) == 0 {
		return nil
	}
	if err := l.rec.mark(mark{Session: gone, Deleted: true}); err != nil {
		return err
	}
	if err := s.Delete(ctx, gone); err != nil {
		return err
	}
	return l.rec.acked(mark{Session: gone, Deleted: true})
}

// append marks, appends and marks again.
func (l *life) append(ctx context.Context, s *sessions.Store, generation int64, drafts ...domain.Draft) error {
	if err := l.rec.mark(mark{Session: l.id, Events: make([]markedEvent, len(drafts))}); err != nil {
		return err
	}
	events, err := s.Append(ctx, domain.AppendRequest{Session: l.id, Generation: generation, Drafts: drafts})
	if err != nil {
		return err
	}
	m := mark{Session: l.id}
	for _, e := range events {
		m.Events = append(m.Events, markedEvent{e.Seq, e.Hash})
	}
	return l.rec.acked(m)
}

// hold does something to the lease; want is what will be true, but for the time.
func (l *life) hold(want domain.Lease, do func() (domain.Lease, error)) error {
	want.Session = l.id
	if err := l.rec.mark(mark{Session: l.id, Lease: &want}); err != nil {
		return err
	}
	got, err := do()
	if err != nil {
		return err
	}
	l.lease = got
	return l.rec.acked(mark{Session: l.id, Lease: &got})
}

func (l *life) start(ctx context.Context, s *sessions.Store) error {
	l.run = domain.NewRunID()
	if err := l.append(ctx, s, 0, domain.Draft{Run: l.run, Payload: domain.RunStarted{V: 1, MessageID: domain.NewMessageID(), Mode: domain.ModeAuto}}); err != nil {
		return err
	}
	const holder = "recorded"
	return l.hold(domain.Lease{Holder: holder, Generation: l.lease.Generation + 1}, func() (domain.Lease, error) {
		return s.Acquire(ctx, l.id, holder, time.Hour, nil)
	})
}

func (l *life) end(ctx context.Context, s *sessions.Store) error {
	if err := l.append(ctx, s, l.lease.Generation, domain.Draft{Run: l.run, Payload: domain.RunFinished{V: 1, Outcome: domain.OutcomeDone}}); err != nil {
		return err
	}
	free := domain.Lease{Session: l.id, Generation: l.lease.Generation, ExpiresAt: time.UnixMicro(0).UTC()}
	return l.hold(free, func() (domain.Lease, error) { return free, s.Release(ctx, l.lease) })
}
