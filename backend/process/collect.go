package process

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// keep holds the first and the last bytes of a stream in bounded memory.
type keep struct {
	headMax, tailMax int
	head             []byte
	ring             []byte // last tailMax bytes after head, rotated by start
	start            int
	total            int64
}

func (k *keep) write(p []byte) {
	k.total += int64(len(p))
	if n := min(k.headMax-len(k.head), len(p)); n > 0 {
		k.head = append(k.head, p[:n]...)
		p = p[n:]
	}
	if k.tailMax == 0 || len(p) == 0 {
		return
	}
	if len(p) >= k.tailMax {
		k.ring, k.start = append(k.ring[:0], p[len(p)-k.tailMax:]...), 0
		return
	}
	if n := min(k.tailMax-len(k.ring), len(p)); n > 0 {
		k.ring = append(k.ring, p[:n]...) // start is 0 until the ring is full
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(k.ring[k.start:], p)
		k.start = (k.start + n) % k.tailMax
		p = p[n:]
	}
}

// parts returns head and tail without halves of a rune at the cut, and the number
// of bytes between them. Without a cut the tail is joined to the head.
func (k *keep) parts() (head, tail []byte, dropped int64) {
	tail = append(append(make([]byte, 0, len(k.ring)), k.ring[k.start:]...), k.ring[:k.start]...)
	head = k.head
	dropped = k.total - int64(len(head)) - int64(len(tail))
	if dropped == 0 {
		return append(head, tail...), nil, 0
	}
	for n := 1; n < utf8.UTFMax && n <= len(head); n++ {
		if c := head[len(head)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(head[len(head)-n:]) {
				head, dropped = head[:len(head)-n], dropped+int64(n)
			}
			break
		}
	}
	for n := 0; n < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); n++ {
		tail, dropped = tail[1:], dropped+1
	}
	return head, tail, dropped
}

// joined returns head and tail with a remark on what is missing between them.
func (k *keep) joined() []byte {
	head, tail, dropped := k.parts()
	return join(head, tail, dropped)
}

func join(head, tail []byte, dropped int64) []byte {
	if dropped == 0 && len(tail) == 0 {
		return head
	}
	var b bytes.Buffer
	b.Grow(len(head) + len(tail) + 64)
	b.Write(head)
	if dropped > 0 {
		if len(head) > 0 && head[len(head)-1] != '\n' {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "… %d bytes left out …\n", dropped)
	}
	b.Write(tail)
	return b.Bytes()
}

// spill passes a stream on to a writer up to a bound. An error ends the spilling,
// not the program.
type spill struct {
	w       io.Writer
	max     int64
	written int64
	err     error
}

func (s *spill) write(p []byte) {
	if s.w == nil || s.err != nil || s.written >= s.max {
		return
	}
	if room := s.max - s.written; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := s.w.Write(p)
	s.written += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	s.err = err
}
