// Package read is the hand that shows a file to the model, with line numbers.
// What it showed is remembered as seen, which edit and write ask for.
package read

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/textfile"
)

//go:embed read.md
var description string

const schema = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"offset":{"type":"integer","minimum":1,"description":"first line"},"limit":{"type":"integer","minimum":1,"description":"number of lines"}},"required":["path"],"additionalProperties":false}`

// Bounds of one answer.
const (
	defaultLimit = 1000     // lines, unless asked for more
	maxText      = 32 << 10 // bytes of lines
	maxLine      = 2000     // bytes of one line
)

// Hand implements capability.Hand.
type Hand struct {
	open hands.OpenFunc
	seen *hands.Seen
}

// New returns the hand.
func New(open hands.OpenFunc, seen *hands.Seen) *Hand { return &Hand{open, seen} }

type input struct {
	Path   string
	Offset int
	Limit  int
}

// Spec implements capability.Hand.
func (h *Hand) Spec() domain.HandSpec {
	return domain.HandSpec{
		Name: "read", Description: strings.TrimSpace(description), Schema: []byte(schema),
		Class: domain.EffectRead, Capabilities: []domain.Capability{domain.CapRead},
		Timeout: time.Minute, MaxOutput: maxText + 4<<10, Where: "this process",
	}
}

// Prepare implements capability.Hand.
func (h *Hand) Prepare(ctx context.Context, call domain.HandCall) (*domain.PreparedCall, error) {
	in, err := hands.Decode[input](call)
	if err != nil {
		return nil, err
	}
	ws, err := h.open(ctx, call.Workspace)
	if err != nil {
		return nil, err
	}
	rel, err := ws.Resolve(in.Path)
	if err != nil {
		return nil, err
	}
	p := hands.ReadOnly(call, "Read "+rel, rel)
	return p, nil
}

// Execute implements capability.Hand.
func (h *Hand) Execute(ctx context.Context, p *domain.PreparedCall, _ func([]byte)) (domain.HandResult, error) {
	var res domain.HandResult
	in, err := hands.Decode[input](p.Call)
	if err != nil {
		return res, err
	}
	ws, err := h.open(ctx, p.Call.Workspace)
	if err != nil {
		return res, err
	}
	rel, err := ws.Resolve(in.Path)
	if err != nil {
		return res, err
	}
	w := window{first: max(in.Offset, 1), limit: in.Limit}
	if w.limit == 0 {
		w.limit = defaultLimit
	}
	content, img, err := ws.ReadFile(rel)
	switch {
	case domain.CodeOf(err) == domain.CodeTooLarge:
		err = w.readLarge(ctx, ws, rel)
	case domain.CodeOf(err) == domain.CodeNotFound || errors.Is(err, fs.ErrNotExist):
		return res, hands.NotFound(ws, rel)
	case err != nil:
		if _, derr := ws.ReadDir(rel); derr == nil {
			return res, domain.Errorf(domain.CodeInvalid, "%s is a folder; use ls", rel)
		}
		return res, err
	default:
		f := textfile.Decode(content)
		if f.Binary {
			res.Output.Text = fmt.Sprintf("%s is a binary file (%s, %s); its bytes are not shown.", rel, http.DetectContentType(content), hands.Size(img.Size))
			res.Output.Summary = "binary, " + hands.Size(img.Size)
			return res, nil
		}
		h.seen.Mark(p.Call.Session, rel, img.Hash)
		res.Output.Seen = []domain.FileImage{{Path: rel, Pre: img.Hash, Post: img.Hash}}
		if form := f.Form(); f.Text != "" && form != "UTF-8, LF line endings" && form != "UTF-8" {
			w.note = form
		}
		if content != nil && f.Text == "" {
			res.Output.Text, res.Output.Summary = fmt.Sprintf("%s is empty.", rel), "empty"
			return res, nil
		}
		w.total = textfile.Lines(f.Text)
		err = w.read(ctx, bufio.NewReaderSize(strings.NewReader(f.Text), 64<<10))
	}
	if err != nil {
		return res, err
	}
	res.Output.Text, err = w.text(rel)
	res.Output.Summary = hands.Plural(w.shown, "line")
	return res, err
}

// Probe implements capability.Hand.
func (h *Hand) Probe(context.Context, domain.HandCall, domain.Effect) (domain.ProbeResult, string) {
	return hands.ProbeRead()
}

// window collects some lines of a file.
type window struct {
	first, limit int
	total        int // lines in the file, 0 when not counted
	shown        int
	cut          bool // the byte bound ended it
	more         bool // lines follow
	note         string
	out          strings.Builder
}

// readLarge reads the window of a file that is too large to be kept whole, in
// bounded memory. Such a file does not count as seen.
func (w *window) readLarge(ctx context.Context, ws hands.Reader, rel string) error {
	f, err := hands.OpenFile(ws, rel)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w.note = "large file, " + hands.Size(info.Size()) + ": it cannot be edited by edit or write"
	head := make([]byte, 8<<10)
	n, _ := f.ReadAt(head, 0)
	if bytes.IndexByte(head[:n], 0) >= 0 {
		return domain.Errorf(domain.CodeInvalid, "%s is a large binary file (%s); its bytes are not shown", rel, hands.Size(info.Size()))
	}
	return w.read(ctx, bufio.NewReaderSize(f, 256<<10))
}

// read skips to the first line and numbers lines from there. A line of any
// length takes bounded memory.
func (w *window) read(ctx context.Context, r *bufio.Reader) error {
	for n := 1; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		wanted := n >= w.first
		if wanted && (w.shown == w.limit || w.cut) {
			_, err := r.ReadByte()
			w.more = err == nil
			return nil
		}
		line, left, err := readLine(ctx, r, wanted)
		if errors.Is(err, io.EOF) {
			if w.total == 0 {
				w.total = n - 1
			}
			return nil
		}
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		text := strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD")
		if left > 0 {
			text += fmt.Sprintf("… [%d more bytes in this line]", left)
		}
		w.number(n)
		w.out.WriteString(text)
		w.out.WriteByte('\n')
		w.shown++
		w.cut = w.out.Len() > maxText-maxLine
	}
}

// number writes a line number in six columns, as cat -n does.
func (w *window) number(n int) {
	digits := strconv.Itoa(n)
	w.out.WriteString("      "[min(len(digits), 6):])
	w.out.WriteString(digits)
	w.out.WriteByte('\t')
}

// readLine reads one line, keeping at most maxLine bytes of it; left counts the
// rest. The error is io.EOF only when there is no line any more.
func readLine(ctx context.Context, r *bufio.Reader, keep bool) (line []byte, left int, err error) {
	got := false
	for chunks := 0; ; chunks++ {
		if chunks%64 == 63 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		chunk, err := r.ReadSlice('\n')
		got = got || len(chunk) > 0
		if keep {
			ended := bytes.TrimRight(chunk, "\r\n")
			room := 0
			if left == 0 {
				room = min(maxLine-len(line), len(ended))
			}
			for room > 0 && room < len(ended) && !utf8.RuneStart(ended[room]) {
				room--
			}
			line = append(line, ended[:room]...)
			left += len(ended) - room
		}
		switch {
		case err == nil:
			return line, left, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && got:
			return line, left, nil
		}
		return nil, 0, err
	}
}

// text is what the model gets: the lines and what was left out.
func (w *window) text(rel string) (string, error) {
	if w.shown == 0 {
		return "", domain.Errorf(domain.CodeInvalid, "%s has only %s; line %d is past its end", rel, hands.Plural(w.total, "line"), w.first)
	}
	last := w.first + w.shown - 1
	switch {
	case w.more && w.total > 0:
		fmt.Fprintf(&w.out, "[lines %d-%d of %d; go on with offset %d]\n", w.first, last, w.total, last+1)
	case w.more:
		fmt.Fprintf(&w.out, "[lines %d-%d, more follow; go on with offset %d]\n", w.first, last, last+1)
	case w.first > 1:
		fmt.Fprintf(&w.out, "[lines %d-%d of %d]\n", w.first, last, w.total)
	}
	if w.note != "" {
		fmt.Fprintf(&w.out, "[%s]\n", w.note)
	}
	return w.out.String(), nil
}
