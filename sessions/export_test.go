package sessions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/sessions"
)

func export(t *testing.T, s *sessions.Store, id domain.SessionID) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.Export(t.Context(), id, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func body(exported []byte) string {
	_, rest, _ := bytes.Cut(exported, []byte("\n"))
	return string(rest)
}

// R19: export, import elsewhere, export again: the same bytes apart from the header.
func TestExportImportExport(t *testing.T) {
	dir, ids := filled(t)
	here, there := openStore(t, dir), openStore(t, t.TempDir())
	newSession(t, there) // so that positions differ
	add(t, here, ids[0], domain.MessageSent{V: 1, MessageID: "msg_x", Text: "<b> & \u2028 \x00 \"quoted\" ü"})
	first := export(t, here, ids[0])
	id, err := there.Import(t.Context(), bytes.NewReader(first))
	if err != nil || id != ids[0] {
		t.Fatal(id, err)
	}
	second := export(t, there, id)
	if body(first) != body(second) {
		t.Errorf("the lines differ:\n%s\n%s", body(first), body(second))
	}
	a, err := here.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	b, err := there.View(t.Context(), id)
	if err != nil || text(t, a) != text(t, b) {
		t.Errorf("here %+v\nthere %+v %v", a, b, err)
	}
	if r, err := there.Verify(t.Context(), ""); err != nil || !r.OK() || r.Cells != 2 {
		t.Errorf("%+v %v %v", r, r.Bad, err)
	}
	add(t, there, id, domain.SessionRenamed{V: 1, Title: "goes on here"})
	third := openStore(t, t.TempDir())
	if _, err := third.Import(t.Context(), bytes.NewReader(export(t, there, id))); err != nil {
		t.Errorf("a session that two cells wrote: %v", err)
	}
	_, err = there.Import(t.Context(), bytes.NewReader(first))
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("imported twice: %v", err)
	}
	if err := third.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err = third.Import(t.Context(), bytes.NewReader(first)); domain.CodeOf(err) != domain.CodeConflict || domain.HintOf(err) == "" {
		t.Errorf("imported after deletion: %v", err)
	}
	if hits, err := there.Search(t.Context(), "quoted", 0); err != nil || len(hits) != 1 {
		t.Errorf("search after import: %v %v", hits, err)
	}
}

// The lines of an export carry every field of an event but its position.
func TestExportLinesAreWholeEvents(t *testing.T) {
	dir, ids := filled(t)
	s := openStore(t, dir)
	events, err := s.Read(t.Context(), ids[0], domain.Span{})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(body(export(t, s, ids[0])), "\n"), "\n")
	if len(lines) != len(events) {
		t.Fatalf("%d lines of %d events", len(lines), len(events))
	}
	for i, line := range lines {
		var e domain.Event
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		e.Pos = events[i].Pos
		if !reflect.DeepEqual(e, events[i]) {
			t.Errorf("line %d:\n%+v\nevent\n%+v", i+1, e, events[i])
		}
	}
}

// R19, R64: a file that was touched anywhere is refused, naming the first bad event.
func TestImportRefusesDamage(t *testing.T) {
	dir, ids := filled(t)
	s, target := openStore(t, dir), openStore(t, t.TempDir())
	whole := export(t, s, ids[0])
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	join := func(l ...[]byte) []byte { return bytes.Join(l, nil) }
	swap := func(old, new string) func([]byte) []byte {
		return func(line []byte) []byte { return bytes.Replace(line, []byte(old), []byte(new), 1) }
	}
	with := func(n int, change func([]byte) []byte) []byte {
		out := append([][]byte(nil), lines...)
		out[n] = change(append([]byte(nil), out[n]...))
		if bytes.Equal(out[n], lines[n]) {
			t.Fatalf("the change of line %d changes nothing", n)
		}
		return join(out...)
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "empty"},
		{"another file", []byte("hello\n"), "not an exported session"},
		{"newer", with(0, swap(`"version":1`, `"version":2`)), "version 2"},
		{"text changed", with(3, swap("I look", "I took")), "event 3"},
		{"kind changed", with(4, swap("tool_call.requested", "tool_call.refused")), "event 4"},
		{"line missing", join(append(append([][]byte(nil), lines[:5]...), lines[6:]...)...), "event 5"},
		{"lines swapped", join(append(append(append([][]byte(nil), lines[:5]...), lines[6], lines[5]), lines[7:]...)...), "event 5"},
		{"line twice", join(append(append([][]byte(nil), lines[:6]...), lines[5:]...)...), "event 6"},
		{"cut", join(lines[:10]...), "event 10"},
		{"cut in a line", whole[:len(whole)-10], fmt.Sprintf("event %d", len(lines)-1)},
		{"no events", lines[0], "event 1"},
		{"cut with the header adapted", join(append([][]byte{swap(fmt.Sprintf(`"events":%d`, len(lines)-1), `"events":5`)(append([]byte(nil), lines[0]...))}, lines[1:6]...)...), "event 6"},
		{"key of another", with(0, func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"publicKey":"`), []byte(`"publicKey":"00`), 1)
		}), "header"},
		{"checkpoint of another size", with(0, swap(`\n`+fmt.Sprint(checkpointSize(t, lines[0]))+`\n`, `\n7\n`)), "checkpoint"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := target.Import(t.Context(), bytes.NewReader(c.file))
			if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	for i := 1; i < len(lines); i++ { // any byte of a line
		for _, at := range []int{12, len(lines[i]) / 3, len(lines[i]) / 2, len(lines[i]) - 5} {
			file := with(i, func(line []byte) []byte { line[at] ^= 1; return line })
			if _, err := target.Import(t.Context(), bytes.NewReader(file)); err == nil {
				t.Fatalf("byte %d of line %d was changed unnoticed", at, i)
			} else if !strings.Contains(err.Error(), fmt.Sprintf("event %d", i)) {
				t.Errorf("byte %d of line %d: %v", at, i, err)
			}
		}
	}
	if last, err := target.LastPos(t.Context()); err != nil || last != 0 {
		t.Errorf("refused imports left %d events (%v)", last, err)
	}
	if _, err := target.Import(t.Context(), bytes.NewReader(whole)); err != nil {
		t.Error(err)
	}
}

func checkpointSize(t *testing.T, header []byte) int64 {
	t.Helper()
	var h sessions.ExportHeader
	if err := json.Unmarshal(header, &h); err != nil {
		t.Fatal(err)
	}
	var size int64
	if _, err := fmt.Sscanf(strings.Split(h.Checkpoint, "\n")[1], "%d", &size); err != nil {
		t.Fatal(err)
	}
	return size
}
