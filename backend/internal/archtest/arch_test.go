package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "worksite"

// pkg is what `go list` tells of a package; imports are merged over systems.
type pkg struct {
	ImportPath   string
	Standard     bool
	CgoFiles     []string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func list(t *testing.T, env []string, args ...string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json=ImportPath,Standard,CgoFiles,GoFiles,Imports,TestImports,XTestImports"}, args...)...)
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// ours lists our packages with what they import on any of the three systems.
func ours(t *testing.T) map[string]pkg {
	t.Helper()
	out := map[string]pkg{}
	for _, env := range [][]string{{"GOOS=linux", "CGO_ENABLED=1"}, {"GOOS=darwin", "CGO_ENABLED=1"}, {"GOOS=windows", "CGO_ENABLED=1"}} {
		for _, p := range list(t, env, "./...") {
			name := rel(p.ImportPath)
			merged := out[name]
			merged.ImportPath = name
			merged.Imports = append(merged.Imports, p.Imports...)
			merged.TestImports = append(merged.TestImports, append(p.TestImports, p.XTestImports...)...)
			out[name] = merged
		}
	}
	if len(out) < 10 {
		t.Fatalf("go list found %d packages; the rules would prove nothing", len(out))
	}
	return out
}

// rel is a package's path from the module's root; others keep theirs.
func rel(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// within reports whether path is base or below it.
func within(path, base string) bool { return path == base || strings.HasPrefix(path, base+"/") }

func isSuite(path string) bool {
	return strings.HasSuffix(path, "test") && path != "backend/internal/archtest"
}

// R18, R27
func TestLayers(t *testing.T) {
	for _, problem := range checkLayers(ours(t), layers) {
		t.Error(problem)
	}
}

func TestConfinements(t *testing.T) {
	for _, problem := range checkConfined(ours(t), confinements) {
		t.Error(problem)
	}
}

func TestSuitesAreForTests(t *testing.T) {
	for _, problem := range checkSuites(ours(t)) {
		t.Error(problem)
	}
}

func layerOf(name string, rules []layer) (layer, bool) {
	best, found := layer{}, false
	for _, l := range rules {
		if (name == l.path || l.below && within(name, l.path)) && (!found || len(l.path) > len(best.path)) {
			best, found = l, true
		}
	}
	return best, found
}

func checkLayers(all map[string]pkg, rules []layer) (problems []string) {
	for _, l := range rules {
		for _, named := range append([]string{l.path}, l.may...) {
			if !exists(all, named) {
				problems = append(problems, fmt.Sprintf("a rule for %s names %s, which does not exist; the rule would prove nothing", l.path, named))
			}
		}
	}
	for name, p := range all {
		l, ok := layerOf(name, rules)
		if !ok {
			problems = append(problems, fmt.Sprintf("%s has no rule: add a line to rules_test.go that says what it may import and why", name))
			continue
		}
		for _, imp := range p.Imports {
			if !isOurs(imp) {
				continue
			}
			imp := rel(imp)
			allowed := l.path != "." && within(imp, l.path) || l.below && isSuite(name) && within(imp, l.path)
			for _, m := range l.may {
				allowed = allowed || within(imp, m)
			}
			if !allowed {
				problems = append(problems, fmt.Sprintf("%s imports %s, and must not: %s", name, imp, l.why))
			}
		}
	}
	return sorted(problems)
}

func checkConfined(all map[string]pkg, rules []confined) (problems []string) {
	for _, c := range rules {
		used := false
		for _, home := range c.to {
			if !exists(all, home) {
				problems = append(problems, fmt.Sprintf("%s is confined to %s, which does not exist", c.prefix, home))
			}
		}
		for name, p := range all {
			for _, imp := range append(slices.Clone(p.Imports), p.TestImports...) {
				used = used || matches(imp, c.prefix)
			}
			if isSuite(name) || slices.ContainsFunc(c.to, func(home string) bool { return within(name, home) }) {
				continue
			}
			for _, imp := range p.Imports {
				if matches(imp, c.prefix) {
					problems = append(problems, fmt.Sprintf("%s imports %s, and must not: %s", name, imp, c.why))
				}
			}
		}
		if !used {
			problems = append(problems, fmt.Sprintf("nothing imports %s any more; remove its confinement", c.prefix))
		}
	}
	return sorted(problems)
}

// matches takes a prefix that ends in a slash for everything below it.
func matches(imp, prefix string) bool {
	if strings.HasSuffix(prefix, "/") {
		return strings.HasPrefix(imp, prefix)
	}
	return imp == prefix || strings.HasPrefix(imp, prefix+"/") && strings.Contains(prefix, ".")
}

// programsForTests ship nowhere: they measure or seed what the suites drive.
var programsForTests = []string{"backend/internal/bench", "backend/internal/seed"}

func checkSuites(all map[string]pkg) (problems []string) {
	for name, p := range all {
		if slices.Contains(programsForTests, name) {
			continue
		}
		for _, imp := range p.Imports {
			if isOurs(imp) && isSuite(rel(imp)) && !isSuite(name) {
				problems = append(problems, fmt.Sprintf("%s imports %s outside its tests (rule 8)", name, rel(imp)))
			}
		}
	}
	return sorted(problems)
}

func exists(all map[string]pkg, path string) bool {
	for name := range all {
		if within(name, path) {
			return true
		}
	}
	return false
}

func sorted(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// The command line runs where no window can: it links no window library, and
// SQLite is its only C.
func TestCommandLineLinksNoWindow(t *testing.T) {
	deps := list(t, []string{"CGO_ENABLED=1"}, "-deps", "./backend/cmd/worksite")
	sqlite := false
	for _, p := range deps {
		if strings.HasPrefix(p.ImportPath, "github.com/wailsapp/") {
			t.Errorf("cmd/worksite links %s", p.ImportPath)
		}
		if len(p.CgoFiles) > 0 && !p.Standard && !slices.Contains(cgo, p.ImportPath) {
			t.Errorf("cmd/worksite links C through %s", p.ImportPath)
		}
		sqlite = sqlite || p.ImportPath == cgo[0]
	}
	if !sqlite {
		t.Errorf("cmd/worksite does not link %s; this test looks at the wrong thing", cgo[0])
	}
}

// Everything but the window's last step is compiled, vetted and tested without
// WebKit, so no C but SQLite's is below the root without tags.
func TestNoWebKitWithoutTags(t *testing.T) {
	for _, p := range list(t, []string{"CGO_ENABLED=1"}, "-deps", "./...") {
		if len(p.CgoFiles) > 0 && !p.Standard && !slices.Contains(cgo, p.ImportPath) {
			t.Errorf("without tags, C is linked through %s", p.ImportPath)
		}
	}
}

// The rules can fail: each check reports what it is there for.
func TestTheChecksThemselves(t *testing.T) {
	all := map[string]pkg{
		"a":       {Imports: []string{"worksite/b", "fmt"}},
		"a/sub":   {Imports: []string{"worksite/a"}},
		"b":       {Imports: []string{"worksite/c", "os/exec", "worksite/a/atest"}},
		"c":       {Imports: []string{"example.org/wide/deep"}},
		"a/atest": {Imports: []string{"worksite/a", "testing"}},
	}
	for _, c := range []struct {
		name string
		got  []string
		want []string
	}{
		{
			"a forbidden import", checkLayers(all, []layer{{"a", true, nil, "why"}, {"b", false, []string{"a", "c"}, ""}, {"c", false, nil, ""}}),
			[]string{"a imports b, and must not: why"},
		},
		{"no rule", checkLayers(map[string]pkg{"x": {}}, nil), []string{"x has no rule: add a line to rules_test.go that says what it may import and why"}},
		{
			"no package", checkLayers(map[string]pkg{}, []layer{{"gone", false, nil, ""}}),
			[]string{"a rule for gone names gone, which does not exist; the rule would prove nothing"},
		},
		{
			"the longest path decides", checkLayers(map[string]pkg{"a": {}, "b": {}, "a/sub": {Imports: []string{"worksite/b"}}},
				[]layer{{"a", true, []string{"b"}, ""}, {"a/sub", false, nil, "deep"}, {"b", false, nil, ""}}),
			[]string{"a/sub imports b, and must not: deep"},
		},
		{"a confined package", checkConfined(all, []confined{{"os/exec", []string{"a"}, "one place"}}), []string{"b imports os/exec, and must not: one place"}},
		{"a confined module", checkConfined(all, []confined{{"example.org/wide", []string{"a"}, "one place"}}), []string{"c imports example.org/wide/deep, and must not: one place"}},
		{"a name that only starts alike", checkConfined(all, []confined{{"example.org/wi", nil, ""}}), []string{"nothing imports example.org/wi any more; remove its confinement"}},
		{"a suite outside tests", checkSuites(all), []string{"b imports a/atest outside its tests (rule 8)"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}
