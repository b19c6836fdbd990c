package main

import (
	"archive/tar"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The vectors are signed by this key, so that a test may play the signer who
// means harm: whoever signs can write any manifest at all.
var signer = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// resign reads an export, lets change edit its members and its statement, and
// writes it again with true digests and a true signature.
func resign(t *testing.T, from string, change func(parts map[string]string, statement string) string) []byte {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	var names []string
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		content, err2 := io.ReadAll(r)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		names, parts[h.Name] = append(names, h.Name), string(content)
	}
	var e struct{ PayloadType, Payload string }
	if err := json.Unmarshal([]byte(parts["manifest.dsse.json"]), &e); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	old := map[string]string{}
	for name, content := range parts {
		old[name] = digest(content)
	}
	statement := change(parts, string(payload))
	for name, content := range parts {
		statement = strings.ReplaceAll(statement, old[name], digest(content))
	}
	signed := ed25519.Sign(signer, fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(statement), statement))
	id := sha256.Sum256(signer.Public().(ed25519.PublicKey))
	parts["manifest.dsse.json"] = fmt.Sprintf(`{"payloadType":%q,"payload":%q,"signatures":[{"keyid":"cell_%s","sig":%q}]}`+"\n", e.PayloadType,
		base64.StdEncoding.EncodeToString([]byte(statement)), hex.EncodeToString(id[:])[:26], base64.StdEncoding.EncodeToString(signed))
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(parts[name])), Mode: 0o444, Format: tar.FormatUSTAR})
		_, err2 := io.WriteString(w, parts[name])
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// R64, R76: a signer who means harm cannot make the two implementations disagree
// by a spelling that parsers take differently, nor hide what is wrong with an event.
func TestBothAgreeOnWhatASignerCouldWrite(t *testing.T) {
	in := func(old, with string) func(map[string]string, string) string {
		return func(_ map[string]string, s string) string {
			if !strings.Contains(s, old) {
				t.Fatalf("the statement has no %s", old)
			}
			return strings.Replace(s, old, with, 1)
		}
	}
	part := func(name, old, with string) func(map[string]string, string) string {
		return func(parts map[string]string, s string) string {
			if !strings.Contains(parts[name], old) {
				t.Fatalf("%s has no %s", name, old)
			}
			parts[name] = strings.Replace(parts[name], old, with, 1)
			return s
		}
	}
	cases := []struct {
		name   string
		change func(map[string]string, string) string
		ok     bool
		member string
	}{
		{"unchanged", func(_ map[string]string, s string) string { return s }, true, ""},
		{"another product", in("Worksite vector", "Worksite <&> 2"), true, ""},
		{"null for a list", in(`"absent":[]`, `"absent":null`), false, "manifest.dsse.json"},
		{"null for a number", in(`"first":1`, `"first":null`), false, "manifest.dsse.json"},
		{"null in a list", in(`"positions":[]`, `"positions":[null]`), false, "manifest.dsse.json"},
		{"true for a number", in(`"first":1`, `"first":true`), false, "manifest.dsse.json"},
		{"a fraction", in(`"first":1`, `"first":1.0`), false, "manifest.dsse.json"},
		{"an exponent", in(`"first":1`, `"first":1e0`), false, "manifest.dsse.json"},
		{"minus zero", in(`"first":1`, `"first":-0`), false, "manifest.dsse.json"},
		{"too large a number", in(`"last":12`, `"last":9223372036854775808`), false, "manifest.dsse.json"},
		{"not a number", in(`"last":12`, `"last":NaN`), false, "manifest.dsse.json"},
		{"a key in capitals", in(`"product"`, `"Product"`), false, "manifest.dsse.json"},
		{"a key twice", in(`"product"`, `"product":"a","product"`), false, "manifest.dsse.json"},
		{"a key more", in(`"product"`, `"more":1,"product"`), false, "manifest.dsse.json"},
		{"keys in another order", in(`"first":1,"last":12`, `"last":12,"first":1`), false, "manifest.dsse.json"},
		{"an escape", in("Worksite vector", `Worksite \u0076ector`), false, "manifest.dsse.json"},
		{"not ASCII", in("Worksite vector", "Worksite\u2028vector"), false, "manifest.dsse.json"},
		{"broken UTF-8", in("Worksite vector", "Worksite\xffvector"), false, "manifest.dsse.json"},
		{"deep nesting", in(`"absent":[]`, `"absent":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)), false, "manifest.dsse.json"},
		{"a longer session", in(`"last":12`, `"last":13`), false, "events.ndjson"},
		{"a shorter session", in(`"last":12`, `"last":11`), false, "events.ndjson"},
		{"a later beginning", in(`"first":1`, `"first":2`), false, "events.ndjson"},
		{"another session", in(`"id":"ses_`, `"id":"ses_X`), false, "events.ndjson"},
		{"a session without events", in(`"sessions":[`, `"sessions":[{"id":"ses_X","first":1,"last":0},`), true, ""},
		{"no sessions", func(_ map[string]string, s string) string {
			lead, rest, _ := strings.Cut(s, `"sessions":[`)
			return lead + `"sessions":[]` + rest[strings.Index(rest, "]")+1:]
		}, false, "events.ndjson"},
		{"other counts", in(`"events":12`, `"events":11`), false, "proofs.json"},
		{"an unused redaction", in(`"positions":[]`, `"positions":[99]`), false, "manifest.dsse.json"},
		{"a redaction twice", in(`"positions":[]`, `"positions":[99,99]`), false, "manifest.dsse.json"},
		{"another log", in(`"size":28`, `"size":27`), false, "checkpoint.txt"},
		{"no subjects", func(_ map[string]string, s string) string {
			lead, rest, _ := strings.Cut(s, `"subject":[`)
			return lead + `"subject":[` + rest[strings.Index(rest, `],"predicateType"`):]
		}, false, "manifest.dsse.json"},
		{"a kind changed", part("events.ndjson", `"kind":"run.finished"`, `"kind":"run.continued"`), false, "events.ndjson"},
		{"a name with a space", part("events.ndjson", `"kind":"run.finished"`, `"kind":"run finished"`), false, "events.ndjson"},
		{"an empty line", part("events.ndjson", "\n", "\n\n"), false, "events.ndjson"},
		{"a carriage return", part("events.ndjson", "\n", "\r\n"), false, "events.ndjson"},
		{"an event twice", func(parts map[string]string, s string) string {
			first, _, _ := strings.Cut(parts["events.ndjson"], "\n")
			parts["events.ndjson"] = first + "\n" + parts["events.ndjson"]
			return s
		}, false, "events.ndjson"},
		{"no events", func(parts map[string]string, s string) string { parts["events.ndjson"] = ""; return s }, false, "events.ndjson"},
		{"a last line without an end", func(parts map[string]string, s string) string {
			parts["events.ndjson"] = strings.TrimSuffix(parts["events.ndjson"], "\n")
			return s
		}, false, "events.ndjson"},
		{"no proofs", func(parts map[string]string, s string) string {
			parts["proofs.json"] = `{"events":[],"since":[]}` + "\n"
			return s
		}, false, "proofs.json"},
		{"no path", part("proofs.json", `"path":[`, `"path":[],"x":[`), false, "proofs.json"},
		{"a path too long", part("proofs.json", `"path":[`, `"path":["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",`), false, "proofs.json"},
		{"a loose base 64", part("proofs.json", `"path":[`, `"path":["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",`), false, "proofs.json"},
		{"a proof more", func(parts map[string]string, s string) string {
			parts["proofs.json"] = strings.Replace(parts["proofs.json"], `],"since"`, `,{"pos":99,"path":[]}],"since"`, 1)
			return s
		}, false, "proofs.json"},
		{"an earlier head of nothing", part("since.txt", "\n14\n", "\n0\n"), false, "since.txt"},
		{"an earlier head with a plus", part("since.txt", "\n14\n", "\n+14\n"), false, "since.txt"},
		{"a head with a second signature", part("checkpoint.txt", "— ", "— other AAAAAAAA\n— "), false, "checkpoint.txt"},
		{"upper case", func(parts map[string]string, s string) string {
			parts["keys.json"] = strings.Replace(parts["keys.json"], "ea4a", "EA4A", 1)
			return s
		}, false, "keys.json"},
	}
	dir := t.TempDir()
	var files []string
	for i, c := range cases {
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(file, resign(t, "testdata/good.worksite.tar", c.change), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	python := inPython(t, "", files...)
	for i, c := range cases {
		v := inGo(t, "", files[i])
		if v.OK != c.ok || !c.ok && v.Bad.Member != c.member {
			t.Errorf("%s: %v", c.name, v.Bad)
		}
		if !reflect.DeepEqual(v, python[i]) {
			t.Errorf("%s:\nGo     %+v %v\nPython %+v %v", c.name, v, v.Bad, python[i], python[i].Bad)
		}
	}
}
