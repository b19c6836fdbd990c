package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"worksite/backend/domain"
)

func generate(t *testing.T) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	src, err := load(root, inputs)
	if err != nil {
		t.Fatal(err)
	}
	out, err := src.write()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestFileIsFresh(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(filepath.Join(root, outFile))
	if err != nil {
		t.Fatal(err)
	}
	if generate(t) != string(have) {
		t.Errorf("%s is not what the Go types say now; run `make generate`", outFile)
	}
}

// The sources say the same as the running program: every kind is there, under
// the name of its payload.
func TestEveryKindIsInTheUnion(t *testing.T) {
	out := generate(t)
	for kind, typ := range domain.Kinds() {
		if line := "  '" + string(kind) + "': " + typ.Name() + ";\n"; !strings.Contains(out, line) {
			t.Errorf("the union lacks %q", strings.TrimSpace(line))
		}
		if !strings.Contains(out, "export interface "+typ.Name()+" {\n  v: number;\n") {
			t.Errorf("%s is missing or does not start with its version", typ.Name())
		}
	}
	if got, want := len(regexp.MustCompile(`(?m)^  '[a-z_]+\.[a-z_]+': `).FindAllString(out, -1)), len(domain.Kinds()); got != want {
		t.Errorf("the union has %d kinds, the program %d", got, want)
	}
}

const ground = `package domain
type Event struct { Seq int64 ` + "`json:\"seq\"`" + `; Kind Kind ` + "`json:\"kind\"`" + `; Payload json.RawMessage ` + "`json:\"payload\"`" + ` }
type Kind string
type Made struct { V int ` + "`json:\"v\"`" + ` }
func (Made) Kind() Kind { return "thing.made" }
// Mode is how.
type Mode string
const (
	ModeA Mode = "a"
	ModeB Mode = "b's"
)
type ID string // "id_…"
type Unused struct { F func() }
`

func TestTranslation(t *testing.T) {
	for _, c := range []struct{ name, field, want, err string }{
		{"text", "A string `json:\"a\"`", "  a: string;\n", ""},
		{"numbers", "A int64 `json:\"a\"`", "  a: number;\n", ""},
		{"a closed set", "A domain.Mode `json:\"a\"`", "  a: Mode;\n", ""},
		{"a closed set with its zero", "A domain.Mode `json:\"a\" tsgen:\"empty\"`", "  a: Mode | '';\n", ""},
		{"a name", "A domain.ID `json:\"a,omitempty\"`", "  a?: ID;\n", ""},
		{"a list", "A []domain.ID `json:\"a\"`", "  a: ID[];\n", ""},
		{"a list of lists", "A [][]int `json:\"a\"`", "  a: number[][];\n", ""},
		{"a map", "A map[string]bool `json:\"a\"`", "  a: Record<string, boolean>;\n", ""},
		{"a pointer", "A *string `json:\"a\"`", "  a: string | null;\n", ""},
		{"an optional pointer", "A *time.Time `json:\"a,omitempty\"`", "  a?: Time;\n", ""},
		{"a time", "A time.Time `json:\"a,omitzero\"`", "  a?: Time;\n", ""},
		{"a comment", "A bool `json:\"a\"` // ends with */", "  /** ends with * / */\n  a: boolean;\n", ""},
		{"an odd key", "A bool `json:\"a-b\"`", "  'a-b': boolean;\n", ""},
		{"kept here", "A func() `json:\"-\"`", "export interface View {\n}\n", ""},
		{"a function", "A func() `json:\"a\"`", "", "does not cross"},
		{"bytes", "A []byte `json:\"a\"`", "", "bytes do not cross"},
		{"a foreign type", "A url.URL `json:\"a\"`", "", "url.URL, which is in none"},
		{"something unexported", "A hidden `json:\"a\"`", "", "hidden does not cross"},
		{"a map by number", "A map[int]bool `json:\"a\"`", "", "string keys"},
		{"an embedded struct", "domain.Made", "", "embedded"},
		{"one that cannot cross", "A domain.Unused `json:\"a\"`", "export interface Unused {\n}\n", ""},
		{"an unknown option", "A int `json:\"a,string\"`", "", "not understood"},
		{"an unknown tag", "A int `json:\"a\" tsgen:\"x\"`", "", "not understood"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "domain.go"), ground)
			write(t, filepath.Join(dir, "views.go"), "package service\ntype View struct {\n"+c.field+"\n}\n")
			src, err := load(dir, []input{{"domain", "domain.go", false}, {"service", "views.go", true}})
			var out []byte
			if err == nil {
				out, err = src.write()
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(out), c.want) {
				t.Errorf("no %q in:\n%s", c.want, out)
			}
		})
	}
}

func TestNamesAndClashes(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "domain.go"), ground)
	write(t, filepath.Join(dir, "views.go"), "package service\ntype View struct { A domain.Mode `json:\"a\"`\nB domain.ID `json:\"b\"` }\n")
	two := []input{{"domain", "domain.go", false}, {"service", "views.go", true}}
	src, err := load(dir, two)
	if err != nil {
		t.Fatal(err)
	}
	out, err := src.write()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"/** Mode is how. */\nexport type Mode = 'a' | 'b\\'s';\n",
		"export type ID = string;\n",
		"  'thing.made': Made;\n",
		"export interface EventHead {\n  seq: number;\n}\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "Unused") {
		t.Error("a type that nothing refers to was written")
	}

	write(t, filepath.Join(dir, "views.go"), "package service\ntype Made struct { A int `json:\"a\"` }\n")
	if src, err = load(dir, two); err != nil {
		t.Fatal(err)
	}
	if _, err := src.write(); err == nil || !strings.Contains(err.Error(), "under one name") {
		t.Errorf("a clash of names: %v", err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
