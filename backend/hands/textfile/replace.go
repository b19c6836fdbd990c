package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"
)

// NoMatchError says that the text to replace is not in the file. Near are the
// places that come closest.
type NoMatchError struct{ Near []Candidate }

func (e *NoMatchError) Error() string { return "no match" }

// AmbiguousError says that the text to replace is in the file more than once.
type AmbiguousError struct{ Lines []int } // 1-based first lines of the matches

func (e *AmbiguousError) Error() string { return fmt.Sprintf("%d matches", len(e.Lines)) }

// ErrNoChange says that the new text equals the old.
var ErrNoChange = errors.New("the new text equals the old text")

// Span is a replaced range of lines in the new text, 1-based, inclusive.
type Span struct{ First, Last int }

// Result is the outcome of Replace.
type Result struct {
	Bytes []byte // the whole new file
	Spans []Span // where the new text stands
}

// splice replaces Text[start:end] of a file by text.
type splice struct {
	start, end int
	text       string
}

// Replace exchanges old for new in the file, exactly once, or everywhere with
// all. Line endings match whichever way they are written: a LF in old matches a
// CRLF in the file, and what new brings in gets the line ending of the lines it
// replaces or, for added lines, of those around. Everything outside the change is
// identical byte for byte; that is verified, not assumed.
func (f File) Replace(original []byte, old, new string, all bool) (Result, error) {
	if f.Binary {
		return Result{}, errors.New("binary file")
	}
	if old == new {
		return Result{}, ErrNoChange
	}
	at, size := f.find(old)
	if len(at) == 0 {
		return Result{}, &NoMatchError{Near: f.Nearest(old)}
	}
	if len(at) > 1 && !all {
		return Result{}, &AmbiguousError{Lines: f.linesOf(at)}
	}
	var splices []splice
	for i, start := range at {
		splices = append(splices, f.plan(start, start+size[i], old, new)...)
	}
	return f.apply(original, splices)
}

// find returns the places where old stands in the text, not overlapping, and the
// length of each in the text.
func (f File) find(old string) (at, size []int) {
	plain := old
	crlf := strings.Contains(f.Text, "\r\n") || strings.Contains(old, "\r\n")
	text := f.Text
	var back func(int) int
	if crlf {
		plain = strings.ReplaceAll(old, "\r\n", "\n")
		text, back = unifyNewlines(f.Text)
	}
	if plain == "" {
		return nil, nil
	}
	for from := 0; ; {
		i := strings.Index(text[from:], plain)
		if i < 0 {
			return at, size
		}
		start, end := from+i, from+i+len(plain)
		from = end
		if crlf {
			start, end = back(start), back(end)
		}
		at, size = append(at, start), append(size, end-start)
	}
}

// unifyNewlines turns CRLF into LF and returns how to map an offset back.
func unifyNewlines(s string) (string, func(int) int) {
	var b strings.Builder
	b.Grow(len(s))
	var cuts []int // offsets in the result at which one more CR was left out before
	for i := 0; i < len(s); i++ {
		if s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n' {
			cuts = append(cuts, b.Len())
			continue
		}
		b.WriteByte(s[i])
	}
	// An offset before the LF of a cut stands before its CR; one after it, after.
	return b.String(), func(off int) int { return off + sort.SearchInts(cuts, off) }
}

// plan turns the replacement of text[start:end] into the splices that really
// differ, with line endings chosen line by line.
func (f File) plan(start, end int, old, new string) []splice {
	region := f.Text[start:end]
	oldLF, newLF := strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(new, "\r\n", "\n")
	if oldLF == newLF || strings.Contains(new, "\r\n") && !strings.Contains(region, "\r\n") {
		// The line endings themselves are what is asked for.
		return []splice{{start, end, new}}
	}
	regionLF, back := unifyNewlines(region)
	var out []splice
	for _, e := range udiff.Lines(regionLF, newLF) {
		part := f.Text[start+back(e.Start) : start+back(e.End)]
		text := f.withEndings(e.New, part, start+back(e.Start), start+back(e.End))
		out = append(out, shrink(splice{start + back(e.Start), start + back(e.End), text}, part))
	}
	return out
}

// withEndings writes the newlines of text as those of the lines it replaces, in
// order, and beyond them as the nearest line of the file.
func (f File) withEndings(text, replaced string, start, end int) string {
	if !strings.Contains(f.Text, "\r\n") {
		return text
	}
	endings := endingsOf(replaced)
	local := f.near(start, end)
	if len(endings) > 0 {
		local = endings[len(endings)-1]
	}
	var b strings.Builder
	i := 0
	for line := range strings.Lines(text) {
		body, hasNewline := strings.CutSuffix(line, "\n")
		b.WriteString(body)
		if !hasNewline {
			continue
		}
		if i < len(endings) {
			b.WriteString(endings[i])
		} else {
			b.WriteString(local)
		}
		i++
	}
	return b.String()
}

func endingsOf(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		switch {
		case strings.HasSuffix(line, "\r\n"):
			out = append(out, "\r\n")
		case strings.HasSuffix(line, "\n"):
			out = append(out, "\n")
		}
	}
	return out
}

// near is the line ending next to a range: of the line it ends in, else of the
// line before it, else the file's usual one.
func (f File) near(start, end int) string {
	if i := strings.IndexByte(f.Text[end:], '\n'); i >= 0 {
		return endingAt(f.Text, end+i)
	}
	if i := strings.LastIndexByte(f.Text[:start], '\n'); i >= 0 {
		return endingAt(f.Text, i)
	}
	newline, _ := Newline(f.Text)
	if newline == "" {
		return "\n"
	}
	return newline
}

func endingAt(s string, lf int) string {
	if lf > 0 && s[lf-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// shrink drops the beginning and end that a splice leaves as they are.
func shrink(s splice, was string) splice {
	n := 0
	for n < len(was) && n < len(s.text) && was[n] == s.text[n] {
		n++
	}
	for n > 0 && (n < len(was) && !utf8.RuneStart(was[n]) || n < len(s.text) && !utf8.RuneStart(s.text[n])) {
		n--
	}
	was, s.text, s.start = was[n:], s.text[n:], s.start+n
	m := 0
	for m < len(was) && m < len(s.text) && was[len(was)-1-m] == s.text[len(s.text)-1-m] {
		m++
	}
	for m > 0 && !utf8.RuneStart(was[len(was)-m]) {
		m--
	}
	s.text, s.end = s.text[:len(s.text)-m], s.end-m
	return s
}

// apply carries the splices out on the encoded file and verifies that what lies
// between them is what was there before (R137).
func (f File) apply(original []byte, splices []splice) (Result, error) {
	var text strings.Builder
	var res Result
	kept := []string{} // encoded pieces between the splices
	at, line := 0, 1
	for _, s := range splices {
		text.WriteString(f.Text[at:s.start])
		kept = append(kept, f.Text[at:s.start])
		line += strings.Count(f.Text[at:s.start], "\n")
		added := strings.Count(s.text, "\n")
		last := line + added
		if added > 0 && strings.HasSuffix(s.text, "\n") {
			last--
		}
		res.Spans = append(res.Spans, Span{line, last})
		line += added
		text.WriteString(s.text)
		at = s.end
	}
	text.WriteString(f.Text[at:])
	kept = append(kept, f.Text[at:])
	out, err := f.Encode(text.String())
	if err != nil {
		return res, err
	}
	if err := f.verify(original, out, kept, splices); err != nil {
		return res, err
	}
	if bytes.Equal(out, original) {
		return res, ErrNoChange
	}
	res.Bytes = out
	res.Spans = join(res.Spans)
	return res, nil
}

// verify walks both files and compares every byte that no splice covers.
func (f File) verify(original, out []byte, kept []string, splices []splice) error {
	o, n := original, out
	take := func(b *[]byte, want []byte) bool {
		ok := bytes.HasPrefix(*b, want)
		if ok {
			*b = (*b)[len(want):]
		}
		return ok
	}
	same := take(&o, f.BOM) && take(&n, f.BOM)
	for i, piece := range kept {
		enc, err := f.encodeBody(piece)
		same = same && err == nil && take(&o, enc) && take(&n, enc)
		if i == len(splices) || !same {
			break
		}
		was, err1 := f.encodeBody(f.Text[splices[i].start:splices[i].end])
		is, err2 := f.encodeBody(splices[i].text)
		same = err1 == nil && err2 == nil && take(&o, was) && take(&n, is)
	}
	if !same || len(o) != 0 || len(n) != 0 {
		return errors.New("the change would alter bytes outside of it; nothing was changed")
	}
	return nil
}

// join merges spans that touch.
func join(spans []Span) []Span {
	var out []Span
	for _, s := range spans {
		if n := len(out); n > 0 && s.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, s.Last)
			continue
		}
		out = append(out, s)
	}
	return out
}

func (f File) linesOf(offsets []int) []int {
	out := make([]int, len(offsets))
	line, at := 1, 0
	for i, off := range offsets {
		line += strings.Count(f.Text[at:off], "\n")
		at = off
		out[i] = line
	}
	return out
}
