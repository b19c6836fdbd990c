package hands

import (
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"worksite/backend/hands/textfile"
	"worksite/backend/workspace/diff"
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
	var b strings.Builder
	if before == nil {
		fmt.Fprintf(&b, "--- /dev/null\n+++ b/%s\n", path)
	} else {
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", path, path)
	}
	if old.Binary || new.Binary {
		fmt.Fprintf(&b, "Binary file, %d bytes before and %d bytes after\n", len(before), len(after))
		return Difference{Text: b.String()}
	}
	var d Difference
	// The same comparison as in the review pane, so that both show the same lines.
	f := diff.Compare(path, []byte(old.Text), []byte(new.Text))
	if f.TooBig || f.Binary {
		d.unified(&b, old.Text, new.Text)
	} else {
		d.Added, d.Removed = f.Added, f.Removed
		for _, h := range f.Hunks {
			hunk(&b, h)
		}
	}
	if len(before) > 0 && old.Form() != new.Form() {
		fmt.Fprintf(&b, "\\ was %s, becomes %s\n", old.Form(), new.Form())
	}
	d.Text = b.String()
	return d
}

func hunk(b *strings.Builder, h diff.Hunk) {
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
	if h.Section != "" {
		b.WriteString(" " + h.Section)
	}
	b.WriteByte('\n')
	for _, l := range h.Lines {
		b.WriteString(l.Op + l.Text + "\n")
		if l.NoNL {
			b.WriteString("\\ No newline at end of file\n")
		}
	}
}

// unified writes the diff of texts that are too large to be cut into hunks.
func (d *Difference) unified(b *strings.Builder, old, new string) {
	body := udiff.Unified("", "", old, new)
	if i := strings.Index(body, "\n@@"); i >= 0 {
		body = body[i+1:]
	}
	for line := range strings.Lines(body) {
		switch line[0] {
		case '+':
			d.Added++
		case '-':
			d.Removed++
		}
	}
	b.WriteString(body)
}

// Summary is the short form of a row: "+14 −3".
func (d Difference) Summary() string { return fmt.Sprintf("+%d −%d", d.Added, d.Removed) }
