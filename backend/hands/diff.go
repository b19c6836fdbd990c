package hands

import (
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"worksite/backend/hands/textfile"
)

// Difference is a whole unified diff with its line counts.
type Difference struct {
	Text           string
	Added, Removed int
}

// Diff compares two states of a file; before is nil when it did not exist. The
// diff is whole, however long. Encoded text is shown decoded; a change that text
// cannot show (line endings, byte order mark, binary) is said in a line of its own.
func Diff(path string, before, after []byte) Difference {
	old, new := textfile.Decode(before), textfile.Decode(after)
	from, to := "a/"+path, "b/"+path
	if before == nil {
		from = "/dev/null"
	}
	if old.Binary || new.Binary {
		return Difference{Text: fmt.Sprintf("--- %s\n+++ %s\nBinary file, %d bytes before and %d bytes after\n", from, to, len(before), len(after))}
	}
	d := Difference{Text: udiff.Unified(from, to, old.Text, new.Text)}
	if d.Text == "" {
		d.Text = fmt.Sprintf("--- %s\n+++ %s\n", from, to)
	}
	if before != nil && len(before) > 0 && old.Form() != new.Form() {
		d.Text += fmt.Sprintf("\\ was %s, becomes %s\n", old.Form(), new.Form())
	}
	body := false
	for line := range strings.Lines(d.Text) {
		switch {
		case strings.HasPrefix(line, "@@"):
			body = true
		case !body:
		case line[0] == '+':
			d.Added++
		case line[0] == '-':
			d.Removed++
		}
	}
	return d
}

// Summary is the short form of a row: "+14 −3".
func (d Difference) Summary() string { return fmt.Sprintf("+%d −%d", d.Added, d.Removed) }
