package grep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"worksite/backend/hands"
)

// Bounds of one search.
const (
	maxText     = 24 << 10 // bytes of the answer
	maxShown    = 250      // matching lines in the answer
	maxPerFile  = 100      // matching lines kept of one file
	maxLine     = 300      // bytes of a line in the answer
	maxFile     = 32 << 20 // bytes of a file that is searched
	maxMatches  = 100_000  // lines after which the search ends
	binaryProbe = 8 << 10
)

// fileHits are the matching lines of one file.
type fileHits struct {
	path    string
	matches int
	lines   []hitLine
}

// hitLine is a line to show: a match, or one around it.
type hitLine struct {
	n     int
	match bool
	text  string
}

// found is the outcome of a search.
type found struct {
	files    []fileHits
	matches  int
	searched int
	unread   int      // files that could not be opened or read
	skipped  []string // files too large, with their size
	stopped  bool     // maxMatches was reached
}

// search walks in one goroutine and searches in as many as there are cores.
func (q query) search(ctx context.Context) (*found, error) {
	root, err := os.OpenRoot(q.ws.Root())
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	info, err := root.Stat(q.rel)
	if err != nil {
		return nil, hands.NotFound(q.ws, q.rel)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		out   found
		mu    sync.Mutex
		wg    sync.WaitGroup
		paths = make(chan string, 64)
	)
	literal := q.literal()
	for range max(runtime.GOMAXPROCS(0), 1) {
		wg.Go(func() {
			w := worker{
				q: q, root: root, literal: literal,
				single: strings.Contains(q.Pattern, `\A`) || strings.Contains(q.Pattern, `\z`),
				dollar: strings.Contains(q.Pattern, "$"),
			}
			for p := range paths {
				hits, big, err := w.file(p)
				mu.Lock()
				switch {
				case big > 0:
					out.skipped = append(out.skipped, fmt.Sprintf("%s (%s)", p, hands.Size(big)))
				case err != nil:
					out.unread++
				default:
					out.searched++
				}
				if hits.matches > 0 {
					out.files = append(out.files, hits)
					out.matches += hits.matches
					if out.matches >= maxMatches {
						out.stopped = true
						cancel()
					}
				}
				mu.Unlock()
			}
		})
	}
	send := func(p string) error {
		select {
		case paths <- p:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if info.Mode().IsRegular() {
		err = send(q.rel)
	} else {
		err = q.ws.Walk(ctx, q.rel, false, func(name string, d fs.DirEntry) error {
			if !d.Type().IsRegular() || !q.wanted(name) {
				return nil
			}
			return send(name)
		})
	}
	close(paths)
	wg.Wait()
	if err != nil && !(out.stopped && errors.Is(err, context.Canceled)) {
		return nil, err
	}
	slices.SortFunc(out.files, func(a, b fileHits) int { return strings.Compare(a.path, b.path) })
	slices.Sort(out.skipped)
	return &out, nil
}

func (q query) wanted(name string) bool {
	if q.Glob == "" {
		return true
	}
	if q.rel != "." {
		if below := strings.TrimPrefix(name, q.rel+"/"); doublestar.MatchUnvalidated(q.Glob, below) {
			return true
		}
	}
	return doublestar.MatchUnvalidated(q.Glob, name)
}

// literal is a text that every match contains, nil when none is known: most
// files are then dismissed without the expression.
func (q query) literal() []byte {
	if q.IgnoreCase {
		return nil
	}
	re, err := syntax.Parse(q.Pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	best := ""
	var visit func(*syntax.Regexp)
	visit = func(re *syntax.Regexp) {
		switch re.Op {
		case syntax.OpLiteral:
			if s := string(re.Rune); re.Flags&syntax.FoldCase == 0 && len(s) > len(best) {
				best = s
			}
		case syntax.OpConcat:
			for _, sub := range re.Sub {
				visit(sub)
			}
		case syntax.OpCapture, syntax.OpPlus:
			visit(re.Sub[0])
		}
	}
	visit(re.Simplify())
	if best == "" {
		return nil
	}
	return []byte(best)
}

// worker searches files one after another with one buffer.
type worker struct {
	q       query
	root    *os.Root
	literal []byte
	single  bool // the expression speaks of the text's ends: look at each line alone
	dollar  bool // it speaks of line ends: a CR must not be in the way
	buf     []byte
}

// file searches one file; big is its size when it was too large.
func (w *worker) file(name string) (hits fileHits, big int64, err error) {
	f, err := hands.OpenIn(w.root, name)
	if err != nil {
		return hits, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return hits, 0, err
	}
	if info.Size() > maxFile {
		return hits, info.Size(), nil
	}
	if w.buf, err = readInto(w.buf[:0], f, int(info.Size())); err != nil {
		return hits, 0, err
	}
	b := w.buf
	if bytes.IndexByte(b[:min(len(b), binaryProbe)], 0) >= 0 {
		return hits, 0, nil
	}
	if w.literal != nil && !bytes.Contains(b, w.literal) {
		return hits, 0, nil
	}
	hits.path = name
	w.scan(b, &hits)
	return hits, 0, nil
}

// readInto reads f whole into buf, which it grows; size is what Stat said.
func readInto(buf []byte, f io.Reader, size int) ([]byte, error) {
	buf = slices.Grow(buf, size+1)
	for len(buf) <= maxFile {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, 64<<10)
		}
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
	return buf[:maxFile], nil
}

// scan finds matching lines. A match lies within one line, as with any grep; the
// expression runs over the rest of the file rather than over each line, so that
// lines without a match cost nothing. An expression that matches across lines
// makes it fall back to line by line, which keeps the time linear.
func (w *worker) scan(b []byte, hits *fileHits) {
	single := w.single || w.dollar && bytes.IndexByte(b, '\r') >= 0
	line, begin := 1, 0 // number and offset of the line to look at next
	shownTo := 0        // last line already in hits.lines
	for begin < len(b) {
		if !single {
			loc := w.q.re.FindIndex(b[begin:])
			if loc == nil {
				return
			}
			start := begin + loc[0]
			next := bytes.LastIndexByte(b[begin:start], '\n') + 1
			line += bytes.Count(b[begin:begin+next], []byte{'\n'})
			if begin += next; begin == len(b) {
				return // an empty match past the last line
			}
		}
		end := len(b)
		if i := bytes.IndexByte(b[begin:], '\n'); i >= 0 {
			end = begin + i
		}
		if loc := w.q.re.FindIndex(bytes.TrimSuffix(b[begin:end], []byte{'\r'})); loc != nil {
			hits.matches++
			if len(hits.lines) < maxPerFile*(1+2*w.q.Context) && !w.q.FilesOnly {
				shownTo = w.keep(b, begin, end, begin+loc[0], begin+loc[1], line, shownTo, hits)
			}
		} else {
			single = true
		}
		begin = end + 1
		line++
	}
}

// keep adds a matching line and those around it; it returns the last line added.
func (w *worker) keep(b []byte, begin, end, start, stop, line, shownTo int, hits *fileHits) int {
	from, n := begin, line
	for range w.q.Context {
		if from == 0 || n-1 <= shownTo {
			break
		}
		from = bytes.LastIndexByte(b[:from-1], '\n') + 1
		n--
	}
	for ; n < line; n++ {
		e := from + bytes.IndexByte(b[from:], '\n')
		hits.lines = append(hits.lines, hitLine{n, false, cut(b[from:e], 0, 0)})
		from = e + 1
	}
	if line > shownTo {
		hits.lines = append(hits.lines, hitLine{line, true, cut(b[begin:end], start-begin, min(stop, end)-begin)})
	} else { // it was shown as context of the match before
		for i := range hits.lines {
			if hits.lines[i].n == line {
				hits.lines[i].match = true
			}
		}
	}
	last := max(line, shownTo)
	at := end + 1
	for k := line + 1; k <= line+w.q.Context && at < len(b); k++ {
		e := len(b)
		if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
			e = at + i
		}
		if k > shownTo {
			hits.lines = append(hits.lines, hitLine{k, false, cut(b[at:e], 0, 0)})
			last = k
		}
		at = e + 1
	}
	return last
}

// cut shortens a long line around the match, visibly.
func cut(b []byte, start, stop int) string {
	b = bytes.TrimSuffix(b, []byte{'\r'})
	if len(b) <= maxLine {
		return clean(b)
	}
	from := max(0, min(start-maxLine/3, len(b)-maxLine))
	to := min(len(b), max(from+maxLine, min(stop, from+2*maxLine)))
	for from > 0 && !utf8.RuneStart(b[from]) {
		from--
	}
	for to < len(b) && !utf8.RuneStart(b[to]) {
		to++
	}
	s := clean(b[from:to])
	if from > 0 {
		s = fmt.Sprintf("[%d bytes]…%s", from, s)
	}
	if left := len(b) - to; left > 0 {
		s += fmt.Sprintf("…[%d bytes]", left)
	}
	return s
}

func clean(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// render writes the answer: one heading per file, then its lines, and what was
// left out with its counts.
func (s *found) render(q query) string {
	if s.matches == 0 {
		text := fmt.Sprintf("No match in %s (%s searched; binary files and those ignored by Git are left out).\n", q.rel, hands.Plural(s.searched, "file"))
		return text + s.notes()
	}
	var b strings.Builder
	shown, shownFiles := 0, 0
	for _, f := range s.files {
		if b.Len() > maxText-2*maxLine || shown >= maxShown {
			break
		}
		shownFiles++
		if q.FilesOnly {
			fmt.Fprintf(&b, "%s (%d)\n", f.path, f.matches)
			shown += f.matches
			continue
		}
		fmt.Fprintf(&b, "%s\n", f.path)
		last, before := 0, shown
		for _, l := range f.lines {
			if b.Len() > maxText-2*maxLine || shown >= maxShown {
				break
			}
			if last > 0 && l.n > last+1 && q.Context > 0 {
				b.WriteString("  --\n")
			}
			sep := '-'
			if l.match {
				sep = ':'
				shown++
			}
			fmt.Fprintf(&b, "  %d%c %s\n", l.n, sep, l.text)
			last = l.n
		}
		if n := f.matches - (shown - before); n > 0 {
			fmt.Fprintf(&b, "  [%d more in %s]\n", n, path.Base(f.path))
		}
	}
	total := fmt.Sprintf("%s in %s", hands.Plural(s.matches, "matching line"), hands.Plural(len(s.files), "file"))
	switch {
	case s.stopped:
		fmt.Fprintf(&b, "[at least %s; the search was ended there; narrow it]\n", total)
	case shown < s.matches || shownFiles < len(s.files):
		fmt.Fprintf(&b, "[%s, %d shown; narrow the search to see the rest]\n", total, shown)
	}
	return b.String() + s.notes()
}

func (s *found) notes() string {
	var b strings.Builder
	if s.unread > 0 {
		fmt.Fprintf(&b, "[%s could not be read]\n", hands.Plural(s.unread, "file"))
	}
	if len(s.skipped) > 0 {
		names := strings.Join(s.skipped[:min(3, len(s.skipped))], ", ")
		fmt.Fprintf(&b, "[%s larger than %s not searched: %s]\n", hands.Plural(len(s.skipped), "file"), hands.Size(maxFile), names)
	}
	return b.String()
}
