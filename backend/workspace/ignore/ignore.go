package ignore

import (
	"bytes"
	"path"
	"strings"
)

// maxFile bounds how much of one ignore file is read, bytes.
const maxFile = 1 << 20

// Matcher holds the patterns that are in force in one folder. It is immutable;
// a nil Matcher ignores nothing.
type Matcher struct {
	parent   *Matcher
	patterns []pattern
}

// pattern is one line of an ignore file.
type pattern struct {
	base    string // folder of its file, "" for the root, else with a trailing slash
	glob    string // without leading "!", leading and trailing "/"
	negate  bool
	dirOnly bool
	kind    kind
}

type kind uint8

const (
	anyName   kind = iota // glob over the last element
	exactName             // literal last element
	suffix                // "*" and a literal
	anyPath               // glob over the path from base
	exactPath             // literal path from base
)

// Enter returns the matcher for folder dir ("" for the root, slash-separated)
// whose ignore file has the given content. It returns m itself when content has
// no pattern.
func (m *Matcher) Enter(dir string, content []byte) *Matcher {
	if len(content) > maxFile {
		content = content[:maxFile]
	}
	base := dir
	if base == "." {
		base = ""
	}
	if base != "" {
		base += "/"
	}
	var ps []pattern
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		if p, ok := parse(base, string(bytes.TrimSuffix(line, []byte("\r")))); ok {
			ps = append(ps, p)
		}
	}
	if len(ps) == 0 {
		return m
	}
	return &Matcher{parent: m, patterns: ps}
}

// Match reports whether rel (slash-separated, from the root) is ignored by the
// patterns in force in its folder. The caller does not descend into an ignored
// folder: nothing below it can be taken back in.
func (m *Matcher) Match(rel string, isDir bool) bool {
	name := path.Base(rel)
	for ; m != nil; m = m.parent {
		for i := len(m.patterns) - 1; i >= 0; i-- {
			if p := &m.patterns[i]; p.match(rel, name, isDir) {
				return !p.negate
			}
		}
	}
	return false
}

func parse(base, line string) (pattern, bool) {
	p := pattern{base: base}
	line = trimSpace(line)
	if line == "" || line[0] == '#' {
		return p, false
	}
	if line[0] == '!' {
		p.negate, line = true, line[1:]
	}
	if s, ok := strings.CutSuffix(line, "/"); ok {
		p.dirOnly, line = true, s
	}
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return p, false
	}
	literal := !strings.ContainsAny(line, `*?[\`)
	switch {
	case anchored && literal:
		p.kind = exactPath
	case anchored:
		p.kind = anyPath
	case literal:
		p.kind = exactName
	case line[0] == '*' && !strings.ContainsAny(line[1:], `*?[\`):
		p.kind, line = suffix, line[1:]
	}
	p.glob = line
	return p, true
}

// trimSpace drops trailing spaces that are not escaped.
func trimSpace(s string) string {
	for strings.HasSuffix(s, " ") {
		n := len(s) - 1
		slashes := 0
		for n-1-slashes >= 0 && s[n-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 1 {
			return s
		}
		s = s[:n]
	}
	return s
}

func (p *pattern) match(rel, name string, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	switch p.kind {
	case anyPath, exactPath:
	case exactName:
		return name == p.glob
	case suffix:
		return strings.HasSuffix(name, p.glob)
	case anyName:
		return wildmatch(p.glob, name)
	}
	rest, ok := strings.CutPrefix(rel, p.base)
	if !ok {
		return false
	}
	if p.kind == exactPath {
		return rest == p.glob
	}
	return wildmatch(p.glob, rest)
}
