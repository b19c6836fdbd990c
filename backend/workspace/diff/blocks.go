package diff

import (
	"cmp"
	"slices"
	"sort"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// block replaces lines [a0,a1) of the old version by lines [b0,b1) of the new.
type block struct{ a0, a1, b0, b1 int }

// exact is up to how many changed lines the lcs package finds the shortest edit;
// longer ones are first cut at lines that are unique in both versions.
const exact = 100

// blocks returns what differs between a and b, in order, never touching.
func blocks(a, b []string) []block {
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	ids := map[string]rune{}
	x, y := intern(ids, a[pre:len(a)-post]), intern(ids, b[pre:len(b)-post])
	out := joined(solve(x, y, pre, pre, nil, 0))
	slide(a, b, out)
	return joined(out)
}

// intern names equal lines by equal numbers.
func intern(ids map[string]rune, lines []string) []rune {
	out := make([]rune, len(lines))
	for i, l := range lines {
		id, ok := ids[l]
		if !ok {
			id = rune(len(ids))
			ids[l] = id
		}
		out[i] = id
	}
	return out
}

// solve appends the blocks between x and y, which begin at line ax of a and by of b.
func solve(x, y []rune, ax, by int, out []block, depth int) []block {
	if len(x) == 0 || len(y) == 0 {
		if len(x)+len(y) > 0 {
			out = append(out, block{ax, ax + len(x), by, by + len(y)})
		}
		return out
	}
	ds := lcs.DiffRunes(x, y)
	edits := 0
	for _, d := range ds {
		edits += d.End - d.Start + d.ReplEnd - d.ReplStart
	}
	var as []anchor
	if edits > exact && depth < 16 {
		as = anchors(x, y)
	}
	if len(as) == 0 {
		for _, d := range ds {
			out = append(out, block{ax + d.Start, ax + d.End, by + d.ReplStart, by + d.ReplEnd})
		}
		return out
	}
	px, py := 0, 0
	for _, n := range as {
		out = solve(x[px:n.x], y[py:n.y], ax+px, by+py, out, depth+1)
		px, py = n.x+1, n.y+1
	}
	return solve(x[px:], y[py:], ax+px, by+py, out, depth+1)
}

// anchor is a line that occurs once in each version.
type anchor struct{ x, y int }

// anchors returns the longest run of unique common lines that keeps its order.
func anchors(x, y []rune) []anchor {
	type seen struct{ inX, inY, atX, atY int }
	m := make(map[rune]*seen, len(x))
	for i, r := range x {
		s := m[r]
		if s == nil {
			s = &seen{}
			m[r] = s
		}
		s.inX++
		s.atX = i
	}
	for i, r := range y {
		if s := m[r]; s != nil {
			s.inY++
			s.atY = i
		}
	}
	var all []anchor
	for _, s := range m {
		if s.inX == 1 && s.inY == 1 {
			all = append(all, anchor{s.atX, s.atY})
		}
	}
	slices.SortFunc(all, func(p, q anchor) int { return cmp.Compare(p.x, q.x) })
	return increasing(all)
}

// increasing is patience sorting: the longest subsequence with increasing y.
func increasing(all []anchor) []anchor {
	var tops []int // index in all of the smallest end of a run of each length
	prev := make([]int, len(all))
	for i, n := range all {
		k := sort.Search(len(tops), func(k int) bool { return all[tops[k]].y >= n.y })
		prev[i] = -1
		if k > 0 {
			prev[i] = tops[k-1]
		}
		if k == len(tops) {
			tops = append(tops, i)
		} else {
			tops[k] = i
		}
	}
	if len(tops) == 0 {
		return nil
	}
	out := make([]anchor, len(tops))
	for i, k := tops[len(tops)-1], len(tops)-1; k >= 0; i, k = prev[i], k-1 {
		out[k] = all[i]
	}
	return out
}

// joined merges blocks that touch.
func joined(bs []block) []block {
	out := bs[:0]
	for _, b := range bs {
		if n := len(out); n > 0 && out[n-1].a1 == b.a0 && out[n-1].b1 == b.b0 {
			out[n-1].a1, out[n-1].b1 = b.a1, b.b1
			continue
		}
		out = append(out, b)
	}
	return out
}

// slideMax bounds how far a block is moved to a better place.
const slideMax = 200

// slide moves pure insertions and deletions among the equal places they could
// stand at to where a person would have put them: before a whole function, say,
// not from one closing brace to the next.
func slide(a, b []string, bs []block) {
	for i := range bs {
		k := &bs[i]
		// It stays a line away from its neighbours, so that blocks do not grow together.
		lo, hi := block{a1: -1, b1: -1}, block{a0: len(a) + 1, b0: len(b) + 1}
		if i > 0 {
			lo = bs[i-1]
		}
		if i+1 < len(bs) {
			hi = bs[i+1]
		}
		switch {
		case k.a0 == k.a1:
			d := best(b, k.b0, k.b1, min(k.b0-lo.b1, k.a0-lo.a1), min(hi.b0-k.b1, hi.a0-k.a1))
			*k = block{k.a0 + d, k.a1 + d, k.b0 + d, k.b1 + d}
		case k.b0 == k.b1:
			d := best(a, k.a0, k.a1, min(k.b0-lo.b1, k.a0-lo.a1), min(hi.b0-k.b1, hi.a0-k.a1))
			*k = block{k.a0 + d, k.a1 + d, k.b0 + d, k.b1 + d}
		}
	}
}

// best returns by how much lines [s,e) move: less than up upwards or down downwards.
func best(lines []string, s, e, up, down int) int {
	at, cost := 0, slideCost(lines, s, e)
	for d := 1; d <= slideMax && d < down && lines[s+d-1] == lines[e+d-1]; d++ {
		if c := slideCost(lines, s+d, e+d); c <= cost {
			at, cost = d, c
		}
	}
	for d := 1; d <= slideMax && d < up && lines[s-d] == lines[e-d]; d++ {
		if c := slideCost(lines, s-d, e-d); c < cost {
			at, cost = -d, c
		}
	}
	return at
}

func slideCost(lines []string, s, e int) int {
	indent, blank, closing := shape(lines[s])
	cost := 0
	if blank {
		cost += 3
		for i := s + 1; i < e && blank; i++ {
			indent, blank, closing = shape(lines[i])
		}
	}
	cost += 4 * indent
	if closing {
		cost += 3
	}
	if s > 0 {
		if _, before, _ := shape(lines[s-1]); !before {
			cost += 2
		}
	}
	return cost
}

// shape measures a line: columns of indentation, blank, begins with a closing bracket.
func shape(line string) (indent int, blank, closing bool) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			indent++
		case '\t':
			indent += 8 - indent%8
		case '\r', '\n', 0:
		default:
			c := line[i]
			return indent, false, c == '}' || c == ')' || c == ']'
		}
	}
	return 0, true, false
}
