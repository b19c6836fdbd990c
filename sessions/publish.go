package sessions

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"worksite/backend/failpoint"
)

const (
	headsDir  = "heads"
	headsFile = "checkpoint"
)

// publisher keeps the newest signed head outside the database, so that a ledger
// that was cut short shows it. It runs beside the writer: nobody waits for it,
// and when it falls behind only the newest head counts.
type publisher struct {
	dir  string
	wake chan struct{}

	mu     sync.Mutex
	next   string
	closed bool
	failed error
}

func newPublisher(dir string) *publisher {
	return &publisher{dir: dir, wake: make(chan struct{}, 1)}
}

func (p *publisher) publish(note string) {
	p.mu.Lock()
	p.next = note
	p.mu.Unlock()
	p.nudge()
}

func (p *publisher) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.nudge()
}

func (p *publisher) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// fail keeps an error for [Store.Close].
func (p *publisher) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = err
}

func (p *publisher) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *publisher) run() {
	for range p.wake {
		p.mu.Lock()
		note, closed := p.next, p.closed
		p.next = ""
		p.mu.Unlock()
		if note != "" {
			err := storeCheckpoint(p.dir, note)
			p.mu.Lock()
			p.failed = err // a later head that is there makes up for an earlier one that is not
			p.mu.Unlock()
		}
		if closed {
			return
		}
	}
}

// storeCheckpoint replaces the published head, unless another process has
// published a larger one of the same cell meanwhile.
func storeCheckpoint(dir, note string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	mine, err := parseCheckpoint(note)
	if err != nil {
		return err
	}
	if old, err := loadCheckpoint(dir); err == nil && old != "" {
		if cp, err := parseCheckpoint(old); err == nil && cp.cell == mine.cell && cp.size > mine.size {
			return nil
		}
	}
	tmp, err := writeTemp(dir, headsFile, []byte(note))
	if err != nil {
		return err
	}
	failpoint.Reach(failpoint.HeadBeforePublish)
	if err := os.Rename(tmp, filepath.Join(dir, headsFile)); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	failpoint.Reach(failpoint.HeadAfterPublish)
	return syncDir(dir)
}

// loadCheckpoint returns the published head, "" when there is none.
func loadCheckpoint(dir string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, headsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(raw), err
}
