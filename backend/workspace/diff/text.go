package diff

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// encoding tells how lines are cut and shown.
type encoding uint8

const (
	plain encoding = iota // any superset of ASCII
	utf16le
	utf16be
)

// text is a file cut into lines; joined they are the file again.
type text struct {
	lines  []string
	enc    encoding
	binary bool
}

// binaryProbe is how far NUL bytes are looked for, as Git does.
const binaryProbe = 8000

func parse(b []byte) text {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}) && len(b)%2 == 0 && !bytes.HasPrefix(b, []byte{0xff, 0xfe, 0, 0}):
		return text{lines: cut16(b, binary.LittleEndian), enc: utf16le}
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}) && len(b)%2 == 0:
		return text{lines: cut16(b, binary.BigEndian), enc: utf16be}
	case bytes.IndexByte(b[:min(len(b), binaryProbe)], 0) >= 0:
		return text{binary: true}
	}
	return text{lines: cut(string(b))}
}

func cut(s string) []string {
	out := make([]string, 0, strings.Count(s, "\n")+1)
	for len(s) > 0 {
		n := strings.IndexByte(s, '\n') + 1
		if n == 0 {
			n = len(s)
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func cut16(b []byte, order binary.ByteOrder) []string {
	var out []string
	start := 0
	for i := 0; i+1 < len(b); i += 2 {
		if order.Uint16(b[i:]) == '\n' {
			out = append(out, string(b[start:i+2]))
			start = i + 2
		}
	}
	if start < len(b) {
		out = append(out, string(b[start:]))
	}
	return out
}

// show returns a line for people: valid UTF-8 without its "\n" (a "\r" stays), and
// whether it had one.
func show(line string, enc encoding) (string, bool) {
	if enc != plain {
		line = decode16(line, enc)
	}
	s, nl := strings.CutSuffix(line, "\n")
	return strings.ToValidUTF8(s, "\ufffd"), nl
}

func decode16(s string, enc encoding) string {
	var order binary.ByteOrder = binary.LittleEndian
	if enc == utf16be {
		order = binary.BigEndian
	}
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, order.Uint16([]byte(s[i:i+2])))
	}
	if len(units) > 0 && units[0] == 0xfeff {
		units = units[1:]
	}
	return string(utf16.Decode(units))
}
