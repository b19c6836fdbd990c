package textfile

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// R137
func TestReplaceBytes(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, new, want string
		all                  bool
	}{
		"lf":                           {file: "a\nb\nc\n", old: "b", new: "B", want: "a\nB\nc\n"},
		"no final newline":             {file: "a\nb", old: "b", new: "B", want: "a\nB"},
		"crlf matched by lf":           {file: "a\r\nb\r\nc\r\n", old: "a\nb\n", new: "a\nx\nb\n", want: "a\r\nx\r\nb\r\nc\r\n"},
		"one line becomes two in crlf": {file: "a\r\nb\r\n", old: "b", new: "x\ny", want: "a\r\nx\r\ny\r\n"},
		"crlf sent as crlf":            {file: "a\r\nb\r\n", old: "a\r\nb", new: "A\r\nb", want: "A\r\nb\r\n"},
		"mixed keeps each line's own":  {file: "a\r\nb\nc\r\nd\n", old: "a\nb\nc\nd", new: "A\nb\nC\nd", want: "A\r\nb\nC\r\nd\n"},
		"mixed, added line":            {file: "a\r\nb\nc\r\n", old: "b", new: "b\nx", want: "a\r\nb\nx\nc\r\n"},
		"endings asked for":            {file: "a\r\nb\r\n", old: "a\r\n", new: "a\n", want: "a\nb\r\n"},
		"lone cr stays":                {file: "a\rb\nc", old: "c", new: "C", want: "a\rb\nC"},
		"bom 8":                        {file: "\xEF\xBB\xBFa\nb\n", old: "a", new: "A", want: "\xEF\xBB\xBFA\nb\n"},
		"utf-16le":                     {file: "\xFF\xFEa\x00\n\x00\x3d\xd8\x00\xde", old: "a", new: "é", want: "\xFF\xFE\xe9\x00\n\x00\x3d\xd8\x00\xde"},
		"utf-16be":                     {file: "\xFE\xFF\x00a\x00b", old: "b", new: "B", want: "\xFE\xFF\x00a\x00B"},
		"windows-1252":                 {file: "caf\xe9 \x80\n", old: "café", new: "thé", want: "th\xe9 \x80\n"},
		"undefined in windows-1252":    {file: "caf\xe9 \x81 x\n", old: "x", new: "y", want: "caf\xe9 \x81 y\n"},
		"one bad byte in utf-8":        {file: "é è ü\xff\nx\n", old: "x", new: "y", want: "é è ü\xff\ny\n"},
		"all":                          {file: "x x\r\nx", old: "x", new: "yy", all: true, want: "yy yy\r\nyy"},
		"all, not overlapping":         {file: "aaa", old: "aa", new: "b", all: true, want: "ba"},
		"delete a line":                {file: "a\r\nb\r\nc", old: "b\n", new: "", want: "a\r\nc"},
		"whole file":                   {file: "a", old: "a", new: "b\nc", want: "b\nc"},
		"accents share a first byte":   {file: "é\n", old: "é", new: "è", want: "è\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Decode([]byte(c.file))
			res, err := f.Replace([]byte(c.file), c.old, c.new, c.all)
			if err != nil || string(res.Bytes) != c.want {
				t.Fatalf("%s: got %q, %v; want %q", f.Form(), res.Bytes, err, c.want)
			}
		})
	}
}

// R151
func TestReplaceRefuses(t *testing.T) {
	f := Decode([]byte("a\r\nb\na\nc a\n"))
	var amb *AmbiguousError
	if _, err := f.Replace([]byte(f.Text), "a", "b", false); !errors.As(err, &amb) || len(amb.Lines) != 3 || amb.Lines[2] != 4 {
		t.Errorf("ambiguous: %v", err)
	}
	if _, err := f.Replace([]byte(f.Text), "a", "a", false); !errors.Is(err, ErrNoChange) {
		t.Errorf("no change: %v", err)
	}
	w := []byte("caf\xe9")
	if _, err := Decode(w).Replace(w, "caf", "日", false); err == nil || !strings.Contains(err.Error(), "Windows-1252") {
		t.Errorf("cannot be encoded: %v", err)
	}
	bin := []byte("a\x00b")
	if _, err := Decode(bin).Replace(bin, "a", "b", false); err == nil {
		t.Error("binary was changed")
	}
	// A file that is not the decoded one any more: the verification finds it.
	if _, err := f.Replace([]byte("a\r\nb\nA\nc a\n"), "b", "x", false); err == nil {
		t.Error("bytes outside the change differed and nothing was said")
	}
}

func TestNearestSaysWhatDiffers(t *testing.T) {
	file := "package x\n\nfunc first() {\n\treturn \"one\"\n}\n\nfunc second() {\n\tvalue := compute(a, b)\n\treturn value\n}\n"
	for name, c := range map[string]struct {
		old  string
		line int
		want string
	}{
		"spaces for a tab": {"func first() {\n    return \"one\"\n}", 3, "only the spacing differs: line 4"},
		"curly quotes":     {"\treturn “one”", 4, "quotes"},
		"line numbers":     {"     3\tfunc first() {\n     4\t\treturn \"one\"", 3, "line numbers"},
		"another word":     {"func second() {\n\tvalue := compute(a, c)\n\treturn value", 7, `line 8 is "\tvalue := compute(a, b)"`},
	} {
		t.Run(name, func(t *testing.T) {
			near := Decode([]byte(file)).Nearest(c.old)
			if len(near) == 0 || near[0].First != c.line || !strings.Contains(near[0].Differs, c.want) {
				t.Fatalf("got %+v", near)
			}
		})
	}
	if near := Decode([]byte(file)).Nearest("nothing like this anywhere at all"); len(near) != 0 {
		t.Errorf("far-fetched: %+v", near)
	}
}

// R137
func TestDecodeEncodeIsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := fileBytes(t)
		f := Decode(b)
		if f.Binary {
			return
		}
		back, err := f.Encode(f.Text)
		if err != nil || !bytes.Equal(back, b) {
			t.Fatalf("%q became %q as %s, %v", b, back, f.Form(), err)
		}
	})
}

// R137
func TestEverythingOutsideTheChangeIsIdentical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := fileBytes(t)
		f := Decode(b)
		if f.Binary || f.Text == "" {
			return
		}
		runes := []rune(f.Text)
		i := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		j := rapid.IntRange(i+1, len(runes)).Draw(t, "to")
		old := string(runes[i:j])
		if rapid.Bool().Draw(t, "model sends lf") {
			old = strings.ReplaceAll(old, "\r\n", "\n")
		}
		new := rapid.StringMatching(`[a-cé\n]{0,6}`).Draw(t, "new")
		res, err := f.Replace(b, old, new, false)
		if err != nil {
			return // ambiguous, equal, not encodable, or cut inside a CRLF or a bad byte
		}
		at, size := f.find(old)
		start, err1 := f.Encode(f.Text[:at[0]])
		rest, err2 := f.encodeBody(f.Text[at[0]+size[0]:])
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if !bytes.HasPrefix(res.Bytes, start) || !bytes.HasSuffix(res.Bytes, rest) {
			t.Fatalf("begin or end differ: %q to %q", b, res.Bytes)
		}
	})
}

func fileBytes(t *rapid.T) []byte {
	text := rapid.StringOf(rapid.SampledFrom([]rune("ab é\t\n\r日“"))).Draw(t, "text")
	text = strings.ReplaceAll(text, "a\n", "a\r\n")
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		return append([]byte("\xEF\xBB\xBF"), text...)
	case 1:
		b, _ := File{Encoding: UTF16LE, BOM: bom16le}.Encode(text)
		return b
	case 2:
		b, _ := File{Encoding: UTF16BE, BOM: bom16be}.Encode(text)
		return b
	case 3:
		return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
	case 4:
		b, err := File{Encoding: Win1252}.Encode(strings.ReplaceAll(text, "日", "ü"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return []byte(text)
}

func TestAdoptKeepsTheForm(t *testing.T) {
	for name, c := range map[string]struct{ old, content, want string }{
		"crlf":         {"a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"},
		"mixed is not": {"a\r\nb\n", "x\ny\n", "x\ny\n"},
		"bom":          {"\xEF\xBB\xBFa", "x", "\xEF\xBB\xBFx"},
		"utf-16":       {"\xFF\xFEa\x00", "é", "\xFF\xFE\xe9\x00"},
		"latin":        {"\xe9", "ü", "\xfc"},
		"binary":       {"\x00", "x\n", "x\n"},
		"lf":           {"a\n", "x\r\n", "x\r\n"},
	} {
		got, _, err := Decode([]byte(c.old)).Adopt(c.content)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}
