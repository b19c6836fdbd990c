package audit_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"worksite-verify/check"

	"worksite/backend/domain"
	"worksite/sessions/audit"
)

type (
	entry struct {
		name    string
		content []byte
	}
	// vector is what verifiers in any language are tested against.
	vector struct {
		File string      `json:"file"`
		Key  string      `json:"key,omitempty"`
		OK   bool        `json:"ok"`
		Bad  *check.Flaw `json:"bad,omitempty"`
	}
)

func unpack(t testing.TB, file []byte) (out []entry) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(file)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, entry{h.Name, content})
	}
}

func pack(t testing.TB, list []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range list {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Size: int64(len(e.content)), Mode: 0o444, Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func part(t testing.TB, file []byte, name string) []byte {
	t.Helper()
	for _, e := range unpack(t, file) {
		if e.name == name {
			return e.content
		}
	}
	t.Fatalf("no member %s", name)
	return nil
}

// edit returns the file with one member changed and everything else as it was.
func edit(t testing.TB, file []byte, name string, change func([]byte) []byte) []byte {
	t.Helper()
	list := unpack(t, file)
	i := slices.IndexFunc(list, func(e entry) bool { return e.name == name })
	before := bytes.Clone(list[i].content)
	if list[i].content = change(list[i].content); bytes.Equal(before, list[i].content) {
		t.Fatalf("%s was not changed", name)
	}
	return pack(t, list)
}

// lines changes events.ndjson as lines.
func lines(t testing.TB, file []byte, change func([]string) []string) []byte {
	t.Helper()
	return edit(t, file, "events.ndjson", func(b []byte) []byte {
		return []byte(strings.Join(change(strings.SplitAfter(strings.TrimSuffix(string(b), "\n")+"\n", "\n")), ""))
	})
}

// field returns lines with the value after a key on one line put through change.
func field(line int, key string, change func(string) string) func([]string) []string {
	return func(all []string) []string {
		lead, rest, _ := strings.Cut(all[line-1], `"`+key+`":`)
		end := strings.IndexAny(rest, ",}")
		all[line-1] = lead + `"` + key + `":` + change(rest[:end]) + rest[end:]
		return all
	}
}

// twist changes one letter in the middle of a value to another that could be there.
func twist(s string) string {
	b := []byte(s)
	for i := len(b) / 2; ; i++ {
		switch {
		case b[i] == 'a':
			b[i] = 'b'
		case b[i] >= 'b' && b[i] <= 'f' || b[i] >= '1' && b[i] <= '9':
			b[i]--
		default:
			continue
		}
		return string(b)
	}
}

// makeVectors writes a good file of every sort and one for every kind of damage.
func makeVectors(t *testing.T) {
	t.Helper()
	s := ledger(t, key(7))
	id := work(t, s)
	first := export(t, s, audit.Config{Session: id, Product: "Worksite vector", Blobs: blobs})
	head, err := audit.HeadOf(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	good := export(t, s, audit.Config{Session: work(t, s), Product: "Worksite vector", Blobs: blobs, Since: head})
	redacted := export(t, s, audit.Config{Session: id, Product: "Worksite vector", Blobs: blobs, Redact: []domain.Kind{"message.sent", "tool_call.completed"}})
	forger := ledger(t, key(8))
	forged := export(t, forger, audit.Config{Session: work(t, forger), Product: "Worksite vector", Blobs: blobs})
	owner := public(s)

	bin := func(name string, content []byte, key string) vector {
		if err := os.WriteFile(filepath.Join(vectors, name+".worksite.tar"), content, 0o644); err != nil {
			t.Fatal(err)
		}
		v := verify(t, content, key)
		return vector{File: name + ".worksite.tar", Key: key, OK: v.OK, Bad: v.Bad}
	}
	mustMembers := unpack(t, good)
	swapped := slices.Clone(mustMembers)
	n := len(swapped)
	swapped[n-1].content, swapped[n-2].content = swapped[n-2].content, swapped[n-1].content
	order := slices.Clone(mustMembers)
	order[n-1], order[n-2] = order[n-2], order[n-1]
	padded := bytes.Clone(good)
	padded[len(padded)-1024-1] ^= 1
	list := []vector{
		bin("good", good, owner),
		bin("good-redacted", redacted, string(s.Cell().ID)),
		bin("payload-byte", lines(t, good, field(3, "payload", twist)), ""),
		bin("header-byte", lines(t, good, field(5, "createdAt", twist)), ""),
		bin("hash-byte", lines(t, good, field(4, "hash", twist)), ""),
		bin("signature-byte", lines(t, good, field(2, "sig", twist)), ""),
		bin("spelling", lines(t, good, field(2, "pos", func(s string) string { return " " + s })), ""),
		bin("reordered", lines(t, good, func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }), ""),
		bin("missing-middle-event", lines(t, good, func(l []string) []string { return slices.Delete(l, 5, 6) }), ""),
		bin("missing-last-event", lines(t, good, func(l []string) []string { return slices.Delete(l, len(l)-2, len(l)-1) }), ""),
		bin("unsaid-redaction", edit(t, good, "events.ndjson", func([]byte) []byte {
			return bytes.Replace(part(t, good, "events.ndjson"), cut(t, good), hidden(t, good), 1)
		}), ""),
		bin("wrong-key", edit(t, good, "keys.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte(owner), []byte(public(forger)), 1)
		}), ""),
		bin("forged", forged, owner),
		bin("bad-proof", edit(t, good, "proofs.json", swapHashes(5)), ""),
		bin("bad-consistency", edit(t, good, "proofs.json", swapSince), ""),
		bin("other-head", edit(t, good, "checkpoint.txt", func([]byte) []byte { return head }), ""),
		bin("member-swapped", pack(t, swapped), ""),
		bin("member-order", pack(t, order), ""),
		bin("member-missing", pack(t, mustMembers[:n-1]), ""),
		bin("padding", padded, ""),
		bin("truncated", good[:len(good)-700], ""),
	}
	raw, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(vectors, "vectors.json"), append(raw, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// cut is the second line of the file, hidden the same line as a redacted one.
func cut(t *testing.T, file []byte) []byte {
	t.Helper()
	return bytes.Split(part(t, file, "events.ndjson"), []byte("\n"))[1]
}

func hidden(t *testing.T, file []byte) []byte {
	t.Helper()
	l := string(cut(t, file))
	_, rest, _ := strings.Cut(l, `"payloadHash":"`)
	return []byte(l[:strings.Index(l, `,"salt"`)] + `,"redacted":"` + rest[:64] + `"}`)
}

// swapHashes exchanges the first two hashes of the nth proof.
func swapHashes(n int) func([]byte) []byte {
	return func(b []byte) []byte {
		all := strings.Split(string(b), `"path":[`)
		h := strings.SplitN(all[n], ",", 3)
		all[n] = h[1] + "," + h[0] + "," + h[2]
		return []byte(strings.Join(all, `"path":[`))
	}
}

func swapSince(b []byte) []byte {
	lead, rest, _ := strings.Cut(string(b), `"since":[`)
	h := strings.SplitN(rest, ",", 3)
	return []byte(lead + `"since":[` + h[1] + "," + h[0] + "," + h[2])
}

// R64, R65: what was once exported has the same verdict for ever, in this program
// and, by the tests of the module worksite-verify, in the one in Python.
func TestVectors(t *testing.T) {
	if *update {
		makeVectors(t)
	}
	raw, err := os.ReadFile(filepath.Join(vectors, "vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	if err := json.Unmarshal(raw, &list); err != nil || len(list) < 20 {
		t.Fatal(len(list), err)
	}
	for _, want := range list {
		v, err := check.File(filepath.Join(vectors, want.File), check.Options{Key: want.Key})
		if err != nil {
			t.Fatal(err)
		}
		if v.OK != want.OK || v.OK != (v.Bad == nil) || v.Bad != nil && *v.Bad != *want.Bad {
			t.Errorf("%s: %v", want.File, v.Bad)
		}
	}
}
