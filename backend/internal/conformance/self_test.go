package conformance

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCollect(t *testing.T) {
	got, err := collect(fstest.MapFS{
		"a/x_test.go":                {Data: []byte("package a\n\n// R1, R2: it is so.\n// R3\nfunc TestX(t *testing.T) {}\n\n// Says R9 in passing.\nfunc TestY(t *testing.T) {}\n\n// R4\nfunc helper() {}\n")},
		"a/atest/s.go":               {Data: []byte("package atest\n\n// R5\nfunc Durable() {}\n")},
		"a/x.go":                     {Data: []byte("package a\n\n// R6\nfunc TestNot() {}\n")},
		"f/y.test.ts":                {Data: []byte("// R7 R8\ntest('reads; it', () => {});\n\n// R10\n\nit('is apart', f)\n")},
		"c/z.txtar":                  {Data: []byte("# R11, R12: the command line\n# more\n\n# R13\nexec x\n")},
		"f/node_modules/p/p.test.ts": {Data: []byte("// R14\ntest('x', f)\n")},
		"f/many.spec.ts":             {Data: []byte("// R15\ntest.skip(\"why\", f)\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int][]string{
		1: {"a TestX"}, 2: {"a TestX"}, 3: {"a TestX"}, 5: {"a/atest Durable"},
		7: {"f/y.test.ts reads, it"}, 8: {"f/y.test.ts reads, it"}, 11: {"c/z.txtar"}, 12: {"c/z.txtar"}, 15: {"f/many.spec.ts why"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestCheckAndRewrite(t *testing.T) {
	proofs := map[int][]string{1: {"a TestX"}, 2: {"a TestX", "b TestY"}, 4: {"a TestX"}, 200: {"a TestX"}}
	text := "| R1 | done | `a TestX` |\n| R2 | done | `a TestX` |\n| R3 | partial | `gone TestZ` |\n| R5 | partial | |\n| R6 | soon | |\n| R6 | not yet | |\n"
	want := []string{
		"R2 does not name b TestY, which says that it proves it",
		"R3 names the test gone TestZ, which does not exist or does not say that it proves R3",
		"R5 is partial without a test",
		`R6 has the status "soon"; there are done, partial and not yet`,
		"R6 is unknown, twice in the table, or out of order",
		"a TestX proves R200, which there is not",
		"the table has no row for R4, which a TestX proves",
	}
	if got := check(parse(text), proofs); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	again := rewrite("| R2 | done | |\n| R9 | not yet | `x` |\nother\n", proofs)
	if again != "| R2 | done | `a TestX`; `b TestY` |\n| R9 | not yet | |\nother\n" {
		t.Errorf("rewritten as %q", again)
	}
	if got := check(parse(again), map[int][]string{2: proofs[2]}); len(got) > 0 {
		t.Errorf("a right table is refused: %q", got)
	}
	if got := check(parse("| R2 | not yet | `a TestX`; `b TestY` |\n"), map[int][]string{2: proofs[2]}); len(got) != 1 || !strings.Contains(got[0], "partial or done") {
		t.Errorf("got %q", got)
	}
}
