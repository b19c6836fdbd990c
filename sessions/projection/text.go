package projection

import (
	"slices"
	"strings"
	"unicode"

	"worksite/backend/domain"
)

// snippetRunes is the length of a snippet, without the marks of what was cut.
const snippetRunes = 160

// Text returns what a search looks at in a payload, "" for most kinds.
func Text(p domain.Payload) string {
	switch p := p.(type) {
	case domain.MessageSent:
		return p.Text
	case domain.MessageCompleted:
		return p.Text
	}
	return ""
}

// Fold makes text comparable without regard to case, rune by rune, so that a
// rune of the folded text is the rune at the same place of the original.
func Fold(text string) string {
	return strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, text)
}

// Words splits a query into what must all occur, folded.
func Words(query string) []string { return strings.Fields(Fold(query)) }

// Matches reports whether text has every one of words, which are folded.
func Matches(text string, words []string) bool {
	text = Fold(text)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// Snippet cuts a piece of text around the first of words that occurs, on one line.
func Snippet(text string, words []string) string {
	runes := []rune(text)
	at := 0
	folded := Fold(text)
	for _, w := range words {
		if i := strings.Index(folded, w); i >= 0 {
			at = len([]rune(folded[:i]))
			break
		}
	}
	start := max(0, at-snippetRunes/4)
	end := min(len(runes), start+snippetRunes)
	start = max(0, min(start, end-snippetRunes))
	out := strings.Join(strings.FieldsFunc(string(runes[start:end]), unicode.IsSpace), " ")
	if start > 0 {
		out = "… " + out
	}
	if end < len(runes) {
		out += " …"
	}
	return out
}
