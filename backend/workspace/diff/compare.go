package diff

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"strconv"
	"strings"
)

// Limits of what is cut into hunks; past them a file is only taken or dropped whole.
const (
	MaxBytes = 8 << 20 // of each version
	maxShown = 4 << 20 // bytes of all hunks' lines
	context  = 3       // unchanged lines shown around a change
	mergeGap = 1       // changes at most this many unchanged lines apart are one hunk
)

// Line is one line of a hunk: Op is " ", "+" or "-".
type Line struct {
	Op   string
	Text string // without its "\n"; a "\r" stays
	NoNL bool   // the last line of its version, without a newline
}

// Hunk is one reviewable piece. Starts are 1-based and count the context lines
// shown, as in a unified diff.
type Hunk struct {
	ID                                     string
	OldStart, OldLines, NewStart, NewLines int
	Section                                string // nearest line above that names a function or heading
	Lines                                  []Line
	blocks                                 []block
}

// File is the difference between two versions of a file.
type File struct {
	Binary, TooBig bool
	Added, Removed int // lines
	Hunks          []Hunk

	pre, post text
}

// ErrNoHunk is an id that names no hunk of the file.
var ErrNoHunk = errors.New("no such hunk")

// Compare cuts the difference between pre and post into hunks. name is the file's
// path, which enters the ids of the hunks.
func Compare(name string, pre, post []byte) *File {
	f := &File{}
	if len(pre) > MaxBytes || len(post) > MaxBytes {
		f.TooBig = true
		return f
	}
	f.pre, f.post = parse(pre), parse(post)
	if f.pre.binary || f.post.binary {
		f.Binary = true
		return f
	}
	var group []block
	for _, b := range blocks(f.pre.lines, f.post.lines) {
		f.Removed += b.a1 - b.a0
		f.Added += b.b1 - b.b0
		if n := len(group); n > 0 && b.a0-group[n-1].a1 > mergeGap {
			f.Hunks = append(f.Hunks, Hunk{blocks: group})
			group = nil
		}
		group = append(group, b)
	}
	if group != nil {
		f.Hunks = append(f.Hunks, Hunk{blocks: group})
	}
	f.render(name)
	return f
}

// render fills in what is shown of each hunk.
func (f *File) render(name string) {
	a, b := f.pre.lines, f.post.lines
	shown := 0
	for i := range f.Hunks {
		h := &f.Hunks[i]
		first, last := h.blocks[0], h.blocks[len(h.blocks)-1]
		// Context between two hunks is shared out, so that no line is shown twice.
		before, after := min(context, first.a0), min(context, len(a)-last.a1)
		if i > 0 {
			prev := f.Hunks[i-1].blocks
			gap := first.a0 - prev[len(prev)-1].a1
			before = min(context, gap/2)
		}
		if i+1 < len(f.Hunks) {
			gap := f.Hunks[i+1].blocks[0].a0 - last.a1
			after = min(context, gap-gap/2)
		}
		h.OldStart, h.OldLines = first.a0-before+1, last.a1+after-(first.a0-before)
		h.NewStart, h.NewLines = first.b0-before+1, last.b1+after-(first.b0-before)
		// By the convention of unified diffs, an empty range names the line before it.
		if h.OldLines == 0 {
			h.OldStart--
		}
		if h.NewLines == 0 {
			h.NewStart--
		}
		at := first.a0 - before
		for _, k := range h.blocks {
			h.add(" ", a[at:k.a0], f.pre.enc)
			h.add("-", a[k.a0:k.a1], f.pre.enc)
			h.add("+", b[k.b0:k.b1], f.post.enc)
			at = k.a1
		}
		h.add(" ", a[at:last.a1+after], f.pre.enc)
		for _, l := range h.Lines {
			shown += len(l.Text)
		}
		h.Section = section(name, a[:first.a0-before], f.pre.enc)
		h.ID = hunkID(name, a, b, h.blocks)
	}
	if shown > maxShown {
		f.TooBig, f.Hunks = true, nil
	}
}

func (h *Hunk) add(op string, lines []string, enc encoding) {
	for _, l := range lines {
		s, nl := show(l, enc)
		h.Lines = append(h.Lines, Line{Op: op, Text: s, NoNL: !nl})
	}
}

// hunkID names a hunk by its content and place: the part before "-" is the same
// when the hunk has only moved, because others before it were answered.
func hunkID(name string, a, b []string, bs []block) string {
	sum := sha256.New()
	field := func(s string) {
		sum.Write(strconv.AppendInt(nil, int64(len(s)), 10))
		sum.Write([]byte{':'})
		sum.Write([]byte(s))
	}
	field(name)
	for _, k := range bs {
		field("-")
		for _, l := range a[k.a0:k.a1] {
			field(l)
		}
		field("+")
		for _, l := range b[k.b0:k.b1] {
			field(l)
		}
		field(strconv.Itoa(k.a0 - bs[0].a0))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]) + "-" + strconv.Itoa(bs[0].a0+1)
}

// content returns the part of an id that does not depend on the place.
func content(id string) string {
	c, _, _ := strings.Cut(id, "-")
	return c
}

// Find returns the index of the hunk that id means: the very one, else the only
// one with the same content, which has moved.
func (f *File) Find(id string) (int, error) {
	moved := -1
	for i := range f.Hunks {
		if f.Hunks[i].ID == id {
			return i, nil
		}
		if content(f.Hunks[i].ID) == content(id) {
			if moved >= 0 {
				return 0, ErrNoHunk // two could be meant
			}
			moved = i
		}
	}
	if moved < 0 {
		return 0, ErrNoHunk
	}
	return moved, nil
}

// Take returns the old version with the chosen hunks applied: the next review base.
func (f *File) Take(chosen map[int]bool) []byte { return f.mix(chosen, true) }

// Drop returns the new version with the chosen hunks taken out again.
func (f *File) Drop(chosen map[int]bool) []byte { return f.mix(chosen, false) }

// mix writes the old version, with the new lines of a hunk where chosen is as given.
func (f *File) mix(chosen map[int]bool, take bool) []byte {
	var out []byte
	at := 0
	put := func(lines []string) {
		for _, l := range lines {
			out = append(out, l...)
		}
	}
	for i := range f.Hunks {
		fresh := chosen[i] == take
		for _, k := range f.Hunks[i].blocks {
			put(f.pre.lines[at:k.a0])
			if fresh {
				put(f.post.lines[k.b0:k.b1])
			} else {
				put(f.pre.lines[k.a0:k.a1])
			}
			at = k.a1
		}
	}
	put(f.pre.lines[at:])
	return out
}

// sectionMax bounds the length of a section heading, in runes.
const sectionMax = 80

// section finds the nearest line above a hunk that names a function or heading.
func section(name string, above []string, enc encoding) string {
	markdown := strings.EqualFold(path.Ext(name), ".md")
	for i := len(above) - 1; i >= 0 && i > len(above)-5000; i-- {
		s, _ := show(above[i], enc)
		if !heads(s, markdown) {
			continue
		}
		s = strings.TrimSpace(s)
		if r := []rune(s); len(r) > sectionMax {
			s = string(r[:sectionMax-1]) + "…"
		}
		return s
	}
	return ""
}

func heads(s string, markdown bool) bool {
	if s == "" {
		return false
	}
	if markdown {
		return s[0] == '#'
	}
	if c := s[0]; c == '_' || c == '$' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80 {
		return true
	}
	t := strings.TrimLeft(s, " \t")
	if len(t) == len(s) {
		return false
	}
	for _, w := range [...]string{"def ", "class ", "async def ", "func ", "fn ", "pub fn ", "function ", "public ", "private ", "protected ", "static "} {
		if strings.HasPrefix(t, w) {
			return true
		}
	}
	return false
}
