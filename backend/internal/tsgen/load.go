package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// input names files of one package.
type input struct {
	pkg   string
	glob  string
	roots bool // everything exported there crosses, referred to or not
}

// source is what was read: the declared types by "package.Name", in source order.
type source struct {
	fset  *token.FileSet
	order []string
	types map[string]*decl
	kinds []kind // in source order
}

// decl is one declared type.
type decl struct {
	name   string // without its package
	doc    string
	root   bool
	text   bool     // a string type
	values []string // its constants
	fields []field  // of a struct
	known  string   // the TypeScript of a type that marshals itself
	err    error    // why it cannot cross; told when something refers to it
}

type field struct {
	name, ts, doc string
	optional      bool
	refs          []string // declared types it refers to
}

type kind struct{ name, payload string }

// marshalled are the types of ours that marshal themselves.
var marshalled = map[string]string{"domain.Hash": "string", "domain.Hex": "string"}

// load parses the inputs below root.
func load(root string, inputs []input) (*source, error) {
	s := &source{fset: token.NewFileSet(), types: map[string]*decl{}}
	type parsed struct {
		in   input
		file *ast.File
	}
	var all []parsed
	seen := map[string]bool{}
	for _, in := range inputs {
		names, err := filepath.Glob(filepath.Join(root, in.glob))
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", in.glob, err)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("no file matches %s", in.glob)
		}
		for _, name := range names {
			if seen[name] || strings.HasSuffix(name, "_test.go") {
				continue
			}
			seen[name] = true
			f, err := parser.ParseFile(s.fset, name, nil, parser.ParseComments)
			if err != nil {
				return nil, fmt.Errorf("parse: %w", err)
			}
			all = append(all, parsed{in, f})
		}
	}
	for _, p := range all {
		s.declare(p.in, p.file)
	}
	for _, p := range all {
		if err := s.constants(p.in, p.file); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *source) declare(in input, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if k, ok := kindMethod(d); ok && in.pkg == "domain" {
				s.kinds = append(s.kinds, k)
			}
		case *ast.GenDecl:
			if d.Tok != token.TYPE {
				continue
			}
			for _, spec := range d.Specs {
				ts := spec.(*ast.TypeSpec)
				if !ts.Name.IsExported() {
					continue
				}
				doc := ts.Doc
				if doc == nil && len(d.Specs) == 1 {
					doc = d.Doc
				}
				full := in.pkg + "." + ts.Name.Name
				s.order = append(s.order, full)
				s.types[full] = s.typeOf(in, ts, comment(doc, ts.Comment))
			}
		}
	}
}

// kindMethod recognises `func (T) Kind() Kind { return "noun.past" }`.
func kindMethod(d *ast.FuncDecl) (kind, bool) {
	if d.Name.Name != "Kind" || d.Recv == nil || d.Body == nil || len(d.Body.List) != 1 {
		return kind{}, false
	}
	recv, ok := d.Recv.List[0].Type.(*ast.Ident)
	ret, isReturn := d.Body.List[0].(*ast.ReturnStmt)
	if !ok || !isReturn || len(ret.Results) != 1 {
		return kind{}, false
	}
	name, err := stringLit(ret.Results[0])
	return kind{name: name, payload: recv.Name}, err == nil
}

func (s *source) typeOf(in input, ts *ast.TypeSpec, doc string) *decl {
	d := &decl{name: ts.Name.Name, doc: doc, root: in.roots, known: marshalled[in.pkg+"."+ts.Name.Name]}
	switch t := ts.Type.(type) {
	case *ast.StructType:
		for _, f := range t.Fields.List {
			fields, err := s.fields(in.pkg, f)
			if err != nil && d.err == nil {
				d.err = fmt.Errorf("%s: %s: %w", s.at(f), d.name, err)
			}
			d.fields = append(d.fields, fields...)
		}
	case *ast.Ident:
		if d.text = t.Name == "string"; !d.text {
			d.err = fmt.Errorf("%s: %s is a %s; only structs and strings cross to the page", s.at(ts), d.name, t.Name)
		}
	default:
		if d.known == "" {
			d.err = fmt.Errorf("%s: %s is neither a struct nor a string", s.at(ts), d.name)
		}
	}
	return d
}

func (s *source) fields(pkg string, f *ast.Field) ([]field, error) {
	if len(f.Names) == 0 {
		return nil, fmt.Errorf("embedded fields do not cross to the page")
	}
	var tag reflect.StructTag
	if f.Tag != nil {
		raw, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, fmt.Errorf("tag %s: %w", f.Tag.Value, err)
		}
		tag = reflect.StructTag(raw)
	}
	name, rest, _ := strings.Cut(tag.Get("json"), ",")
	if name == "" || name == "-" {
		return nil, nil // kept on this side; a view without tags shows as an empty interface and fails its users
	}
	if len(f.Names) != 1 {
		return nil, fmt.Errorf("one tag for several fields")
	}
	if !f.Names[0].IsExported() {
		return nil, nil
	}
	out := field{name: name, doc: comment(f.Doc, f.Comment)}
	for opt := range strings.SplitSeq(rest, ",") {
		switch opt {
		case "omitempty", "omitzero":
			out.optional = true
		case "":
		default:
			return nil, fmt.Errorf("json option %q is not understood", opt)
		}
	}
	var err error
	if out.ts, err = tsType(pkg, f.Type, &out.refs, out.optional); err != nil {
		return nil, fmt.Errorf("field %s: %w", name, err)
	}
	switch extra := tag.Get("tsgen"); extra {
	case "":
	case "empty": // a string type whose zero value is sent too
		out.ts += " | ''"
	default:
		return nil, fmt.Errorf("field %s: tsgen option %q is not understood", name, extra)
	}
	return []field{out}, nil
}

// tsType translates a Go type written in pkg; optional says that nil is left out.
func tsType(pkg string, e ast.Expr, refs *[]string, optional bool) (string, error) {
	switch t := e.(type) {
	case *ast.Ident:
		switch t.Name {
		case "string":
			return "string", nil
		case "bool":
			return "boolean", nil
		case "int", "int32", "int64", "uint8", "uint16", "uint32", "float64":
			return "number", nil
		}
		if !t.IsExported() {
			return "", fmt.Errorf("type %s does not cross to the page", t.Name)
		}
		*refs = append(*refs, pkg+"."+t.Name)
		return t.Name, nil
	case *ast.SelectorExpr:
		full := t.X.(*ast.Ident).Name + "." + t.Sel.Name
		switch full {
		case "time.Time":
			return "Time", nil
		case "time.Duration":
			return "number", nil
		case "json.RawMessage":
			return "unknown", nil
		}
		*refs = append(*refs, full)
		return t.Sel.Name, nil
	case *ast.StarExpr:
		inner, err := tsType(pkg, t.X, refs, optional)
		if err == nil && !optional {
			inner += " | null"
		}
		return inner, err
	case *ast.ArrayType:
		if id, ok := t.Elt.(*ast.Ident); ok && (id.Name == "byte" || id.Name == "uint8") {
			return "", fmt.Errorf("bytes do not cross to the page; use Hex or a blob")
		}
		inner, err := tsType(pkg, t.Elt, refs, true)
		if strings.Contains(inner, " ") {
			inner = "(" + inner + ")"
		}
		return inner + "[]", err
	case *ast.MapType:
		if id, ok := t.Key.(*ast.Ident); !ok || id.Name != "string" {
			return "", fmt.Errorf("only maps with string keys cross to the page")
		}
		inner, err := tsType(pkg, t.Value, refs, true)
		return "Record<string, " + inner + ">", err
	}
	return "", fmt.Errorf("a type this shape does not cross to the page")
}

// constants collects the values of string types.
func (s *source) constants(in input, f *ast.File) error {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			vs := spec.(*ast.ValueSpec)
			typ, ok := vs.Type.(*ast.Ident)
			if !ok {
				continue
			}
			d := s.types[in.pkg+"."+typ.Name]
			if d == nil || !d.text {
				continue
			}
			for _, v := range vs.Values {
				text, err := stringLit(v)
				if err != nil {
					return fmt.Errorf("%s: constant of %s: %w", s.at(vs), typ.Name, err)
				}
				d.values = append(d.values, text)
			}
		}
	}
	return nil
}

func (s *source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
}

func stringLit(e ast.Expr) (string, error) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", fmt.Errorf("not a string literal")
	}
	return strconv.Unquote(lit.Value)
}

// comment is a doc comment, or the one at the end of the line, as one line.
func comment(doc, line *ast.CommentGroup) string {
	if doc == nil {
		doc = line
	}
	if doc == nil {
		return ""
	}
	text := strings.Join(strings.Fields(doc.Text()), " ")
	return strings.ReplaceAll(text, "*/", "* /")
}
