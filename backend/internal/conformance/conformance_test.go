package conformance

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tests column from the comments of the tests")

const (
	root  = "../../.."
	table = root + "/docs/conformance.md"
	last  = 169 // the highest number there is
)

// Statuses of a row.
const (
	done    = "done"
	partial = "partial"
	notYet  = "not yet"
)

// row is one line of the table.
type row struct {
	number int
	status string
	tests  []string
}

var rowLine = regexp.MustCompile(`^\| R(\d+) \| ([a-z ]+?) \| (.*?) ?\|$`)

func TestTable(t *testing.T) {
	raw, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	proofs, err := collect(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if *update {
		text = rewrite(text, proofs)
		if err := os.WriteFile(table, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rows := parse(text)
	if len(rows) < 100 {
		t.Fatalf("the table has %d rows; it is not read rightly", len(rows))
	}
	for _, problem := range check(rows, proofs) {
		t.Error(problem)
	}
	if t.Failed() {
		t.Log("`go test ./backend/internal/conformance -update` writes the tests column; statuses are for people")
	}
}

func parse(text string) []row {
	var rows []row
	for line := range strings.Lines(text) {
		m := rowLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		r := row{status: m[2]}
		r.number, _ = strconv.Atoi(m[1]) // digits by the pattern
		for _, name := range strings.Split(m[3], ";") {
			if name = strings.Trim(strings.TrimSpace(name), "`"); name != "" {
				r.tests = append(r.tests, name)
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// rewrite replaces the tests column by the proofs.
func rewrite(text string, proofs map[int][]string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		m := rowLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1]) // digits by the pattern
		names := make([]string, len(proofs[n]))
		for j, name := range proofs[n] {
			names[j] = "`" + name + "`"
		}
		lines[i] = strings.TrimRight(fmt.Sprintf("| R%d | %s | %s", n, m[2], strings.Join(names, "; ")), " ") + " |\n"
	}
	return strings.Join(lines, "")
}

func check(rows []row, proofs map[int][]string) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	seen := map[int]bool{}
	before := 0
	for _, r := range rows {
		if r.number < 1 || r.number > last || seen[r.number] || r.number < before {
			say("R%d is unknown, twice in the table, or out of order", r.number)
		}
		seen[r.number], before = true, r.number
		proving := proofs[r.number]
		for _, name := range r.tests {
			if !slices.Contains(proving, name) {
				say("R%d names the test %s, which does not exist or does not say that it proves R%d", r.number, name, r.number)
			}
		}
		for _, name := range proving {
			if !slices.Contains(r.tests, name) {
				say("R%d does not name %s, which says that it proves it", r.number, name)
			}
		}
		switch r.status {
		case done, partial:
			if len(r.tests) == 0 {
				say("R%d is %s without a test", r.number, r.status)
			}
		case notYet:
			if len(r.tests) > 0 {
				say("R%d is not yet, but has tests: is it partial or done?", r.number)
			}
		default:
			say("R%d has the status %q; there are done, partial and not yet", r.number, r.status)
		}
	}
	for n, names := range proofs {
		if n < 1 || n > last {
			say("%s proves R%d, which there is not", names[0], n)
		} else if !seen[n] {
			say("the table has no row for R%d, which %s proves", n, names[0])
		}
	}
	slices.Sort(problems)
	return problems
}

// collect finds the tests that say what they prove.
func collect(tree fs.FS) (map[int][]string, error) {
	proofs := map[int][]string{}
	add := func(name, comment string) {
		for _, n := range numbers(comment) {
			proofs[n] = append(proofs[n], name)
		}
	}
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := filepath.Base(path)
		if d.IsDir() {
			if base == "node_modules" || base == "dist" || strings.HasPrefix(base, ".") && path != "." {
				return fs.SkipDir
			}
			return nil
		}
		var read func(path string, src []byte, add func(name, comment string)) error
		switch {
		case strings.HasSuffix(base, "_test.go"), strings.HasSuffix(base, ".go") && strings.HasSuffix(filepath.Dir(path), "test"):
			read = readGo
		case strings.HasSuffix(base, ".test.ts"), strings.HasSuffix(base, ".spec.ts"):
			read = readTypeScript
		case filepath.Ext(base) == ".txtar":
			read = readScript
		default:
			return nil
		}
		src, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		return read(path, src, add)
	})
	if err != nil {
		return nil, fmt.Errorf("collect tests: %w", err)
	}
	for n := range proofs {
		slices.SortFunc(proofs[n], cmp.Compare[string])
		proofs[n] = slices.Compact(proofs[n])
	}
	return proofs, nil
}

// numbersAt is a list of numbers at the start of a comment line: "R63, R119: …".
var numbersAt = regexp.MustCompile(`^(?:R\d+(?:[, ]+|\b))+`)

var number = regexp.MustCompile(`R(\d+)`)

func numbers(comment string) (out []int) {
	for line := range strings.Lines(comment) {
		line = strings.TrimLeft(line, "/#* \t")
		for _, m := range number.FindAllStringSubmatch(numbersAt.FindString(line), -1) {
			n, _ := strconv.Atoi(m[1]) // digits by the pattern
			out = append(out, n)
		}
	}
	return out
}

// readGo takes the doc comments of tests, benchmarks, fuzz targets and, in …test
// packages, of the functions of a suite.
func readGo(path string, src []byte, add func(name, comment string)) error {
	f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments)
	if err != nil {
		return err
	}
	suite := !strings.HasSuffix(path, "_test.go")
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		name := fn.Name.Name
		if suite || strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Benchmark") || strings.HasPrefix(name, "Fuzz") {
			var lines []string
			for _, c := range fn.Doc.List {
				lines = append(lines, c.Text)
			}
			add(filepath.ToSlash(filepath.Dir(path))+" "+name, strings.Join(lines, "\n"))
		}
	}
	return nil
}

var (
	tsTest    = regexp.MustCompile(`^\s*(?:test|it|describe)(?:\.\w+)*\(\s*(['"` + "`" + `])(.*?)['"` + "`" + `]\s*,`)
	tsComment = regexp.MustCompile(`^\s*//(.*)$`)
)

// readTypeScript takes the comment lines right above test(…), it(…) and describe(…).
func readTypeScript(path string, src []byte, add func(name, comment string)) error {
	var above []string
	for line := range strings.Lines(string(src)) {
		line = strings.TrimRight(line, "\n")
		if m := tsComment.FindStringSubmatch(line); m != nil {
			above = append(above, strings.TrimSpace(m[1]))
			continue
		}
		if m := tsTest.FindStringSubmatch(line); m != nil && len(above) > 0 {
			add(path+" "+strings.NewReplacer("|", "/", ";", ",", "`", "'").Replace(m[2]), strings.Join(above, "\n"))
		}
		above = nil
	}
	return nil
}

// readScript takes the first comment lines of a testscript.
func readScript(path string, src []byte, add func(name, comment string)) error {
	var head []string
	for line := range strings.Lines(string(src)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		head = append(head, line)
	}
	add(path, strings.Join(head, ""))
	return nil
}
