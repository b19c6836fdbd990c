package grep

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"worksite/backend/domain"
	"worksite/backend/hands/handstest"
)

func TestSearch(t *testing.T) {
	ws := handstest.New(t, map[string]string{
		"a.py":         "import os\ndef clean(row):\n    return row\n",
		"sub/b.py":     "x = clean(y)\r\nz = 1\r\n",
		"sub/c.txt":    "clean\n",
		"bin":          "clean\x00",
		"build/out.py": "clean(generated)\n",
		".git/config":  "clean(secret)\n",
		"m.txt":        "start\nmiddle\nend\n",
	})
	ws.Ignored = []string{"build"}
	c := handstest.NewCaller(New(ws.Open))
	for name, tc := range map[string]struct {
		args map[string]any
		want string
	}{
		"grouped by file":     {map[string]any{"pattern": `clean\(`}, "a.py\n  2: def clean(row):\nsub/b.py\n  1: x = clean(y)\n"},
		"glob":                {map[string]any{"pattern": "clean", "glob": "*.txt"}, "sub/c.txt\n  1: clean\n"},
		"path":                {map[string]any{"pattern": "clean", "path": "sub", "glob": "*.py"}, "sub/b.py\n  1: x = clean(y)\n"},
		"one file":            {map[string]any{"pattern": "row", "path": "a.py"}, "a.py\n  2: def clean(row):\n  3:     return row\n"},
		"ignored when named":  {map[string]any{"pattern": "clean", "path": "build/out.py"}, "build/out.py\n  1: clean(generated)\n"},
		"case":                {map[string]any{"pattern": "IMPORT", "ignore_case": true}, "a.py\n  1: import os\n"},
		"files only":          {map[string]any{"pattern": "row", "files_only": true}, "a.py (2)\n"},
		"context":             {map[string]any{"pattern": "clean", "path": "a.py", "context": 1}, "a.py\n  1- import os\n  2: def clean(row):\n  3-     return row\n"},
		"dollar with crlf":    {map[string]any{"pattern": `\(y\)$`}, "sub/b.py\n  1: x = clean(y)\n"},
		"within a line only":  {map[string]any{"pattern": `start[^x]*end`, "path": "m.txt"}, "No match in m.txt"},
		"across, then within": {map[string]any{"pattern": `[^x]+dle`, "path": "m.txt"}, "m.txt\n  2: middle\n"},
		"nothing":             {map[string]any{"pattern": "absent"}, "No match in . ("},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := c.Do(t.Context(), tc.args)
			if err != nil || !strings.HasPrefix(res.Output.Text, tc.want) || !strings.HasPrefix(tc.want, "No") && res.Output.Text != tc.want {
				t.Fatalf("got %q, %v; want %q", res.Output.Text, err, tc.want)
			}
		})
	}
	for name, tc := range map[string]struct {
		args map[string]any
		want string
	}{
		"bad pattern": {map[string]any{"pattern": "a(b"}, "RE2"},
		"look-around": {map[string]any{"pattern": "(?=a)"}, "look-around"},
		"bad glob":    {map[string]any{"pattern": "a", "glob": "[z"}, "not valid"},
		"missing":     {map[string]any{"pattern": "a", "path": "a.pyx"}, "near names: a.py"},
		"outside":     {map[string]any{"pattern": "a", "path": "../.."}, "outside"},
	} {
		if _, err := c.Do(t.Context(), tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// R150
func TestLongLinesAndManyMatchesAreCutVisibly(t *testing.T) {
	ws := handstest.New(t, map[string]string{
		"long.txt": strings.Repeat("é", 100_000) + "needle" + strings.Repeat("x", 100_000),
	})
	for i := range 40 {
		ws.Put(t, fmt.Sprintf("many/%02d.txt", i), strings.Repeat("hay\n", 50))
	}
	c := handstest.NewCaller(New(ws.Open))
	res, err := c.Do(t.Context(), map[string]any{"pattern": "needle"})
	if err != nil || len(res.Output.Text) > 1000 || !strings.Contains(res.Output.Text, "needle") || !strings.Contains(res.Output.Text, "bytes]…") {
		t.Fatalf("%d bytes: %.400s %v", len(res.Output.Text), res.Output.Text, err)
	}
	res, err = c.Do(t.Context(), map[string]any{"pattern": "hay"})
	if err != nil || !strings.Contains(res.Output.Text, "[2000 matching lines in 40 files, 250 shown") || len(res.Output.Text) > maxText {
		t.Fatalf("%d bytes: …%s %v", len(res.Output.Text), res.Output.Text[len(res.Output.Text)-200:], err)
	}
	if res.Output.Summary != "2000 matches in 40 files" {
		t.Error(res.Output.Summary)
	}
}

// The fast scan finds what a plain line-by-line search finds.
func TestScanEqualsLineByLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(rapid.StringMatching(`[ab\n\r]{0,40}`).Draw(t, "text"))
		pattern := rapid.SampledFrom([]string{"a", "ab", "^a", "b$", "a*", "[^b]+b", "^$", `\Aa`, "(ab)+", "a.b", `\bab\b`, "a|b"}).Draw(t, "pattern")
		re := regexp.MustCompile("(?m)" + pattern)
		q := query{input: input{Pattern: pattern}, re: re}
		w := worker{q: q, single: strings.Contains(pattern, `\A`), dollar: strings.Contains(pattern, "$")}
		var hits fileHits
		w.scan(b, &hits)
		var want []int
		for i, line := range strings.SplitAfter(string(b), "\n") {
			if line != "" && re.MatchString(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")) {
				want = append(want, i+1)
			}
		}
		var got []int
		for _, l := range hits.lines {
			got = append(got, l.n)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q in %q: lines %v, want %v", pattern, b, got, want)
		}
		if lit := q.literal(); lit != nil && len(want) > 0 && !strings.Contains(string(b), string(lit)) {
			t.Fatalf("%q: %q is not in every match", pattern, lit)
		}
	})
}

// R154
func TestHugeFilesAreAnnounced(t *testing.T) {
	ws := handstest.New(t, map[string]string{"huge.log": strings.Repeat("x", maxFile+1), "a.txt": "x"})
	res, err := handstest.NewCaller(New(ws.Open)).Do(t.Context(), map[string]any{"pattern": "x"})
	if err != nil || !strings.Contains(res.Output.Text, "not searched: huge.log (32.0 MB)") {
		t.Fatalf("%s %v", res.Output.Text, err)
	}
}

func TestProbeOfAReadIsNotDone(t *testing.T) {
	ws := handstest.New(t, nil)
	c := handstest.NewCaller(New(ws.Open))
	if r, _ := c.Registry.Probe(t.Context(), "grep", domain.HandCall{}, domain.Effect{}); r != domain.ProbeNotDone {
		t.Fatal(r)
	}
}

func BenchmarkSearch(b *testing.B) {
	ws := handstest.New(b, nil)
	for i := range 2000 {
		ws.Put(b, fmt.Sprintf("d%d/f%d.go", i%50, i), strings.Repeat("some ordinary line of code here\n", 300))
	}
	c := handstest.NewCaller(New(ws.Open))
	for b.Loop() {
		if _, err := c.Do(b.Context(), map[string]any{"pattern": `needle\w+`}); err != nil {
			b.Fatal(err)
		}
	}
}
