package ignore

import "strings"

// wildmatch matches text against a glob by Git's rules: "*" and "?" stop at a
// slash, "**" between slashes spans folders, brackets know ranges, negation and
// classes, "\" quotes.
func wildmatch(glob, text string) bool {
	// budget bounds the backtracking of hostile patterns; past it nothing matches,
	// so that more is seen rather than less.
	budget := 1 << 16
	return wild(glob, text, true, &budget)
}

// wild matches; start says that text begins an element of the path.
func wild(glob, text string, start bool, budget *int) bool {
	for len(glob) > 0 {
		if *budget--; *budget < 0 {
			return false
		}
		switch glob[0] {
		case '*':
			return star(glob, text, start, budget)
		case '?':
			if text == "" || text[0] == '/' {
				return false
			}
			glob, text = glob[1:], text[1:]
		case '[':
			if text == "" || text[0] == '/' {
				return false
			}
			rest, ok := bracket(glob, text[0])
			if !ok {
				return false
			}
			glob, text = rest, text[1:]
		case '\\':
			if len(glob) < 2 || text == "" || text[0] != glob[1] {
				return false
			}
			glob, text = glob[2:], text[1:]
		default:
			if text == "" || text[0] != glob[0] {
				return false
			}
			start = glob[0] == '/'
			glob, text = glob[1:], text[1:]
			continue
		}
		start = false
	}
	return text == ""
}

func star(glob, text string, start bool, budget *int) bool {
	n := 1
	for n < len(glob) && glob[n] == '*' {
		n++
	}
	rest := glob[n:]
	if n == 2 && start && (rest == "" || rest[0] == '/') {
		if rest == "" {
			return true // "a/**": everything below
		}
		if wild(rest[1:], text, true, budget) { // "**/" may be nothing
			return true
		}
		for i := range len(text) {
			if text[i] == '/' && wild(rest[1:], text[i+1:], true, budget) {
				return true
			}
		}
		return false
	}
	for i := 0; ; i++ {
		if wild(rest, text[i:], false, budget) {
			return true
		}
		if i == len(text) || text[i] == '/' {
			return false
		}
	}
}

// bracket matches c against the bracket expression that begins glob.
func bracket(glob string, c byte) (rest string, ok bool) {
	i := 1
	negate := false
	if i < len(glob) && (glob[i] == '!' || glob[i] == '^') {
		negate = true
		i++
	}
	matched := false
	for first := true; ; first = false {
		if i >= len(glob) {
			return "", false // never closed: matches nothing
		}
		if glob[i] == ']' && !first {
			break
		}
		if strings.HasPrefix(glob[i:], "[:") {
			if end := strings.Index(glob[i:], ":]"); end > 0 {
				if class(glob[i+2:i+end], c) {
					matched = true
				}
				i += end + 2
				continue
			}
		}
		lo, n := literal(glob[i:])
		if n == 0 {
			return "", false
		}
		i += n
		hi := lo
		if i+1 < len(glob) && glob[i] == '-' && glob[i+1] != ']' {
			var m int
			if hi, m = literal(glob[i+1:]); m == 0 {
				return "", false
			}
			i += 1 + m
		}
		if lo <= c && c <= hi {
			matched = true
		}
	}
	return glob[i+1:], matched != negate
}

func literal(s string) (byte, int) {
	if s[0] != '\\' {
		return s[0], 1
	}
	if len(s) < 2 {
		return 0, 0
	}
	return s[1], 2
}

func class(name string, c byte) bool {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	switch name {
	case "alnum":
		return lower || upper || digit
	case "alpha":
		return lower || upper
	case "digit":
		return digit
	case "lower":
		return lower
	case "upper":
		return upper
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r'
	case "blank":
		return c == ' ' || c == '\t'
	case "punct":
		return c > ' ' && c < 0x7f && !lower && !upper && !digit
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
	case "cntrl":
		return c < ' ' || c == 0x7f
	case "print":
		return c >= ' ' && c < 0x7f
	case "graph":
		return c > ' ' && c < 0x7f
	}
	return false
}
