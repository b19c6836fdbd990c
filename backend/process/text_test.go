package process

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// R150
func TestClean(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":                   {"grün\tund\nblau", "grün\tund\nblau"},
		"colour":                  {"\x1b[1;31mFAIL\x1b[0m x", "FAIL x"},
		"clipboard":               {"a\x1b]52;c;cHduZWQ=\x07b", "ab"},
		"title with ST":           {"a\x1b]0;title\x1b\\b", "ab"},
		"hyperlink":               {"\x1b]8;;file:///etc\x1b\\text\x1b]8;;\x1b\\", "text"},
		"device control":          {"a\x1bP1$r0m\x1b\\b", "ab"},
		"charset":                 {"\x1b(Ba\x1b)0b", "ab"},
		"one letter":              {"\x1bca\x1b7b", "ab"},
		"C1":                      {"a\u009b31mb\u0085c", "ab<U+0085>c"},
		"NUL":                     {"a\x00b", "a␀b"},
		"bell, backspace, delete": {"\a\b\x7f", "␇␈␡"},
		"line ends":               {"a\r\nb\rc\r\r\nd\r", "a\nb\nc\n\nd\n"},
		"bidi":                    {"x\u202egpj.exe", "x<U+202E>gpj.exe"},
		"tags":                    {"a\U000e0041b", "a<U+E0041>b"},
		"invalid":                 {"a\xff\xfe\xfdb\xc3", "a\ufffdb\ufffd"},
		"newline ends a string":   {"a\x1b]0;never closed\nb", "a\nb"},
		"lone escape":             {"a\x1b", "a"},
		"cancelled":               {"a\x1b[31\x18b", "ab"},
		"escape within":           {"a\x1b[3\x1b[0mb", "ab"},
		"other language":          {"日本\u200d👩\u200d💻", "日本\u200d👩\u200d💻"},
	} {
		if got := Clean([]byte(c.in)); got != c.want {
			t.Errorf("%s: %q became %q, want %q", name, c.in, got, c.want)
		}
	}
	long := "\x1b]" + strings.Repeat("x", 3*maxSequence) + "end"
	if got := Clean([]byte(long)); !strings.HasSuffix(got, "end") {
		t.Error("a stray escape hides everything after it")
	}
}

// R150: whatever comes, in whatever pieces, the text is harmless.
func TestCleanIsHarmlessAndIndependentOfChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SampledFrom([][]byte{
			[]byte("\x1b["), []byte("\x1b]"), []byte("\x1b\\"), []byte("m"), []byte("é"), []byte("\xe2\x82"), []byte("\u202e"), []byte("\r"), []byte("\n"),
		}))
		parts := rapid.SliceOfN(piece, 0, 12).Draw(t, "parts")
		var all []byte
		var c Cleaner
		var got strings.Builder
		for _, p := range parts {
			all = append(all, p...)
			got.WriteString(c.Write(append([]byte(nil), p...)))
		}
		got.WriteString(c.Close())
		if got.String() != Clean(all) {
			t.Fatalf("chunks give %q, the whole %q", got.String(), Clean(all))
		}
		if !utf8.ValidString(got.String()) {
			t.Fatal("not UTF-8")
		}
		for _, r := range got.String() {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || reorders(r) {
				t.Fatalf("%U came through", r)
			}
		}
	})
}

// R150: head and tail are exactly the beginning and the end, for any chunks.
func TestKeep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := keep{headMax: rapid.IntRange(0, 20).Draw(t, "head"), tailMax: rapid.IntRange(0, 20).Draw(t, "tail")}
		var all []byte
		for _, p := range rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange('a', 'z'), 0, 30), 0, 10).Draw(t, "chunks") {
			k.write(p)
			all = append(all, p...)
		}
		head, tail, dropped := k.parts()
		if int64(len(head)+len(tail))+dropped != int64(len(all)) {
			t.Fatalf("%d + %d + %d bytes of %d", len(head), len(tail), dropped, len(all))
		}
		if !strings.HasPrefix(string(all), string(head)) || !strings.HasSuffix(string(all), string(tail)) {
			t.Fatalf("head %q and tail %q of %q", head, tail, all)
		}
		if len(all) <= k.headMax+k.tailMax && dropped != 0 {
			t.Fatal("dropped what fits")
		}
	})
}

func TestKeepCutsBetweenRunes(t *testing.T) {
	k := keep{headMax: 4, tailMax: 4}
	k.write([]byte("aä€xxxxxx€€b")) // the cuts fall into both euro signs
	head, tail, dropped := k.parts()
	if string(head) != "aä" || string(tail) != "€b" || dropped != int64(len("aä€xxxxxx€€b")-3-4) {
		t.Fatalf("head %q tail %q dropped %d", head, tail, dropped)
	}
}
