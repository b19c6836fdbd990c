package chain

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"worksite/backend/domain"
)

// R64: the hashed bytes are RFC 8785, as an independent implementation writes them.
func TestCanonicalAgreesWithTheGeneralTransform(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\x00\x1f\b\f\n\r\t\x7f", "<a&b>\u2028", "\\\"/", "\U0001f600é"}))
	number := rapid.OneOf(rapid.Just(any(json.Number("0"))), rapid.Just(any(json.Number("-0"))),
		rapid.Map(rapid.Int64Range(-1<<53, 1<<53), func(n int64) any { return n }),
		rapid.Map(rapid.Float64Range(-1e30, 1e30), func(f float64) any { return f }))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(number, rapid.Map(text, func(s string) any { return s }), rapid.SampledFrom([]any{true, false, nil}))
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(v []any) any { return v }),
			rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-zA-Z]{0,6}`), value(depth-1), 0, 5), func(m map[string]any) any { return m }),
			rapid.Map(rapid.MapOfN(text, value(depth-1), 0, 5), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"v": value(3).Draw(t, "value"), "a": value(1).Draw(t, "other")}
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(rapid.Bool().Draw(t, "html"))
		if rapid.Bool().Draw(t, "spaces") {
			enc.SetIndent(" ", "\t")
		}
		if err := enc.Encode(v); err != nil {
			t.Skip(err)
		}
		want, err := jcs.Transform(buf.Bytes())
		if err != nil {
			t.Skip(err)
		}
		got, err := Canonical(buf.Bytes())
		if err != nil {
			t.Fatalf("canonical of %s: %v", buf.Bytes(), err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if again, err := Canonical(got); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("canonical form is not a fixed point: %s, %v", again, err)
		}
	})
}

func TestCanonicalSpellings(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"keys are sorted", `{"b":1,"a":{"d":[],"c":{}}}`, `{"a":{"c":{},"d":[]},"b":1}`},
		{"short escapes", `"\u0008\u000C\u000a\/\u00e9\u005c"`, `"\b\f\n/é\\"`},
		{"pairs", `"\ud83d\ude00"`, `"😀"`},
		{"control", `"\u001F\u007f"`, "\"\\u001f\x7f\""},
		{"numbers", `[1.0,1e3,0.000001,-0,9007199254740992]`, `[1,1000,0.000001,0,9007199254740992]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Canonical([]byte(c.in))
			if err != nil || string(got) != c.want {
				t.Fatalf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, in := range []string{
		``, `{`, `{}}`, `{"a":1,"a":2}`, `{"b":1,"a":1,"b":2}`, `01`, `-`, `"` + "\n" + `"`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00"`,
		`"` + "\xff" + `"`, `"\n` + "\xff" + `"`, `9007199254740993`, `123456789012345678901234567890`, `"\x"`, `[1,]`, `{"a"}`, `nul`, `1e999`,
		strings.Repeat("[", 5000),
	} {
		if got, err := Canonical([]byte(in)); err == nil {
			t.Errorf("%.40q became %s", in, got)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	p := domain.ToolCallCompleted{V: 1, CallID: domain.NewCallID(), Attempt: 1, Output: domain.ToolOutput{Text: strings.Repeat("ok  sample/clean_test.go\tline <of> output\n", 22)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGeneralTransform(b *testing.B) {
	p := domain.ToolCallCompleted{V: 1, CallID: domain.NewCallID(), Attempt: 1, Output: domain.ToolOutput{Text: strings.Repeat("ok  sample/clean_test.go\tline <of> output\n", 22)}}
	b.ReportAllocs()
	for b.Loop() {
		raw, _ := json.Marshal(p)
		if _, err := jcs.Transform(raw); err != nil {
			b.Fatal(err)
		}
	}
}
