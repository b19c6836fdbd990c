// Package textfile reads and changes text files without touching a byte that was
// not meant: encoding, byte order mark, line endings (mixed ones too) and the
// final newline stay as they are.
//
// It imports the standard library and x/text only, and does no I/O.
package textfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Encoding is how a file's bytes stand for text.
type Encoding string

// The encodings that are told apart. Bytes that are neither valid UTF-8 nor
// marked as UTF-16 are taken as Windows-1252, a superset of Latin-1, unless most
// of the file is UTF-8: then the invalid bytes are kept as they are.
const (
	UTF8    Encoding = "UTF-8"
	Broken8 Encoding = "UTF-8 with invalid bytes"
	UTF16LE Encoding = "UTF-16LE"
	UTF16BE Encoding = "UTF-16BE"
	Win1252 Encoding = "Windows-1252"
)

var (
	bom8    = []byte("\xEF\xBB\xBF")
	bom16le = []byte("\xFF\xFE")
	bom16be = []byte("\xFE\xFF")
)

// File is a decoded text file. Text has no byte order mark and keeps the line
// endings of the file; for Broken8 it holds the invalid bytes as they are.
type File struct {
	Text     string
	Encoding Encoding
	BOM      []byte // as found, nil without
	Binary   bool   // not text; Text is empty
}

// Decode reads b. Decode then Encode gives b again, or the file is Binary.
func Decode(b []byte) File {
	f := File{Encoding: UTF8}
	body := b
	switch {
	case bytes.HasPrefix(b, bom8):
		f.BOM, body = bom8, b[3:]
	case bytes.HasPrefix(b, bom16le):
		f.BOM, f.Encoding, body = bom16le, UTF16LE, b[2:]
	case bytes.HasPrefix(b, bom16be):
		f.BOM, f.Encoding, body = bom16be, UTF16BE, b[2:]
	}
	if f.Encoding != UTF8 {
		return f.decode16(b, body)
	}
	if bytes.IndexByte(body, 0) >= 0 {
		return File{Binary: true}
	}
	if utf8.Valid(body) {
		f.Text = string(body)
		return f
	}
	if f.BOM != nil || mostlyUTF8(body) {
		f.Encoding, f.Text = Broken8, string(body)
		return f
	}
	text, err := charmap.Windows1252.NewDecoder().String(string(body))
	if err != nil {
		return File{Binary: true}
	}
	f.Encoding, f.Text = Win1252, text
	if back, err := f.Encode(text); err != nil || !bytes.Equal(back, b) {
		f.Encoding, f.Text = Broken8, string(body)
	}
	return f
}

func (f File) decode16(whole, body []byte) File {
	if len(body)%2 != 0 {
		return File{Binary: true}
	}
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = f.order().Uint16(body[2*i:])
	}
	f.Text = string(utf16.Decode(units))
	if back, err := f.Encode(f.Text); err != nil || !bytes.Equal(back, whole) || strings.IndexByte(f.Text, 0) >= 0 {
		return File{Binary: true} // lone surrogates
	}
	return f
}

func (f File) order() interface {
	binary.ByteOrder
	binary.AppendByteOrder
} {
	if f.Encoding == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// mostlyUTF8 reports whether b has more multi-byte UTF-8 characters than invalid bytes.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		i += n
	}
	return good > bad
}

// Encode writes text in f's encoding, with f's byte order mark.
func (f File) Encode(text string) ([]byte, error) {
	body, err := f.encodeBody(text)
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(f.BOM), body...), nil
}

// encodeBody is Encode without the mark. Each character is encoded on its own, so
// the encoding of a concatenation is the concatenation of the encodings.
func (f File) encodeBody(text string) ([]byte, error) {
	switch f.Encoding {
	case UTF16LE, UTF16BE:
		units := utf16.Encode([]rune(text))
		out := make([]byte, 0, 2*len(units))
		for _, u := range units {
			out = f.order().AppendUint16(out, u)
		}
		return out, nil
	case Win1252:
		out := make([]byte, 0, len(text))
		for _, r := range text {
			c, ok := charmap.Windows1252.EncodeRune(r)
			if !ok {
				return nil, fmt.Errorf("the file is %s, which has no %q (%U)", Win1252, r, r)
			}
			out = append(out, c)
		}
		return out, nil
	default:
		return []byte(text), nil
	}
}

// Newline is the line ending of a text: "\n", "\r\n", "" when it has none; mixed
// tells that both occur, then newline is the more frequent one.
func Newline(text string) (newline string, mixed bool) {
	crlf := strings.Count(text, "\r\n")
	lf := strings.Count(text, "\n") - crlf
	switch {
	case crlf == 0 && lf == 0:
		return "", false
	case crlf > lf:
		return "\r\n", lf > 0
	}
	return "\n", crlf > 0
}

// Form describes everything about the file but its words: "UTF-8, LF".
func (f File) Form() string {
	if f.Binary {
		return "binary"
	}
	s := string(f.Encoding)
	if f.BOM != nil && f.Encoding == UTF8 {
		s += " with byte order mark"
	}
	switch newline, mixed := Newline(f.Text); {
	case mixed:
		s += ", mixed line endings"
	case newline == "\r\n":
		s += ", CRLF line endings"
	case newline == "\n":
		s += ", LF line endings"
	}
	return s
}

// Adopt gives new content the form of the file it replaces: encoding and byte
// order mark, and CRLF where all lines ended so and content has none. notes say
// what was kept.
func (f File) Adopt(content string) (b []byte, notes []string, err error) {
	if f.Binary {
		return []byte(content), nil, nil
	}
	old, mixed := Newline(f.Text)
	if old == "\r\n" && !mixed && strings.Contains(content, "\n") && !strings.Contains(content, "\r\n") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
		notes = append(notes, "CRLF line endings")
	}
	if f.BOM != nil && strings.HasPrefix(content, "\uFEFF") {
		content = strings.TrimPrefix(content, "\uFEFF")
	} else if f.BOM != nil && f.Encoding != UTF16LE && f.Encoding != UTF16BE {
		notes = append(notes, "byte order mark")
	}
	if f.Encoding != UTF8 && f.Encoding != Broken8 {
		notes = append(notes, string(f.Encoding))
	}
	b, err = f.Encode(content)
	return b, notes, err
}

// Lines counts the lines of text; a last line without newline counts.
func Lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
