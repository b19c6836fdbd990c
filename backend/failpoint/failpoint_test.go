package failpoint_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"worksite/backend/failpoint"
)

const root = "../.."

// R135: every place has a name of its own, stands in the list and is in the product.
func TestNamesAreComplete(t *testing.T) {
	declared := declaredNames(t)
	listed := map[failpoint.Name]bool{}
	for _, n := range failpoint.Names {
		if listed[n] {
			t.Errorf("%s is listed twice", n)
		}
		listed[n] = true
	}
	used := usedNames(t)
	values := map[failpoint.Name]bool{}
	for ident, value := range declared {
		if values[value] {
			t.Errorf("%s has the name %s of another place", ident, value)
		}
		values[value] = true
		if !listed[value] {
			t.Errorf("%s is not in the list", ident)
		}
		if used[ident] == 0 {
			t.Errorf("%s is reached nowhere", ident)
		}
	}
	for ident := range used {
		if _, ok := declared[ident]; !ok {
			t.Errorf("%s is reached and not declared", ident)
		}
	}
	if len(declared) < 20 {
		t.Errorf("%d places were found: the test shows nothing", len(declared))
	}
}

// R135: without the tag there is nothing: no import to do anything with, no body.
func TestTheProductHasNoSwitch(t *testing.T) {
	plain, err := build.Default.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(plain.Imports) > 0 {
		t.Errorf("without the tag the package imports %q", plain.Imports)
	}
	tagged := build.Default
	tagged.BuildTags = append(tagged.BuildTags, "failpoints")
	with, err := tagged.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(with.Imports) == 0 {
		t.Error("with the tag it imports nothing: the test shows nothing")
	}
	for _, d := range parse(t, "reach_off.go").Decls {
		if f, ok := d.(*ast.FuncDecl); ok && len(f.Body.List) > 0 {
			t.Errorf("%s does something without the tag", f.Name)
		}
	}
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// declaredNames reads the constants, by identifier.
func declaredNames(t *testing.T) map[string]failpoint.Name {
	t.Helper()
	out := map[string]failpoint.Name{}
	ast.Inspect(parse(t, "names.go"), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		out[spec.Names[0].Name] = failpoint.Name(value)
		return true
	})
	return out
}

// usedNames counts the calls of Reach in the product, by the identifier they name.
func usedNames(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, top := range []string{"backend", "sessions", "app"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			ast.Inspect(parse(t, path), func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !is(call.Fun, "Reach") {
					return true
				}
				arg, ok := call.Args[0].(*ast.SelectorExpr)
				if !ok {
					t.Errorf("%s: Reach is not called with one of the names", path)
					return true
				}
				out[arg.Sel.Name]++
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func is(fun ast.Expr, name string) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "failpoint"
}
