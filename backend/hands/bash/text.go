package bash

import (
	"fmt"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/hands"
)

// Entries that one line of remarks names.
const (
	maxFiles   = 12
	maxPlanted = 8
)

// text is what the model reads: the output, then remarks in square brackets.
func text(r Result, files []domain.FileImage, planted, notes []string, timeout time.Duration) string {
	var b strings.Builder
	b.WriteString(r.Text)
	if r.Text == "" {
		b.WriteString("(no output)\n")
	} else if !strings.HasSuffix(r.Text, "\n") {
		b.WriteByte('\n')
	}
	switch {
	case r.TimedOut:
		fmt.Fprintf(&b, "[stopped after its time limit of %s, with all it had started]\n", timeout)
	case r.Cancelled:
		b.WriteString("[cancelled; it was stopped with all it had started]\n")
	case r.Report.KilledBy != "":
		fmt.Fprintf(&b, "[stopped: %s limit]\n", r.Report.KilledBy)
	}
	if r.Signal != "" {
		fmt.Fprintf(&b, "[ended by %s]\n", r.Signal)
	} else {
		fmt.Fprintf(&b, "[exit code %d]\n", r.Code)
	}
	if n := max(len(r.Left), r.Report.Left); n > 0 && !r.TimedOut && !r.Cancelled {
		fmt.Fprintf(&b, "[%s left behind in the background, stopped%s]\n", hands.Plural(n, "process"), names(r.Left, maxFiles))
	}
	if len(files) > 0 {
		paths := make([]string, len(files))
		for i, f := range files {
			paths[i] = mark(f) + f.Path
		}
		fmt.Fprintf(&b, "[changed%s]\n", names(paths, maxFiles))
	}
	if len(planted) > 0 {
		fmt.Fprintf(&b, "[would act on the person's machine later%s]\n", names(planted, maxPlanted))
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "[%s]\n", n)
	}
	return b.String()
}

// mark tells new and deleted files from changed ones.
func mark(f domain.FileImage) string {
	switch {
	case f.Pre.IsZero():
		return "+"
	case f.Post.IsZero():
		return "-"
	}
	return ""
}

func names(all []string, most int) string {
	if len(all) == 0 {
		return ""
	}
	s := ": " + strings.Join(all[:min(len(all), most)], ", ")
	if n := len(all) - most; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}

// summary is the short form of the row, for the person.
func summary(r Result, files []domain.FileImage, planted []string) string {
	var parts []string
	switch {
	case r.TimedOut:
		parts = append(parts, "timed out")
	case r.Cancelled:
		parts = append(parts, "cancelled")
	case r.Signal != "":
		parts = append(parts, r.Signal)
	default:
		parts = append(parts, fmt.Sprintf("exit %d", r.Code))
	}
	if len(files) > 0 {
		parts = append(parts, hands.Plural(len(files), "file")+" changed")
	}
	if len(planted) > 0 {
		parts = append(parts, "look at "+pathOf(planted[0]))
		if n := len(planted) - 1; n > 0 {
			parts[len(parts)-1] += fmt.Sprintf(" and %d more", n)
		}
	}
	return strings.Join(parts, " · ")
}

func pathOf(planted string) string {
	p, _, _ := strings.Cut(planted, ": ")
	return p
}
