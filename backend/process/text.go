package process

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text returns the output as a person or a model may safely read it: head, a
// remark on the bytes left out, tail, with everything neutralised as by [Clean].
func (r Result) Text() string { return Clean(join(r.Head, r.Tail, r.Dropped)) }

// Clean makes output of unknown origin safe to show. Terminal escape sequences
// (colours, titles, links, the clipboard) are taken out, other control characters
// become visible pictures, characters that reorder text become their code point in
// angle brackets, carriage returns become line ends, invalid UTF-8 becomes U+FFFD.
func Clean(p []byte) string {
	var c Cleaner
	return c.Write(p) + c.Close()
}

// Cleaner is [Clean] for a stream: sequences and runes may be split between chunks.
// The zero value is ready.
type Cleaner struct {
	state escState
	held  []byte // the beginning of a rune that is not whole yet
	cr    bool   // the last character was a carriage return
	bad   bool   // the last character was U+FFFD, so that a run of them is one
	n     int    // length of the sequence being passed over
}

type escState byte

const (
	plain  escState = iota
	esc             // after ESC
	inter           // after ESC and an intermediate byte such as "("
	csi             // in ESC [ …
	str             // in OSC, DCS, SOS, PM or APC
	strEsc          // after ESC within one
)

// maxSequence bounds what an unfinished sequence can swallow, so that a stray
// ESC ] does not hide the rest of the output.
const maxSequence = 4096

// Write cleans one chunk.
func (c *Cleaner) Write(p []byte) string {
	if len(c.held) > 0 {
		p = append(c.held, p...)
		c.held = nil
	}
	var b strings.Builder
	b.Grow(len(p))
	for len(p) > 0 {
		if p[0] < utf8.RuneSelf {
			c.step(&b, rune(p[0]), false)
			p = p[1:]
			continue
		}
		if !utf8.FullRune(p) {
			c.held = append([]byte(nil), p...)
			break
		}
		r, size := utf8.DecodeRune(p)
		c.step(&b, r, r == utf8.RuneError && size == 1)
		p = p[size:]
	}
	return b.String()
}

// Close returns what is left of an unfinished end.
func (c *Cleaner) Close() string {
	var b strings.Builder
	if len(c.held) > 0 {
		c.step(&b, utf8.RuneError, true)
	}
	if c.cr {
		b.WriteByte('\n')
	}
	*c = Cleaner{}
	return b.String()
}

func (c *Cleaner) step(b *strings.Builder, r rune, invalid bool) {
	if c.state != plain {
		c.n++
		if c.sequence(r) {
			return
		}
	}
	if c.cr {
		c.cr = false
		b.WriteByte('\n')
		if r == '\n' {
			return
		}
	}
	if invalid {
		if !c.bad {
			b.WriteRune(utf8.RuneError)
		}
		c.bad = true
		return
	}
	c.bad = false
	switch {
	case r == '\r':
		c.cr = true
	case r == '\n' || r == '\t':
		b.WriteRune(r)
	case r == 0x1b:
		c.state, c.n = esc, 0
	case r == 0x9b:
		c.state, c.n = csi, 0
	case r == 0x90 || r == 0x98 || r == 0x9d || r == 0x9e || r == 0x9f:
		c.state, c.n = str, 0
	case r < 0x20:
		b.WriteRune(0x2400 + r)
	case r == 0x7f:
		b.WriteRune(0x2421)
	case r >= 0x80 && r < 0xa0 || reorders(r):
		fmt.Fprintf(b, "<U+%04X>", r)
	default:
		b.WriteRune(r)
	}
}

// sequence takes r as part of an escape sequence; false means that r is not.
func (c *Cleaner) sequence(r rune) bool {
	if r == 0x18 || r == 0x1a || c.n > maxSequence { // CAN, SUB or absurdly long: given up
		c.state = plain
		return c.n <= maxSequence
	}
	switch c.state {
	case plain: // outside of sequences nobody asks
	case esc:
		switch {
		case r == '[':
			c.state = csi
		case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
			c.state = str
		case r >= 0x20 && r <= 0x2f:
			c.state = inter
		case r == 0x1b:
		default:
			c.state = plain
			return r >= 0x30 && r <= 0x7e
		}
	case inter:
		if r < 0x20 || r > 0x2f {
			c.state = plain
			return r >= 0x30 && r <= 0x7e
		}
	case csi:
		if r == 0x1b {
			c.state = esc
		} else if r < 0x20 || r > 0x3f {
			c.state = plain
			return r >= 0x40 && r <= 0x7e
		}
	case str:
		switch r {
		case 0x07, 0x9c:
			c.state = plain
		case 0x1b:
			c.state = strEsc
		case '\n': // no terminal string spans lines in practice; do not swallow more
			c.state = plain
			return false
		}
	case strEsc:
		if r == '\\' {
			c.state = plain
		} else {
			c.state = esc
			return c.sequence(r)
		}
	}
	return true
}

// reorders reports characters that change the order or hide parts of the text.
func reorders(r rune) bool {
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
		r == 0x200e, r == 0x200f, r == 0x061c, r == 0x2028, r == 0x2029,
		r >= 0xe0000 && r <= 0xe007f: // tags, invisible
		return true
	}
	return false
}
