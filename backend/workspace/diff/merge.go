package diff

import (
	"bytes"
	"slices"
)

// Merge applies what theirs changed since base to ours. It reports false when both
// changed the same or neighbouring lines differently, or when the bytes have no
// lines to merge by; then nothing is returned.
func Merge(base, ours, theirs []byte) ([]byte, bool) {
	switch {
	case bytes.Equal(ours, theirs), bytes.Equal(base, theirs):
		return slices.Clone(ours), true
	case bytes.Equal(base, ours):
		return slices.Clone(theirs), true
	}
	if len(base) > MaxBytes || len(ours) > MaxBytes || len(theirs) > MaxBytes {
		return nil, false
	}
	o, a, b := parse(base), parse(ours), parse(theirs)
	if o.binary || a.binary || b.binary || o.enc != a.enc || o.enc != b.enc {
		return nil, false
	}
	x, y := blocks(o.lines, a.lines), blocks(o.lines, b.lines)
	var out []byte
	at := 0
	put := func(lines []string) {
		for _, l := range lines {
			out = append(out, l...)
		}
	}
	for len(x)+len(y) > 0 {
		lo, hi := first(x, y)
		var xs, ys []block
		// A cluster is all blocks of both sides that overlap or touch.
		for {
			n := len(xs) + len(ys)
			for len(x) > 0 && x[0].a0 <= hi {
				hi = max(hi, x[0].a1)
				xs, x = append(xs, x[0]), x[1:]
			}
			for len(y) > 0 && y[0].a0 <= hi {
				hi = max(hi, y[0].a1)
				ys, y = append(ys, y[0]), y[1:]
			}
			if len(xs)+len(ys) == n {
				break
			}
		}
		put(o.lines[at:lo])
		at = hi
		mine, other := side(o.lines, a.lines, xs, lo, hi), side(o.lines, b.lines, ys, lo, hi)
		switch {
		case len(ys) == 0, slices.Equal(mine, other):
			put(mine)
		case len(xs) == 0:
			put(other)
		default:
			return nil, false
		}
	}
	put(o.lines[at:])
	return out, true
}

// first returns the range of the next block of either side.
func first(x, y []block) (lo, hi int) {
	if len(y) == 0 || len(x) > 0 && x[0].a0 <= y[0].a0 {
		return x[0].a0, x[0].a1
	}
	return y[0].a0, y[0].a1
}

// side writes lines [lo,hi) of the base as one side has them.
func side(base, lines []string, bs []block, lo, hi int) []string {
	var out []string
	at := lo
	for _, k := range bs {
		out = append(out, base[at:k.a0]...)
		out = append(out, lines[k.b0:k.b1]...)
		at = k.a1
	}
	return append(out, base[at:hi]...)
}
