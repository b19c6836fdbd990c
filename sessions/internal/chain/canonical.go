package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"worksite/backend/domain"
)

// MaxPayload is the size of the largest payload in bytes; larger things are
// kept as blobs and named by their hash.
const MaxPayload = 8 << 20

// Encode returns p in canonical JSON (RFC 8785).
func Encode(p domain.Payload) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("encode %s: %w", p.Kind(), err)
	}
	return Canonical(buf.Bytes())
}

// Canonical returns src, one JSON value, in canonical form (RFC 8785). It is an
// order of magnitude faster than the general transform because it copies what
// is canonical already; whatever it does not know it hands to that transform.
func Canonical(src []byte) ([]byte, error) {
	if len(src) > MaxPayload {
		return nil, domain.Errorf(domain.CodeTooLarge, "the payload has %d bytes, the limit is %d", len(src), MaxPayload).
			WithHint("Keep the content as a file or artifact and record its hash.")
	}
	w := writer{src: src, dst: make([]byte, 0, len(src))}
	err := w.document()
	if errors.Is(err, errGeneral) {
		return jcs.Transform(src)
	}
	if err != nil {
		return nil, err
	}
	return w.dst, nil
}

var (
	// errGeneral asks for the general transform: correct, but slow.
	errGeneral = errors.New("needs the general transform")
	errSyntax  = errors.New("not one JSON value")
	errRange   = errors.New("a number is too large to stay exact in JSON")
)

// writer copies one JSON value from src to dst in canonical form.
type writer struct {
	src []byte
	at  int
	dst []byte
	// depth guards the recursion.
	depth int
}

// member is one entry of an object: where its key and the whole "key":value
// were written in dst.
type member struct {
	key        []byte
	start, end int
}

func (w *writer) document() error {
	if err := w.value(); err != nil {
		return err
	}
	w.space()
	if w.at != len(w.src) {
		return errSyntax
	}
	return nil
}

func (w *writer) space() {
	for w.at < len(w.src) {
		switch w.src[w.at] {
		case ' ', '\t', '\n', '\r':
			w.at++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there, 0 at the end.
func (w *writer) next() byte {
	w.space()
	if w.at == len(w.src) {
		return 0
	}
	return w.src[w.at]
}

func (w *writer) value() error {
	switch c := w.next(); {
	case c == '{':
		return w.object()
	case c == '[':
		return w.array()
	case c == '"':
		return w.text()
	case c == 't':
		return w.word("true")
	case c == 'f':
		return w.word("false")
	case c == 'n':
		return w.word("null")
	case c == '-' || '0' <= c && c <= '9':
		return w.number()
	}
	return errSyntax
}

func (w *writer) word(s string) error {
	if !bytes.HasPrefix(w.src[w.at:], []byte(s)) {
		return errSyntax
	}
	w.at += len(s)
	w.dst = append(w.dst, s...)
	return nil
}

// number copies a plain whole number; fractions and exponents need ECMAScript's
// formatting.
func (w *writer) number() error {
	start := w.at
	if w.src[w.at] == '-' {
		w.at++
	}
	digits := w.at
	for w.at < len(w.src) && '0' <= w.src[w.at] && w.src[w.at] <= '9' {
		w.at++
	}
	n := w.at - digits
	switch {
	case n == 0 || n > 1 && w.src[digits] == '0':
		return errSyntax
	case w.at < len(w.src) && (w.src[w.at] == '.' || w.src[w.at] == 'e' || w.src[w.at] == 'E'):
		return w.fraction(start)
	case w.src[digits] == '0':
		w.dst = append(w.dst, '0') // "-0" too
		return nil
	case n > 15:
		return w.large(start)
	}
	w.dst = append(w.dst, w.src[start:w.at]...)
	return nil
}

// large copies a whole number that a double may not hold exactly; it is refused
// when the canonical form would be another number.
func (w *writer) large(start int) error {
	raw := string(w.src[start:w.at])
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return errRange
	}
	s, err := jcs.NumberToJSON(f)
	if err != nil {
		return err
	}
	if s != raw {
		return errRange
	}
	w.dst = append(w.dst, s...)
	return nil
}

func (w *writer) fraction(start int) error {
	for w.at < len(w.src) && bytes.IndexByte([]byte("0123456789+-.eE"), w.src[w.at]) >= 0 {
		w.at++
	}
	raw := w.src[start:w.at]
	if !json.Valid(raw) {
		return errSyntax
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return errRange
	}
	s, err := jcs.NumberToJSON(f)
	if err != nil {
		return err
	}
	w.dst = append(w.dst, s...)
	return nil
}

func (w *writer) enter() error {
	if w.depth++; w.depth > 500 {
		return errors.New("the payload is nested too deep")
	}
	w.at++
	return nil
}

func (w *writer) array() error {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { w.depth-- }()
	w.dst = append(w.dst, '[')
	if w.next() == ']' {
		w.at++
		w.dst = append(w.dst, ']')
		return nil
	}
	for {
		if err := w.value(); err != nil {
			return err
		}
		switch w.next() {
		case ',':
			w.at++
			w.dst = append(w.dst, ',')
		case ']':
			w.at++
			w.dst = append(w.dst, ']')
			return nil
		default:
			return errSyntax
		}
	}
}

func (w *writer) object() error {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { w.depth-- }()
	w.dst = append(w.dst, '{')
	if w.next() == '}' {
		w.at++
		w.dst = append(w.dst, '}')
		return nil
	}
	var few [16]member
	members := few[:0]
	first, sorted := len(w.dst), true
	for {
		if w.next() != '"' {
			return errSyntax
		}
		start := len(w.dst)
		if err := w.text(); err != nil {
			return err
		}
		key := w.dst[start+1 : len(w.dst)-1]
		if !plainASCII(key) {
			return errGeneral // keys sort by UTF-16 code unit
		}
		if len(members) > 0 {
			switch c := bytes.Compare(members[len(members)-1].key, key); {
			case c == 0:
				return fmt.Errorf("key %q occurs twice", key)
			case c > 0:
				sorted = false
			}
		}
		if w.next() != ':' {
			return errSyntax
		}
		w.at++
		w.dst = append(w.dst, ':')
		keyLen := len(key)
		if err := w.value(); err != nil {
			return err
		}
		// dst may have moved while the value was written.
		members = append(members, member{key: w.dst[start+1 : start+1+keyLen], start: start, end: len(w.dst)})
		switch w.next() {
		case ',':
			w.at++
			w.dst = append(w.dst, ',')
		case '}':
			w.at++
			if !sorted {
				if err := w.sort(members, first); err != nil {
					return err
				}
			}
			w.dst = append(w.dst, '}')
			return nil
		default:
			return errSyntax
		}
	}
}

// sort rewrites the members that stand in dst from first on in key order.
func (w *writer) sort(members []member, first int) error {
	whole := bytes.Clone(w.dst[first:])
	for i := range members { // the keys must not change under the sort
		m := &members[i]
		m.key = whole[m.start-first+1:][:len(m.key)]
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	w.dst = w.dst[:first]
	for i, m := range members {
		if i > 0 {
			if bytes.Equal(m.key, members[i-1].key) {
				return fmt.Errorf("key %q occurs twice", m.key)
			}
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, whole[m.start-first:m.end-first]...)
	}
	return nil
}

func plainASCII(key []byte) bool {
	for _, c := range key {
		if c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

// text copies a string, rewriting only its escapes.
func (w *writer) text() error {
	start := w.at
	w.at++
	for w.at < len(w.src) {
		switch c := w.src[w.at]; {
		case c == '"':
			w.at++
			raw := w.src[start:w.at]
			if !utf8.Valid(raw) {
				return errors.New("a text is not valid UTF-8")
			}
			w.dst = append(w.dst, raw...)
			return nil
		case c == '\\':
			return w.escaped(start)
		case c < 0x20:
			return errSyntax
		}
		w.at++
	}
	return errSyntax
}

// escaped copies a string that has escapes; it begins at start.
func (w *writer) escaped(start int) error {
	mark := len(w.dst)
	w.at = start + 1
	w.dst = append(w.dst, '"')
	for w.at < len(w.src) {
		run := bytes.IndexAny(w.src[w.at:], "\"\\")
		if run < 0 {
			return errSyntax
		}
		for _, c := range w.src[w.at : w.at+run] {
			if c < 0x20 {
				return errSyntax
			}
		}
		w.dst = append(w.dst, w.src[w.at:w.at+run]...)
		w.at += run
		if w.src[w.at] == '"' {
			w.at++
			w.dst = append(w.dst, '"')
			if !utf8.Valid(w.dst[mark:]) {
				return errors.New("a text is not valid UTF-8")
			}
			return nil
		}
		if err := w.escape(); err != nil {
			return err
		}
	}
	return errSyntax
}

// escape copies one escape sequence in its canonical spelling.
func (w *writer) escape() error {
	if w.at+1 >= len(w.src) {
		return errSyntax
	}
	c := w.src[w.at+1]
	switch c {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		w.dst = append(w.dst, '\\', c)
		w.at += 2
		return nil
	case '/':
		w.dst = append(w.dst, '/')
		w.at += 2
		return nil
	case 'u':
		r, err := w.hex4(w.at + 2)
		if err != nil {
			return err
		}
		w.at += 6
		if 0xd800 <= r && r < 0xe000 {
			if r >= 0xdc00 || w.at+1 >= len(w.src) || w.src[w.at] != '\\' || w.src[w.at+1] != 'u' {
				return errors.New("a text has half of a surrogate pair")
			}
			low, err := w.hex4(w.at + 2)
			if err != nil {
				return err
			}
			if low < 0xdc00 || low >= 0xe000 {
				return errors.New("a text has half of a surrogate pair")
			}
			w.at += 6
			r = (r-0xd800)<<10 | (low - 0xdc00) + 0x10000
		}
		w.rune(r)
		return nil
	}
	return errSyntax
}

func (w *writer) hex4(at int) (rune, error) {
	if at+4 > len(w.src) {
		return 0, errSyntax
	}
	v, err := strconv.ParseUint(string(w.src[at:at+4]), 16, 32)
	if err != nil {
		return 0, errSyntax
	}
	return rune(v), nil
}

// rune appends r as RFC 8785 writes it inside a string.
func (w *writer) rune(r rune) {
	const digits = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		w.dst = append(w.dst, '\\', byte(r))
	case r == '\b':
		w.dst = append(w.dst, `\b`...)
	case r == '\t':
		w.dst = append(w.dst, `\t`...)
	case r == '\n':
		w.dst = append(w.dst, `\n`...)
	case r == '\f':
		w.dst = append(w.dst, `\f`...)
	case r == '\r':
		w.dst = append(w.dst, `\r`...)
	case r < 0x20:
		w.dst = append(w.dst, `\u00`...)
		w.dst = append(w.dst, digits[r>>4], digits[r&15])
	default:
		w.dst = utf8.AppendRune(w.dst, r)
	}
}
