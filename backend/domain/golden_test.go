package domain_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"worksite/backend/domain"
)

// Every kind has a golden payload that must decode, and encode to the same
// canonical bytes, for ever. A file is never changed once it is released: a field
// that is added later gets a new file, KIND@N.json, beside the old one.

var update = flag.Bool("update", false, "write golden files that are missing; existing ones are never touched")

const goldenDir = "testdata/events"

func TestGoldenEvents(t *testing.T) {
	if *update {
		writeMissing(t)
	}
	files, err := filepath.Glob(filepath.Join(goldenDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[domain.Kind]bool{}
	for _, file := range files {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "@")
		kind := domain.Kind(name)
		have[kind] = true
		t.Run(filepath.Base(file), func(t *testing.T) { checkGolden(t, kind, file) })
	}
	for kind := range domain.Kinds() {
		if !have[kind] {
			t.Errorf("%s has no golden file: add a sample of it and run the test with -update", kind)
		}
	}
}

func checkGolden(t *testing.T, kind domain.Kind, file string) {
	t.Helper()
	typ, ok := domain.Kinds()[kind]
	if !ok {
		t.Fatalf("there is no kind %s any more: a kind that was once written must decode for ever", kind)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.New(typ)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v.Interface()); err != nil {
		t.Fatalf("does not decode any more: %v", err)
	}
	again, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := canonical(t, again), canonical(t, raw); !bytes.Equal(got, want) {
		t.Errorf("encodes differently now:\n got %s\nwant %s", got, want)
	}
	if p, err := domain.DecodePayload(kind, raw); err != nil || p.Kind() != kind || !reflect.DeepEqual(p, v.Elem().Interface()) {
		t.Errorf("DecodePayload gives %#v, %v", p, err)
	}
	if version := v.Elem().FieldByName("V").Int(); version < 1 {
		t.Errorf("states version %d", version)
	}
}

// canonical sorts keys and drops white space (RFC 8785 for what payloads hold:
// texts, booleans and whole numbers).
func canonical(t *testing.T, raw []byte) []byte {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(out.Bytes())
}

// writeMissing writes a golden file for every sample that has none.
func writeMissing(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(goldenDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range samples() {
		file := filepath.Join(goldenDir, string(p.Kind())+".json")
		if _, err := os.Stat(file); err == nil {
			continue
		}
		var raw bytes.Buffer
		enc := json.NewEncoder(&raw)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(p); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, raw.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A sample that leaves a field empty would not notice when that field changes.
func TestSamplesAreFull(t *testing.T) {
	for _, p := range samples() {
		for _, path := range empty(reflect.ValueOf(p), string(p.Kind())) {
			t.Errorf("%s is empty in its sample", path)
		}
	}
}

func empty(v reflect.Value, path string) []string {
	if v.IsZero() {
		return []string{path}
	}
	var out []string
	switch v.Kind() {
	case reflect.Pointer:
		return empty(v.Elem(), path)
	case reflect.Struct:
		if v.Type().String() == "time.Time" {
			return nil
		}
		for i := range v.NumField() {
			out = append(out, empty(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			return []string{path}
		}
		return empty(v.Index(0), path+"[0]")
	default: // not zero is all there is to it
	}
	return out
}
