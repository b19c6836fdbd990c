package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"worksite-verify/check"
)

type vector struct {
	File string      `json:"file"`
	Key  string      `json:"key"`
	OK   bool        `json:"ok"`
	Bad  *check.Flaw `json:"bad"`
}

func vectors(t *testing.T) (out []vector) {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil || len(out) < 20 {
		t.Fatal(len(out), err)
	}
	return out
}

// inGo and inPython run the two programs as a person would.
func inGo(t *testing.T, key, file string) check.Verdict {
	t.Helper()
	var out, errs bytes.Buffer
	code := run([]string{file, "--json", "--key", key}, &out, &errs)
	var v check.Verdict
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatalf("%s: exit %d, %s%s", file, code, &out, &errs)
	}
	if code != map[bool]int{true: 0, false: 1}[v.OK] {
		t.Errorf("%s: exit %d of %+v", file, code, v)
	}
	return v
}

func inPython(t *testing.T, key string, files ...string) (out []check.Verdict) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: Python 3 is not installed: the second implementation cannot be asked")
	}
	cmd := exec.CommandContext(t.Context(), python, append([]string{"python/worksite_verify.py", "--json", "--key", key}, files...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	raw, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v\n%s", err, &errs)
	}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		var v check.Verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if len(out) != len(files) {
		t.Fatalf("%d verdicts on %d files\n%s", len(out), len(files), &errs)
	}
	return out
}

// R64, R65, R76: both implementations find in every shared file what is recorded
// for it, and agree in every word of their verdicts.
func TestBothAgreeOnVectors(t *testing.T) {
	byKey := map[string][]string{}
	found := map[string]check.Verdict{}
	for _, want := range vectors(t) {
		file := filepath.Join("testdata", want.File)
		v := inGo(t, want.Key, file)
		if v.OK != want.OK || !reflect.DeepEqual(v.Bad, want.Bad) {
			t.Errorf("%s: found %v, recorded is %v", want.File, v.Bad, want.Bad)
		}
		byKey[want.Key], found[file] = append(byKey[want.Key], file), v
	}
	for key, files := range byKey {
		for i, p := range inPython(t, key, files...) {
			if v := found[files[i]]; !reflect.DeepEqual(v, p) {
				t.Errorf("%s:\nGo     %+v %v\nPython %+v %v", files[i], v, v.Bad, p, p.Bad)
			}
		}
	}
}

// R64, R65: one flipped bit anywhere in the file is found, where it is, by both.
func TestBothFindEveryFlip(t *testing.T) {
	const good = "testdata/good.worksite.tar"
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	var files []string
	var at []int
	for i := range 200 {
		pos, b := random.IntN(len(whole)), bytes.Clone(whole)
		b[pos] ^= 1 << random.IntN(8)
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		files, at = append(files, file), append(at, pos)
	}
	python := inPython(t, "", files...)
	for i, file := range files {
		v := inGo(t, "", file)
		if problem := misplaced(whole, at[i], v.Bad); problem != "" {
			t.Errorf("flip at %d (seed %d): %s: %v", at[i], seed, problem, v.Bad)
		}
		if !reflect.DeepEqual(v, python[i]) {
			t.Errorf("flip at %d (seed %d):\nGo     %+v %v\nPython %+v %v", at[i], seed, v, v.Bad, python[i], python[i].Bad)
		}
	}
}

// misplaced says how far a flaw is from the byte that was flipped: "" when it
// names the member, and for an event the line, that the byte is in.
func misplaced(whole []byte, pos int, bad *check.Flaw) string {
	if bad == nil {
		return "not found"
	}
	for at := 0; at < len(whole); {
		name, _, _ := strings.Cut(string(whole[at:at+100]), "\x00")
		var size int
		if name != "" {
			if _, err := fmt.Sscanf(string(whole[at+124:at+135]), "%o", &size); err != nil {
				return err.Error()
			}
		}
		content := at + 512
		next := content + (size+511)/512*512
		switch {
		case name == "" || pos < content: // a header, or the end
			if bad.Offset/512 == int64(at/512) || name == "" && bad.Offset >= int64(at) {
				return ""
			}
			return fmt.Sprintf("not at the header at %d", at)
		case pos >= next:
			at = next
			continue
		case pos >= content+size: // padding
			if bad.Member == name && int(bad.Offset) == content+size {
				return ""
			}
		case bad.Member == name:
			line := int64(bytes.Count(whole[content:pos], []byte("\n")) + 1)
			if name != "events.ndjson" || bad.Line == line {
				return ""
			}
			return fmt.Sprintf("not in line %d", line)
		}
		return "not in " + name
	}
	return "outside the file"
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"good", []string{"testdata/good.worksite.tar"}, 0, "unless you give the key"},
		{"bad", []string{"testdata/payload-byte.worksite.tar"}, 1, "at event 3 (position 19 of the log): the payload"},
		{"no file", []string{"testdata/none"}, 2, "none"},
		{"a folder", []string{"testdata"}, 2, "directory"},
		{"two files", []string{"a", "b"}, 2, "Usage"},
		{"nothing", nil, 2, "Usage"},
		{"unknown flag", []string{"--fast", "a"}, 2, "fast"},
		{"not an archive", []string{"main.go"}, 1, "byte 0"},
		{"empty", []string{os.DevNull}, 1, "ends too early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(c.args, &out, &errs)
			if said := out.String() + errs.String(); code != c.code || !strings.Contains(said, c.says) {
				t.Errorf("exit %d, said %s", code, said)
			}
		})
	}
}
