package diff

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func lines(s ...string) []byte { return []byte(strings.Join(s, "\n") + "\n") }

// fileGen draws a file of some kind: plain, CRLF, mixed, without a final newline,
// with a BOM, UTF-16, Latin-1, binary.
func fileGen() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		ls := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "  d", "}", "func x() {", "é", "\xe9 latin"}), 0, 14).Draw(t, "lines")
		kind := rapid.SampledFrom([]string{"lf", "crlf", "mixed", "bom", "utf16le", "utf16be", "binary", "cr"}).Draw(t, "kind")
		final := rapid.Bool().Draw(t, "final")
		var sb strings.Builder
		for i, l := range ls {
			sb.WriteString(l)
			if i == len(ls)-1 && !final {
				break
			}
			switch kind {
			case "crlf":
				sb.WriteString("\r\n")
			case "mixed":
				sb.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\r", "\n\n"}).Draw(t, "nl"))
			case "cr":
				sb.WriteString("\r")
			default:
				sb.WriteString("\n")
			}
		}
		s := sb.String()
		switch kind {
		case "bom":
			return []byte("\xef\xbb\xbf" + s)
		case "utf16le":
			return utf16Bytes(s, binary.LittleEndian)
		case "utf16be":
			return utf16Bytes(s, binary.BigEndian)
		case "binary":
			return []byte(s + "\x00" + s)
		}
		return []byte(s)
	})
}

func utf16Bytes(s string, o binary.AppendByteOrder) []byte {
	out := o.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(strings.ToValidUTF8(s, "?"))) {
		out = o.AppendUint16(out, u)
	}
	return out
}

// edited draws a version of b with some lines changed, kept in its encoding.
func edited(t *rapid.T, b []byte) []byte {
	p := parse(b)
	if p.binary || rapid.IntRange(0, 9).Draw(t, "fresh") == 0 {
		return fileGen().Draw(t, "other")
	}
	out := slices.Clone(p.lines)
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		i := rapid.IntRange(0, len(out)).Draw(t, "at")
		switch rapid.IntRange(0, 2).Draw(t, "op") {
		case 0:
			l := rapid.SampledFrom([]string{"new\n", "a\n", "}\n", "\n", "x\r\n"}).Draw(t, "line")
			if p.enc == utf16le {
				l = string(utf16Bytes(l, binary.LittleEndian)[2:])
			} else if p.enc == utf16be {
				l = string(utf16Bytes(l, binary.BigEndian)[2:])
			}
			if i == len(out) && i > 0 && !strings.HasSuffix(out[i-1], "\n") {
				continue
			}
			out = slices.Insert(out, i, l)
		case 1:
			if i < len(out) {
				out = slices.Delete(out, i, i+1)
			}
		case 2:
			if i+1 < len(out) {
				out[i] = out[i+1]
			}
		}
	}
	return []byte(strings.Join(out, ""))
}

func allOf(f *File) map[int]bool {
	m := map[int]bool{}
	for i := range f.Hunks {
		m[i] = true
	}
	return m
}

// R137
// Whatever is taken or dropped at once, the bytes are exactly those of one version
// or the other.
func TestTakeAndDropAreByteExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pre := fileGen().Draw(t, "pre")
		post := edited(t, pre)
		f := Compare("f.txt", pre, post)
		if f.Binary {
			if !parse(pre).binary && !parse(post).binary {
				t.Fatal("text taken for binary")
			}
			return
		}
		if got := f.Take(allOf(f)); !bytes.Equal(got, post) {
			t.Fatalf("taking all: %q, want %q", got, post)
		}
		if got := f.Drop(allOf(f)); !bytes.Equal(got, pre) {
			t.Fatalf("dropping all: %q, want %q", got, pre)
		}
		if got := f.Take(nil); !bytes.Equal(got, pre) {
			t.Fatalf("taking none: %q", got)
		}
		if got := f.Drop(nil); !bytes.Equal(got, post) {
			t.Fatalf("dropping none: %q", got)
		}
		some := map[int]bool{}
		rest := map[int]bool{}
		for i := range f.Hunks {
			if rapid.Bool().Draw(t, "take") {
				some[i] = true
			} else {
				rest[i] = true
			}
		}
		if a, b := f.Take(some), f.Drop(rest); !bytes.Equal(a, b) {
			t.Fatalf("taking some is not dropping the rest: %q, %q", a, b)
		}
	})
}

// R160
// Accepting or rejecting hunks one by one in any order, with a fresh comparison
// after each, ends: base and file are the same, and each byte is of one of them.
func TestOneByOneInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pre := fileGen().Draw(t, "pre")
		post := edited(t, pre)
		mode := rapid.SampledFrom([]string{"accept", "reject", "mixed"}).Draw(t, "mode")
		base, file := pre, post
		for steps := 0; ; steps++ {
			f := Compare("f.txt", base, file)
			if len(f.Hunks) == 0 {
				break
			}
			if steps > 60 {
				t.Fatalf("no end: %q %q", base, file)
			}
			i := rapid.IntRange(0, len(f.Hunks)-1).Draw(t, "hunk")
			accept := mode == "accept" || mode == "mixed" && rapid.Bool().Draw(t, "accept")
			if accept {
				base = f.Take(map[int]bool{i: true})
			} else {
				file = f.Drop(map[int]bool{i: true})
			}
			// the others are still there, under an id that finds them
			g := Compare("f.txt", base, file)
			if len(g.Hunks) >= len(f.Hunks) && g.Added+g.Removed >= f.Added+f.Removed {
				t.Fatalf("answering a hunk left as much to answer")
			}
		}
		if Compare("f.txt", base, file).Binary {
			return
		}
		if !bytes.Equal(base, file) {
			t.Fatalf("%s: base %q, file %q", mode, base, file)
		}
		if mode == "accept" && !bytes.Equal(file, post) || mode == "reject" && !bytes.Equal(base, pre) {
			t.Fatalf("%s changed the other side", mode)
		}
	})
}

// Lines is what a unified diff would show: old lines from " " and "-", new from " " and "+".
func TestHunksShowBothVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pre := fileGen().Draw(t, "pre")
		post := edited(t, pre)
		f := Compare("f.txt", pre, post)
		ids := map[string]bool{}
		endOld, endNew := 0, 0
		for _, h := range f.Hunks {
			if ids[h.ID] {
				t.Fatalf("id twice: %s", h.ID)
			}
			ids[h.ID] = true
			var o, n int
			at := h.OldStart - 1
			if h.OldLines == 0 {
				at++
			}
			for _, l := range h.Lines {
				if l.Op != "+" {
					want, nl := show(f.pre.lines[at+o], f.pre.enc)
					if l.Text != want || l.NoNL == nl {
						t.Fatalf("old line %d: %+v", at+o, l)
					}
					o++
				}
				if l.Op != "-" {
					n++
				}
			}
			if o != h.OldLines || n != h.NewLines {
				t.Fatalf("counts: %+v", h)
			}
			if at < endOld || h.NewStart-1 < endNew && h.NewLines > 0 {
				t.Fatalf("hunks overlap: %+v", f.Hunks)
			}
			endOld, endNew = at+o, h.NewStart-1+n
		}
	})
}

func TestSeparateHunks(t *testing.T) {
	var a, b []string
	for i := range 30 {
		a = append(a, fmt.Sprint("line ", i))
	}
	b = slices.Clone(a)
	b[5], b[7], b[10], b[25] = "x", "y", "z", "w"
	f := Compare("f", lines(a...), lines(b...))
	if len(f.Hunks) != 3 || f.Added != 4 || f.Removed != 4 {
		t.Fatalf("hunks: %+v", f.Hunks)
	}
	got := []string{}
	for _, h := range f.Hunks {
		got = append(got, fmt.Sprintf("-%d,%d +%d,%d", h.OldStart, h.OldLines, h.NewStart, h.NewLines))
	}
	want := []string{"-3,7 +3,7", "-10,5 +10,5", "-23,7 +23,7"}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v want %v", got, want)
	}
}

func TestMovedIDsAreFound(t *testing.T) {
	f := Compare("f", lines("a", "b", "c", "d", "e", "f", "g"), lines("new", "a", "b", "c", "X", "e", "f", "g"))
	if len(f.Hunks) != 2 {
		t.Fatalf("%+v", f.Hunks)
	}
	second := f.Hunks[1].ID
	g := Compare("f", f.Take(map[int]bool{0: true}), f.Drop(nil))
	if i, err := g.Find(second); err != nil || i != 0 {
		t.Fatalf("moved hunk: %d %v", i, err)
	}
	if _, err := g.Find("0000000000000000-1"); err == nil {
		t.Fatal("found a hunk that is not there")
	}
	// two equal hunks: a place that is neither's is refused
	h := Compare("f", lines("a", "1", "2", "3", "a", "1", "2", "3"), lines("b", "1", "2", "3", "b", "1", "2", "3"))
	if _, err := h.Find(content(h.Hunks[0].ID) + "-99"); err == nil {
		t.Fatal("an ambiguous hunk was found")
	}
}

func TestSlidesToWholeFunctions(t *testing.T) {
	pre := "func a() {\n\tx\n}\n\nfunc c() {\n\tx\n}\n"
	post := "func a() {\n\tx\n}\n\nfunc b() {\n\tx\n}\n\nfunc c() {\n\tx\n}\n"
	f := Compare("f.go", []byte(pre), []byte(post))
	var added []string
	for _, l := range f.Hunks[0].Lines {
		if l.Op == "+" {
			added = append(added, l.Text)
		}
	}
	if want := []string{"func b() {", "\tx", "}", ""}; !slices.Equal(added, want) {
		t.Fatalf("got %q", added)
	}
}

func TestSections(t *testing.T) {
	py := lines("import csv", "", "class Cleaner:", "    def load(self, p):", "        a", "        b", "        c", "        d", "        e", "        f")
	f := Compare("c.py", py, bytes.Replace(py, []byte("        f"), []byte("        region"), 1))
	if got := f.Hunks[0].Section; got != "def load(self, p):" {
		t.Errorf("python: %q", got)
	}
	md := lines("# Title", "text", "text", "## Part", "1", "2", "3", "4", "5")
	f = Compare("R.MD", md, bytes.Replace(md, []byte("5"), []byte("6"), 1))
	if got := f.Hunks[0].Section; got != "## Part" {
		t.Errorf("markdown: %q", got)
	}
}

func TestNoNewlineAndCRLFAreShown(t *testing.T) {
	f := Compare("f", []byte("a\r\nb"), []byte("a\nb\n"))
	want := []Line{{"-", "a\r", false}, {"-", "b", true}, {"+", "a", false}, {"+", "b", false}}
	if got := f.Hunks[0].Lines; !slices.Equal(got, want) {
		t.Fatalf("got %+v", got)
	}
}

func TestLimits(t *testing.T) {
	if f := Compare("f", bytes.Repeat([]byte("x"), MaxBytes+1), nil); !f.TooBig || f.Hunks != nil {
		t.Fatal("a huge file was cut")
	}
	one := bytes.Repeat([]byte("x"), maxShown+1)
	if f := Compare("f", nil, one); !f.TooBig || !bytes.Equal(f.post2(), one) {
		t.Fatal("a huge line was shown")
	}
}

func (f *File) post2() []byte { return []byte(strings.Join(f.post.lines, "")) }

// R154
func TestLargeDiffIsFast(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a, b []string
	for i := range 100_000 {
		l := fmt.Sprintf("row %d, %d", i, r.IntN(1000))
		a = append(a, l)
		switch r.IntN(4) {
		case 0:
			b = append(b, l+" changed")
		case 1:
		default:
			b = append(b, l)
		}
	}
	start := time.Now()
	f := Compare("rows.csv", lines(a...), lines(b...))
	if took := time.Since(start); took > 20*time.Second {
		t.Fatalf("took %v", took)
	}
	if f.Added > 30_000 || f.Removed > 55_000 {
		t.Fatalf("a poor diff: +%d -%d", f.Added, f.Removed)
	}
	t.Logf("100,000 lines: %v, %d hunks", time.Since(start), len(f.Hunks))
}

func TestMergeCases(t *testing.T) {
	base := "1\n2\n3\n4\n5\n6\n"
	for _, c := range []struct {
		name, ours, theirs, want string
		ok                       bool
	}{
		{"both apart", "1x\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5x\n6\n", "1x\n2\n3\n4\n5x\n6\n", true},
		{"only ours", "1\n", base, "1\n", true},
		{"only theirs", base, "1\n", "1\n", true},
		{"same change", "1\n2y\n3\n4\n5\n6\n", "1\n2y\n3\n4\n5\n6z\n", "1\n2y\n3\n4\n5\n6z\n", true},
		{"same line", "1\n2y\n3\n4\n5\n6\n", "1\n2z\n3\n4\n5\n6\n", "", false},
		{"neighbours", "1\n2y\n3\n4\n5\n6\n", "1\n2\n3z\n4\n5\n6\n", "", false},
		{"insertions at one place", "1\na\n2\n3\n4\n5\n6\n", "1\nb\n2\n3\n4\n5\n6\n", "", false},
		{"deleted beside edit", "1\n4\n5\n6\n", "1\n2\n3x\n4\n5\n6\n", "", false},
		{"append to unterminated", "0\n1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\n6", "0\n1\n2\n3\n4\n5\n6", true},
		{"binary", "a\x00", "b\x00", "", false},
	} {
		got, ok := Merge([]byte(base), []byte(c.ours), []byte(c.theirs))
		if ok != c.ok || string(got) != c.want {
			t.Errorf("%s: %q %v", c.name, got, ok)
		}
	}
}

// Edits in separate regions always merge, and merging is symmetric.
func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := fileGen().Draw(t, "base")
		ours, theirs := edited(t, base), edited(t, base)
		ab, ok1 := Merge(base, ours, theirs)
		ba, ok2 := Merge(base, theirs, ours)
		if ok1 != ok2 || !bytes.Equal(ab, ba) {
			t.Fatalf("not symmetric: %q %v, %q %v", ab, ok1, ba, ok2)
		}
		if got, ok := Merge(base, ours, base); !ok || !bytes.Equal(got, ours) {
			t.Fatalf("nothing to merge: %q", got)
		}
		if got, ok := Merge(base, base, theirs); !ok || !bytes.Equal(got, theirs) {
			t.Fatalf("fast forward: %q", got)
		}
	})
}

func TestMergeApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		half := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "\n"}), 0, 8)
		wall := "wall 1\nwall 2\nwall 3\n"
		j := func(t *rapid.T, n string) string { return strings.Join(half.Draw(t, n), "") }
		h1, h2, n1, n2 := j(t, "h1"), j(t, "h2"), j(t, "n1"), j(t, "n2")
		got, ok := Merge([]byte(h1+wall+h2), []byte(n1+wall+h2), []byte(h1+wall+n2))
		if !ok || string(got) != n1+wall+n2 {
			t.Fatalf("%q %v", got, ok)
		}
	})
}

func FuzzHunks(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("a\nc"), uint64(1))
	f.Add([]byte("\xff\xfea\x00\n\x00"), []byte("\xff\xfea\x00\n\x00b\x00"), uint64(3))
	f.Add([]byte(""), []byte("\r\n\r"), uint64(0))
	f.Fuzz(func(t *testing.T, pre, post []byte, pick uint64) {
		d := Compare("f", pre, post)
		if d.Binary || d.TooBig {
			return
		}
		some, rest := map[int]bool{}, map[int]bool{}
		for i := range d.Hunks {
			if pick>>(i%64)&1 == 1 {
				some[i] = true
			} else {
				rest[i] = true
			}
		}
		if !bytes.Equal(d.Take(some), d.Drop(rest)) || !bytes.Equal(d.Take(allOf(d)), post) || !bytes.Equal(d.Drop(allOf(d)), pre) {
			t.Fatalf("%q %q", pre, post)
		}
	})
}
