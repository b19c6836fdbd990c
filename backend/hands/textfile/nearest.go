package textfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Candidate is a place in a file that comes close to a text that was not found.
type Candidate struct {
	First, Last int    // lines, 1-based
	Differs     string // what differs, in words
	score       float64
}

// Limits of the search for near places: lines of the text that are compared, and
// places named.
const (
	maxCompared   = 60
	maxCandidates = 3
)

var numbered = regexp.MustCompile(`^\s*\d+[\t:|→]`)

// Nearest finds the places that come closest to old, best first, and says how
// they differ: only in spacing, only in quotes or dashes, or from which line on.
func (f File) Nearest(old string) []Candidate {
	want := lines(old)
	if len(want) == 0 {
		return nil
	}
	have := lines(f.Text)
	if all(want, numbered.MatchString) {
		stripped := slices.Clone(want)
		for i, l := range stripped {
			stripped[i] = l[len(numbered.FindString(l)):]
		}
		if c := exactly(have, stripped); c != nil {
			c.Differs = "old_string begins its lines with line numbers; leave them out"
			return []Candidate{*c}
		}
	}
	if len(want) > maxCompared {
		want = want[:maxCompared]
	}
	haveLoose, wantLoose := loosen(have), loosen(want)
	var out []Candidate
	for i := range haveLoose {
		score := 0.0
		for k, w := range wantLoose {
			if i+k < len(haveLoose) {
				score += likeness(haveLoose[i+k], w, 2*score >= float64(k))
			}
		}
		score /= float64(len(wantLoose))
		if score < 0.6 {
			continue
		}
		out = append(out, Candidate{First: i + 1, Last: min(i+len(want), len(have)), score: score})
	}
	slices.SortStableFunc(out, func(a, b Candidate) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	out = out[:min(len(out), maxCandidates)]
	for i := range out {
		out[i].Differs = differs(have[out[i].First-1:out[i].Last], want, out[i].First)
	}
	return out
}

// exactly finds want as whole lines.
func exactly(have, want []string) *Candidate {
	for i := 0; i+len(want) <= len(have); i++ {
		if slices.Equal(have[i:i+len(want)], want) {
			return &Candidate{First: i + 1, Last: i + len(want)}
		}
	}
	return nil
}

// likeness is how well two loosened lines agree; the costly comparison of
// unequal lines is made only where close is worth it.
func likeness(have, want string, close bool) float64 {
	switch {
	case have == want:
		return 1
	case !close || have == "" || want == "":
		return 0
	case strings.Contains(have, want):
		return 0.95
	}
	if s := similarity(have, want); s >= 0.6 {
		return s * 0.95
	}
	return 0
}

// differs says in words how the lines of a place differ from those wanted.
func differs(have, want []string, first int) string {
	switch {
	case same(have, want, spacing):
		return firstDifference(have, want, first, "only the spacing differs")
	case same(have, want, typography):
		return firstDifference(have, want, first, "only quotes, dashes or special spaces differ")
	case same(have, want, norm.NFC.String):
		return firstDifference(have, want, first, "only the Unicode form of accented letters differs")
	}
	return firstDifference(have, want, first, "")
}

func firstDifference(have, want []string, first int, what string) string {
	for i := range want {
		if i < len(have) && have[i] == want[i] {
			continue
		}
		if i == 0 || i == len(want)-1 {
			// The first and last line of a text may be pieces of lines.
			if i < len(have) && strings.Contains(have[i], want[i]) {
				continue
			}
		}
		if what != "" {
			what += ": "
		}
		if i >= len(have) {
			return fmt.Sprintf("%sthe file ends before line %q of old_string", what, clip(want[i]))
		}
		return fmt.Sprintf("%sline %d is %q, old_string has %q", what, first+i, clip(have[i]), clip(want[i]))
	}
	if what == "" {
		return "the line breaks differ"
	}
	return what
}

func same(have, want []string, f func(string) string) bool {
	if len(have) != len(want) {
		return false
	}
	for i := range want {
		h, w := f(have[i]), f(want[i])
		if h != w && !((i == 0 || i == len(want)-1) && strings.Contains(h, w)) {
			return false
		}
	}
	return true
}

// spacing removes all white space.
func spacing(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

var typographic = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "–", "-", "—", "-", "−", "-", "…", "...", "\u00A0", " ", "\u202F", " ")

func typography(s string) string { return typographic.Replace(s) }

// loosen makes lines comparable regardless of spacing, typography and Unicode form.
func loosen(in []string) []string {
	out := make([]string, len(in))
	for i, l := range in {
		out[i] = spacing(typography(norm.NFC.String(l)))
	}
	return out
}

func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		out = append(out, strings.TrimRight(l, "\r\n"))
	}
	return out
}

func all(in []string, ok func(string) bool) bool {
	for _, s := range in {
		if s != "" && !ok(s) {
			return false
		}
	}
	return true
}

func clip(s string) string {
	r := []rune(s)
	if len(r) <= 100 {
		return s
	}
	return string(r[:100]) + "…"
}

// similarity is the share of letter pairs that two texts have in common, 0 to 1.
func similarity(a, b string) float64 {
	if len(a) < 2 || len(b) < 2 || len(a) > 2*len(b)+8 || len(b) > 2*len(a)+8 {
		return 0
	}
	a, b = a[:min(len(a), 200)], b[:min(len(b), 200)]
	var pairs [1 << 12]int8
	key := func(x, y byte) int { return (int(x)*31 + int(y)) & (1<<12 - 1) }
	for i := range len(a) - 1 {
		if k := key(a[i], a[i+1]); pairs[k] < 127 {
			pairs[k]++
		}
	}
	common := 0
	for i := range len(b) - 1 {
		if k := key(b[i], b[i+1]); pairs[k] > 0 {
			pairs[k]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-2)
}
