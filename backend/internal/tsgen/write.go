package main

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const head = `// Written by backend/internal/tsgen from backend/domain and backend/service/views.go. Do not edit.

`

// These two are rendered as the union of all events.
const (
	event     = "domain.Event"
	eventKind = "domain.Kind"
)

// write renders everything that the events and views reach.
func (s *source) write() ([]byte, error) {
	used, err := s.reach()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(head)
	s.writeNames(&b, used)
	s.writeStructs(&b, used)
	if err := s.writeEvents(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// reach returns the types that a payload or a view refers to, directly or not.
func (s *source) reach() (map[string]bool, error) {
	used := map[string]bool{}
	byName := map[string]string{} // the page knows no packages
	var visit func(full, from string) error
	visit = func(full, from string) error {
		if used[full] {
			return nil
		}
		d := s.types[full]
		if d == nil {
			return fmt.Errorf("%s refers to %s, which is in none of the files read", from, full)
		}
		if d.err != nil {
			return d.err
		}
		if other, twice := byName[d.name]; twice {
			return fmt.Errorf("%s and %s cross to the page under one name", other, full)
		}
		byName[d.name] = full
		used[full] = true
		for _, f := range d.fields {
			for _, ref := range f.refs {
				if err := visit(ref, full); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, k := range s.kinds {
		if err := visit("domain."+k.payload, "kind "+k.name); err != nil {
			return nil, err
		}
	}
	for _, full := range s.order {
		if s.types[full].root {
			if err := visit(full, full); err != nil {
				return nil, err
			}
		}
	}
	if err := visit(event, "the stream"); err != nil {
		return nil, err
	}
	return used, nil
}

// writeNames renders the string types: plain names first, then the closed sets.
func (s *source) writeNames(b *bytes.Buffer, used map[string]bool) {
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		return strings.Compare(s.types[a].name, s.types[b].name)
	})
	for _, full := range names {
		d := s.types[full]
		if full != eventKind && (d.known != "" || d.text && len(d.values) == 0) {
			doc(b, "", d.doc)
			fmt.Fprintf(b, "export type %s = string;\n", d.name)
		}
	}
	b.WriteString("/** RFC 3339. */\nexport type Time = string;\n\n")
	for _, full := range names {
		d := s.types[full]
		if d.text && len(d.values) > 0 {
			doc(b, "", d.doc)
			quoted := make([]string, len(d.values))
			for i, v := range d.values {
				quoted[i] = quote(v)
			}
			fmt.Fprintf(b, "export type %s = %s;\n", d.name, strings.Join(quoted, " | "))
		}
	}
}

func (s *source) writeStructs(b *bytes.Buffer, used map[string]bool) {
	for _, full := range s.order {
		d := s.types[full]
		if !used[full] || d.text || d.known != "" || full == event {
			continue
		}
		b.WriteByte('\n')
		doc(b, "", d.doc)
		fmt.Fprintf(b, "export interface %s {\n", d.name)
		writeFields(b, d.fields)
		b.WriteString("}\n")
	}
}

func writeFields(b *bytes.Buffer, fields []field) {
	for _, f := range fields {
		doc(b, "  ", f.doc)
		mark := ""
		if f.optional {
			mark = "?"
		}
		fmt.Fprintf(b, "  %s%s: %s;\n", key(f.name), mark, f.ts)
	}
}

// writeEvents renders the union of all events: `kind` tells them apart and types `payload`.
func (s *source) writeEvents(b *bytes.Buffer) error {
	if len(s.kinds) == 0 {
		return fmt.Errorf("no kinds of events were found")
	}
	b.WriteString("\n/** The payload of every kind of event. */\nexport interface EventPayloads {\n")
	for _, k := range s.kinds {
		fmt.Fprintf(b, "  %s: %s;\n", quote(k.name), k.payload)
	}
	b.WriteString("}\n\nexport type Kind = keyof EventPayloads;\n\n")
	b.WriteString("/** What every event has, whatever its kind. */\nexport interface EventHead {\n")
	fields := s.types[event].fields
	head := slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return f.name == "kind" || f.name == "payload" })
	if len(head) != len(fields)-2 {
		return fmt.Errorf("the type Event must have the fields kind and payload")
	}
	writeFields(b, head)
	b.WriteString(`}

/** One event of kind K with its payload. */
export type EventOf<K extends Kind> = EventHead & { kind: K; payload: EventPayloads[K] };

/** Any event: tell them apart by ` + "`kind`" + `. */
export type Event = { [K in Kind]: EventOf<K> }[Kind];
`)
	return nil
}

func doc(b *bytes.Buffer, indent, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s/** %s */\n", indent, text)
	}
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

func key(s string) string {
	if plainKey.MatchString(s) {
		return s
	}
	return quote(s)
}
