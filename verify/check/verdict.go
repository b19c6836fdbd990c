package check

import (
	"fmt"
	"strings"
)

type (
	// Verdict is what a check found. Its counts say how far it came.
	Verdict struct {
		OK       bool   `json:"ok"`
		Bad      *Flaw  `json:"bad,omitempty"` // the first thing that does not hold
		Product  string `json:"product"`       // that wrote the export, by its own word
		Cell     string `json:"cell"`          // that signed the manifest and the head
		KeyGiven bool   `json:"keyGiven"`      // the key came from the caller and not from the file
		Size     int64  `json:"size"`          // events in the log that the head signs
		Root     string `json:"root"`          // of that log, 64 hexadecimal digits
		Since    int64  `json:"since"`         // size of the earlier head that the log continues; 0: none in the file
		Sessions int    `json:"sessions"`
		Events   int64  `json:"events"`   // checked: chain, hashes, signature, place in the log
		Redacted int64  `json:"redacted"` // of these, without content: header checked, content not shown
		Blobs    int    `json:"blobs"`    // checked against their names
		Absent   int    `json:"absent"`   // blobs that events name and the exporting machine no longer had
		// Recorded counts, by kind of event, what came from models and tools. It was
		// compared with the record only: ReExecuted is always 0.
		Recorded   map[string]int64 `json:"recorded"`
		ReExecuted int64            `json:"reExecuted"`
	}
	// Flaw is one thing that does not hold, with its place: a line and a position in
	// the log for an event, an offset in the file for the archive itself.
	Flaw struct {
		Member string `json:"member,omitempty"`
		Line   int64  `json:"line,omitempty"` // of events.ndjson, from 1
		Pos    int64  `json:"pos,omitempty"`  // in the log, from 1, as the line has it
		Offset int64  `json:"offset,omitempty"`
		What   string `json:"what"`
	}
)

// Error implements error.
func (f *Flaw) Error() string {
	switch {
	case f.Line > 0:
		return fmt.Sprintf("%s at event %d (position %d of the log): %s", f.Member, f.Line, f.Pos, f.What)
	case f.Offset > 0 || f.Member == "":
		return fmt.Sprintf("byte %d %s: %s", f.Offset, f.Member, f.What)
	}
	return f.Member + ": " + f.What
}

// outside are the kinds of event whose content came from a model or a tool.
var outside = []string{"message.completed", "tool_call.completed", "tool_call.failed"}

// String is the verdict in words, with what it does not say.
func (v Verdict) String() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if v.Bad != nil {
		say("The export does not hold. First: %v", v.Bad)
		say("%d events before that were checked.", v.Events)
		return b.String()
	}
	say("Everything holds: %d events in %d session(s), written by %s.", v.Events, v.Sessions, v.Product)
	say("Checked: each event's payload, header, chain, signature and place in the log; %d blob(s); the manifest; the head.", v.Blobs)
	if v.Redacted+int64(v.Absent) > 0 {
		say("Not shown: the content of %d redacted events (their headers were checked); %d blob(s) that were gone when this was written.", v.Redacted, v.Absent)
	}
	say("Re-executed: nothing. Only compared with the record: %d answers of models, %d results of tools.",
		v.Recorded[outside[0]], v.Recorded[outside[1]]+v.Recorded[outside[2]])
	say("Head: %d events, root %s, signed by %s.", v.Size, v.Root, v.Cell)
	if v.Since > 0 {
		say("Continues: the log whose head, in since.txt, had %d events. Nothing of it was changed.", v.Since)
	}
	if !v.KeyGiven {
		say("Key: the one in the file. Anybody could have made this file, unless you give the key that you know with --key.")
	}
	say("Limit: a local key signs a local log. Who had the machine could have written and signed another one,")
	say("unless this head, or an earlier one that it continues, had left the machine: compare it with the one you received then.")
	return b.String()
}
