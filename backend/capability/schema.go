package capability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/gowebpki/jcs"

	"worksite/backend/domain"
)

// schema is a hand's input schema, compiled on first use.
type schema struct {
	raw  json.RawMessage
	once sync.Once
	def  *jsonschema.Schema
	res  *jsonschema.Resolved
	err  error
}

func (s *schema) compile() error {
	s.once.Do(func() {
		s.def = &jsonschema.Schema{}
		if s.err = json.Unmarshal(s.raw, s.def); s.err != nil {
			return
		}
		s.res, s.err = s.def.Resolve(nil)
	})
	return s.err
}

// validate returns input as canonical JSON (RFC 8785), or says in a few lines
// what is wrong with it and what the fields are. A null for an optional field is
// the same as leaving it out.
func (s *schema) validate(tool string, input json.RawMessage) (json.RawMessage, error) {
	if err := s.compile(); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", tool, err)
	}
	if len(bytes.TrimSpace(input)) == 0 {
		input = canonicalInput
	}
	obj, err := parseObject(input)
	if err != nil {
		return nil, s.invalid(tool, err.Error())
	}
	for name, v := range obj {
		if v == nil && !slices.Contains(s.def.Required, name) && s.def.Properties[name] != nil {
			delete(obj, name)
		}
	}
	if problems := s.explain(obj); len(problems) > 0 {
		return nil, s.invalid(tool, strings.Join(problems, "; "))
	}
	if err := s.res.Validate(obj); err != nil {
		return nil, s.invalid(tool, clip(err.Error(), 300))
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, s.invalid(tool, err.Error())
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return nil, s.invalid(tool, clip(err.Error(), 300))
	}
	return canonical, nil
}

func (s *schema) invalid(tool, problem string) error {
	return domain.Errorf(domain.CodeInvalid, "the arguments of %s cannot be used: %s. %s", tool, clip(problem, 1000), s.fields())
}

// parseObject reads one JSON object strictly: no duplicate names, no invalid
// UTF-8, no lone surrogates. encoding/json would quietly change those.
func parseObject(input []byte) (map[string]any, error) {
	if !utf8.Valid(input) {
		return nil, errors.New("they are not valid UTF-8")
	}
	trimmed := bytes.TrimSpace(input)
	var syntax *json.SyntaxError
	var v any
	if err := json.Unmarshal(trimmed, &v); errors.As(err, &syntax) {
		return nil, fmt.Errorf("they are not valid JSON (%w, after %d of %d bytes)", syntax, syntax.Offset, len(trimmed))
	} else if err != nil {
		return nil, fmt.Errorf("they are not valid JSON (%w)", err)
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("they are %s, not a JSON object", typeName(v))
	}
	if _, err := jcs.Transform(trimmed); err != nil {
		return nil, fmt.Errorf("they are ambiguous JSON (%s)", clip(err.Error(), 200))
	}
	return obj, nil
}

// explain names what a model gets wrong most, in words; what it does not find
// is left to the schema library.
func (s *schema) explain(obj map[string]any) []string {
	var out []string
	for _, name := range s.def.Required {
		if _, ok := obj[name]; !ok {
			out = append(out, fmt.Sprintf("%q is missing", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		prop := s.def.Properties[name]
		if prop == nil {
			out = append(out, unknownField(name, s.def))
			continue
		}
		if p := wrongType(prop, obj[name]); p != "" {
			out = append(out, fmt.Sprintf("%q %s", name, p))
		}
	}
	return out
}

func unknownField(name string, def *jsonschema.Schema) string {
	msg := fmt.Sprintf("there is no field %s", quote(name))
	if near := nearest(name, slices.Sorted(maps.Keys(def.Properties))); near != "" {
		msg += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return msg
}

// nearest finds the field a model most likely meant: one that contains the name
// or is contained in it, like file_path for path.
func nearest(name string, fields []string) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	n := plain(name)
	for _, f := range fields {
		p := plain(f)
		if p == n || strings.Contains(n, p) || (len(n) >= 3 && strings.Contains(p, n)) {
			return f
		}
	}
	return ""
}

func wrongType(prop *jsonschema.Schema, v any) string {
	want := prop.Type
	ok := true
	switch want {
	case "string":
		_, ok = v.(string)
	case "boolean":
		_, ok = v.(bool)
	case "array":
		_, ok = v.([]any)
	case "object":
		_, ok = v.(map[string]any)
	case "number":
		_, ok = v.(float64)
	case "integer":
		f, isNum := v.(float64)
		ok = isNum && f == math.Trunc(f) && math.Abs(f) < 1<<53
	}
	if !ok {
		return fmt.Sprintf("must be %s, not %s", article(want), typeName(v))
	}
	if f, isNum := v.(float64); isNum {
		if prop.Minimum != nil && f < *prop.Minimum {
			return fmt.Sprintf("must be at least %v", *prop.Minimum)
		}
		if prop.Maximum != nil && f > *prop.Maximum {
			return fmt.Sprintf("must be at most %v", *prop.Maximum)
		}
	}
	if str, isStr := v.(string); isStr {
		if prop.MinLength != nil && utf8.RuneCountInString(str) < *prop.MinLength {
			return "must not be empty"
		}
		if len(prop.Enum) > 0 && !slices.Contains(prop.Enum, v) {
			return fmt.Sprintf("must be one of %s, not %s", list(prop.Enum), quote(str))
		}
	}
	if items, isArr := v.([]any); isArr {
		return wrongItem(prop, items)
	}
	if obj, isObj := v.(map[string]any); isObj {
		sub := schema{def: prop}
		if problems := sub.explain(obj); len(problems) > 0 {
			return strings.Join(problems, ", ")
		}
	}
	return ""
}

func wrongItem(prop *jsonschema.Schema, items []any) string {
	if prop.MaxItems != nil && len(items) > *prop.MaxItems {
		return fmt.Sprintf("must have at most %d items, not %d", *prop.MaxItems, len(items))
	}
	if prop.Items == nil {
		return ""
	}
	for i, it := range items {
		if p := wrongType(prop.Items, it); p != "" {
			return fmt.Sprintf("item %d: %s", i+1, p)
		}
	}
	return ""
}

// fields lists the fields in one line: "Fields: path (string, required), …".
func (s *schema) fields() string {
	var parts []string
	add := func(name string, required bool) {
		note := s.def.Properties[name].Type
		if required {
			note += ", required"
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", name, note))
	}
	for _, name := range s.def.Required {
		add(name, true)
	}
	for _, name := range slices.Sorted(maps.Keys(s.def.Properties)) {
		if !slices.Contains(s.def.Required, name) {
			add(name, false)
		}
	}
	if len(parts) == 0 {
		return "It takes no fields."
	}
	return "Fields: " + strings.Join(parts, ", ") + "."
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}

func article(t string) string {
	if t == "integer" || t == "array" || t == "object" {
		return "an " + t
	}
	return "a " + t
}

func list(values []any) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(parts, ", ")
}
