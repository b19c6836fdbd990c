package capability

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"worksite/backend/domain"
)

// Bytes of an error message or of an evidence, of one quoted value in it, and of
// a row's summary.
const (
	maxMessage = 4 << 10
	maxQuoted  = 60
	maxSummary = 200
)

func asPanic(err error, target **panicError) bool { return errors.As(err, target) }

// bound shortens an error of a hand that is too long to be read. Code, hint and
// chain stay.
func bound(err error) error {
	if len(err.Error()) <= maxMessage {
		return err
	}
	var u *UnknownError
	if errors.As(err, &u) {
		return &UnknownError{Known: clip(u.Known, maxMessage), Err: u.Err}
	}
	e := domain.Errorf(domain.CodeOf(err), "%w", shortened{err})
	e.Hint = domain.HintOf(err)
	return e
}

type shortened struct{ err error }

func (s shortened) Error() string { return clip(s.err.Error(), maxMessage) }
func (s shortened) Unwrap() error { return s.err }

// bounded cuts the output of a call to what the hand promised and makes it valid
// UTF-8, since it becomes JSON.
func (r *Registry) bounded(ctx context.Context, spec domain.HandSpec, res domain.HandResult) (domain.HandResult, error) {
	out := &res.Output
	whole := out.Text
	out.Summary = clip(strings.ToValidUTF8(out.Summary, "\uFFFD"), maxSummary)
	out.Text = strings.ToValidUTF8(out.Text, "\uFFFD")
	if spec.MaxOutput <= 0 || len(out.Text) <= spec.MaxOutput {
		return res, nil
	}
	text, left := HeadTail(out.Text, spec.MaxOutput)
	out.Text = text
	out.Dropped += int64(left)
	if out.Spill.IsZero() && r.spill != nil {
		h, err := r.spill(ctx, []byte(whole))
		if err != nil {
			// The effect happened: losing the middle of its text must not turn
			// it into a failure.
			out.Text += "\n[the whole output was not kept: " + clip(err.Error(), maxQuoted) + "]"
			return res, nil
		}
		out.Spill = h
	}
	return res, nil
}

// HeadTail keeps the beginning and the end of s, at most limit bytes with the
// note between them, cut at line ends where one is near. It returns how many
// bytes were left out, 0 when s fits.
func HeadTail(s string, limit int) (text string, left int) {
	if len(s) <= limit {
		return s, 0
	}
	const note = 48 // bytes the note needs at most
	room := max(limit-note, 0)
	headRoom := room * 2 / 3
	tailRoom := room - headRoom
	head := s[:floor(s, headRoom)]
	if i := strings.LastIndexByte(head, '\n'); i >= len(head)*3/4 {
		head = head[:i+1]
	}
	tail := s[ceil(s, len(s)-tailRoom):]
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/4 {
		tail = tail[i+1:]
	}
	left = len(s) - len(head) - len(tail)
	sep := ""
	if head != "" && !strings.HasSuffix(head, "\n") {
		sep = "\n"
	}
	return fmt.Sprintf("%s%s… %d bytes left out …\n%s", head, sep, left, tail), left
}

// clip shortens s to at most n bytes at a rune boundary, visibly.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:floor(s, n-len("…"))] + "…"
}

// quote shows a value of the model in a message, short and on one line.
func quote(s string) string { return fmt.Sprintf("%q", clip(s, maxQuoted)) }

// floor moves i down, ceil moves it up, to the start of a rune.
func floor(s string, i int) int {
	i = max(0, min(i, len(s)))
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

func ceil(s string, i int) int {
	i = max(0, min(i, len(s)))
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}
