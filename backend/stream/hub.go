package stream

import (
	"context"
	"sync"
	"unicode/utf8"

	"worksite/backend/domain"
)

// History is the ledger as a stream needs it. Wait returns when the last
// position is beyond after.
type History interface {
	ReadLedger(ctx context.Context, after int64, limit int) ([]domain.Event, error)
	Wait(ctx context.Context, after int64) error
}

// Live is a piece of an answer or of a command's output before it is committed.
// Offset and TOffset count the bytes of UTF-8 sent before this piece of Text and
// of Thinking.
type Live struct {
	Session  domain.SessionID `json:"session"`
	ID       string           `json:"id"` // message id or call id
	Output   bool             `json:"output,omitempty"`
	Offset   int64            `json:"offset"`
	Text     string           `json:"text,omitempty"`
	TOffset  int64            `json:"thinkingOffset,omitempty"`
	Thinking string           `json:"thinking,omitempty"`
	Status   string           `json:"status,omitempty"`
}

// keep bounds the live text held for one id; a command may print for hours.
const keep = 256 << 10

// tail is the end of a growing text.
type tail struct {
	base int64 // bytes dropped in front
	data []byte
}

func (t *tail) add(b []byte) {
	t.data = append(t.data, b...)
	if over := len(t.data) - keep; over > keep/4 {
		t.base += int64(over)
		t.data = append(t.data[:0], t.data[over:]...)
	}
}

func (t *tail) end() int64 { return t.base + int64(len(t.data)) }

// from returns the text from offset on, or from the earliest kept one, never
// ending within a rune.
func (t *tail) from(offset int64) (int64, string) {
	if offset < t.base {
		offset = t.base
		for offset < t.end() && !utf8.RuneStart(t.data[offset-t.base]) {
			offset++
		}
	}
	b := t.data[offset-t.base:]
	for cut := len(b) - 1; cut >= 0 && cut >= len(b)-utf8.UTFMax; cut-- {
		if utf8.RuneStart(b[cut]) {
			if !utf8.FullRune(b[cut:]) {
				b = b[:cut]
			}
			break
		}
	}
	return offset, string(b)
}

type live struct {
	session  domain.SessionID
	output   bool
	text     tail
	thinking tail
	status   string
	rev      int64
}

// Hub holds what is live in this process and wakes its subscriptions.
type Hub struct {
	history History
	mu      sync.Mutex
	lives   map[string]*live
	rev     int64
	notes   []note // recent notices, oldest first
	wake    chan struct{}
}

type note struct {
	rev  int64
	name string
}

const keptNotes = 256

// New returns a hub over a ledger.
func New(history History) *Hub {
	return &Hub{history: history, lives: map[string]*live{}, wake: make(chan struct{})}
}

// Delta implements the harness's Live.
func (h *Hub) Delta(session domain.SessionID, id domain.MessageID, d domain.Delta) {
	h.change(session, string(id), false, func(l *live) {
		l.text.add([]byte(d.Text))
		l.thinking.add([]byte(d.Thinking))
		l.status = d.Status
	})
}

// Output implements the harness's Live.
func (h *Hub) Output(session domain.SessionID, id domain.CallID, chunk []byte) {
	h.change(session, string(id), true, func(l *live) { l.text.add(chunk) })
}

// Done implements the harness's Live: the committed event has replaced id.
func (h *Hub) Done(_ domain.SessionID, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.lives, id)
}

// Notify tells every subscription about something outside the ledger, e.g. that a
// workspace's files changed. Equal notices in a row are one.
func (h *Hub) Notify(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rev++
	h.notes = append(h.notes, note{h.rev, name})
	if len(h.notes) > keptNotes {
		h.notes = h.notes[len(h.notes)-keptNotes:]
	}
	h.signal()
}

func (h *Hub) change(session domain.SessionID, id string, output bool, f func(*live)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lives[id]
	if l == nil {
		l = &live{session: session, output: output}
		h.lives[id] = l
	}
	f(l)
	h.rev++
	l.rev = h.rev
	h.signal()
}

// signal wakes everyone who waits; h.mu is held.
func (h *Hub) signal() {
	close(h.wake)
	h.wake = make(chan struct{})
}
