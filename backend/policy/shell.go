package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is what the text of a shell command was seen to do. It serves rules
// that restrict; that something is not seen here never means that it is safe.
type Command struct {
	Calls   []Call // every program or builtin that is called, wrapped ones too
	Writes  []Word // targets of redirects that write
	Problem string // why the text could not be read whole, "" when it could
}

// Call is one program with its arguments.
type Call struct {
	Words []Word
	Via   []string // wrappers around it, outermost first: "timeout", "xargs"
}

// Word is one word of a command. A dynamic one is known only when it runs.
type Word struct {
	Text    string
	Dynamic bool
}

// maxDepth bounds how deep text within text is followed.
const maxDepth = 8

// Analyze parses a Bash command. It follows pipes, lists, subshells, functions,
// substitutions, redirects, text given to another shell, and wrappers.
func Analyze(text string) Command {
	var c Command
	c.read(text, nil, 0)
	return c
}

func (c *Command) problem(format string, args ...any) {
	if c.Problem == "" {
		c.Problem = fmt.Sprintf(format, args...)
	}
}

func (c *Command) read(text string, via []string, depth int) {
	if depth > maxDepth {
		c.problem("it nests commands too deeply")
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		c.problem("it is not valid Bash (%.120s)", err)
		if file == nil {
			return
		}
	}
	aliases := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				words := make([]Word, len(n.Args))
				for i, a := range n.Args {
					words[i] = word(a)
				}
				aliases = aliases || words[0].Text == "alias"
				c.call(words, via, depth)
			}
		case *syntax.DeclClause: // export, local, declare, …
			c.Calls = append(c.Calls, Call{Words: []Word{{Text: n.Variant.Value}}, Via: via})
		case *syntax.Redirect:
			if writes(n.Op) && n.Word != nil {
				if w := word(n.Word); n.Op != syntax.DplOut || strings.Trim(w.Text, "0123456789-") != "" {
					c.Writes = append(c.Writes, w)
				}
			}
		}
		return true
	})
	if aliases {
		c.problem("it defines aliases")
	}
}

func writes(op syntax.RedirOperator) bool {
	switch op {
	case syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return false
	default:
		return true
	}
}

// word returns a word's text when it is fixed: no expansion, no glob in it.
func word(w *syntax.Word) Word {
	var b strings.Builder
	out := Word{}
	var part func(p syntax.WordPart, quoted bool)
	part = func(p syntax.WordPart, quoted bool) {
		switch p := p.(type) {
		case *syntax.Lit:
			text := p.Value
			if !quoted {
				if strings.ContainsAny(text, "*?[{") && text != "[" && text != "[[" && text != "{}" {
					out.Dynamic = true
				}
				text = unescape(text)
			} else {
				text = unescapeQuoted(text)
			}
			b.WriteString(text)
		case *syntax.SglQuoted:
			if p.Dollar { // $'…' has escapes of its own
				out.Dynamic = true
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				part(q, true)
			}
		default:
			out.Dynamic = true
		}
	}
	for _, p := range w.Parts {
		part(p, false)
	}
	out.Text = b.String()
	return out
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unescapeQuoted(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(s)
}

// call records a call and what it wraps.
func (c *Command) call(words []Word, via []string, depth int) {
	if len(words) == 0 {
		return
	}
	c.Calls = append(c.Calls, Call{Words: words, Via: via})
	if words[0].Dynamic {
		c.problem("the program it runs is known only when it runs")
		return
	}
	name := path.Base(words[0].Text)
	if depth > maxDepth {
		c.problem("it nests commands too deeply")
		return
	}
	inner := append(slices.Clone(via), name)
	switch {
	case isShell(name):
		c.shell(words[1:], inner, depth)
	case name == "eval":
		text, dynamic := joined(words[1:])
		if dynamic {
			c.problem("eval runs a text that is known only when it runs")
		}
		c.read(text, inner, depth+1)
	case name == "." || name == "source":
		c.problem("it runs a file of commands")
	case name == "trap":
		if len(words) > 1 {
			c.read(words[1].Text, inner, depth+1)
		}
	case name == "find" || name == "fd":
		c.find(words[1:], inner, depth)
	case name == "ssh" || name == "su" || name == "script":
		c.problem("%s runs a text of its own", name)
	case name == "watch":
		text, _ := joined(options(words[1:], "n"))
		c.read(text, inner, depth+1)
	case name == "env" && splits(words[1:]) >= 0:
		text, dynamic := joined(words[1+splits(words[1:]):])
		if dynamic {
			c.problem("env runs a text that is known only when it runs")
		}
		c.read(strings.TrimPrefix(strings.TrimPrefix(text, "-S"), "--split-string="), inner, depth+1)
	default:
		if skip, ok := wrappers[name]; ok {
			if rest := skip(words[1:]); len(rest) > 0 {
				c.call(rest, inner, depth+1)
			}
		}
	}
}

// shell follows `sh -c TEXT`; a script or standard input cannot be read here.
func (c *Command) shell(args []Word, via []string, depth int) {
	for i, a := range args {
		if a.Dynamic {
			c.problem("a shell runs a text that is known only when it runs")
			return
		}
		if strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "--") && strings.Contains(a.Text, "c") {
			rest := args[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "-") {
				rest = rest[1:]
			}
			if len(rest) == 0 || rest[0].Dynamic {
				c.problem("a shell runs a text that is known only when it runs")
				return
			}
			c.read(rest[0].Text, via, depth+1)
			return
		}
	}
	c.problem("a shell runs a file or its input")
}

// find follows -exec and its kin.
func (c *Command) find(args []Word, via []string, depth int) {
	for i, a := range args {
		switch a.Text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			rest := args[i+1:]
			if end := slices.IndexFunc(rest, func(w Word) bool { return w.Text == ";" || w.Text == "+" }); end >= 0 {
				rest = rest[:end]
			}
			c.call(rest, via, depth+1)
		case "-delete":
			c.Calls = append(c.Calls, Call{Words: []Word{{Text: "rm"}}, Via: via})
		}
	}
}

// splits finds env's option that takes a command as one text.
func splits(args []Word) int {
	return slices.IndexFunc(args, func(w Word) bool {
		return strings.HasPrefix(w.Text, "-S") || strings.HasPrefix(w.Text, "--split-string")
	})
}

func joined(words []Word) (string, bool) {
	parts := make([]string, len(words))
	dynamic := false
	for i, w := range words {
		parts[i] = w.Text
		dynamic = dynamic || w.Dynamic
	}
	return strings.Join(parts, " "), dynamic
}

// wrappers are programs that run the rest of their arguments; each entry skips the
// wrapper's own. Skipping too little is safe: the words are then looked at as a
// call that no rule knows, after the wrapper itself was.
var wrappers = map[string]func([]Word) []Word{
	"env":      func(w []Word) []Word { return assignments(options(w, "uCS")) },
	"timeout":  func(w []Word) []Word { return drop(options(w, "ks"), 1) },
	"nice":     func(w []Word) []Word { return options(w, "n") },
	"ionice":   func(w []Word) []Word { return options(w, "cnpPu") },
	"nohup":    func(w []Word) []Word { return options(w, "") },
	"setsid":   func(w []Word) []Word { return options(w, "") },
	"stdbuf":   func(w []Word) []Word { return options(w, "ioe") },
	"time":     func(w []Word) []Word { return options(w, "fo") },
	"command":  func(w []Word) []Word { return options(w, "") },
	"builtin":  func(w []Word) []Word { return options(w, "") },
	"exec":     func(w []Word) []Word { return options(w, "a") },
	"sudo":     func(w []Word) []Word { return assignments(options(w, "ugpCchrtTUD")) },
	"doas":     func(w []Word) []Word { return options(w, "uC") },
	"xargs":    func(w []Word) []Word { return options(w, "aEeIiLlnPsd") },
	"parallel": func(w []Word) []Word { return options(w, "jaS") },
	"chroot":   func(w []Word) []Word { return drop(options(w, ""), 1) },
	"unshare":  func(w []Word) []Word { return options(w, "SG") },
	"nsenter":  func(w []Word) []Word { return options(w, "tSG") },
	"strace":   func(w []Word) []Word { return options(w, "eopsuPEaOSX") },
	"ltrace":   func(w []Word) []Word { return options(w, "eopsuaFl") },
	"flock":    func(w []Word) []Word { return drop(options(w, "wE"), 1) },
	"busybox":  func(w []Word) []Word { return w },
	"toybox":   func(w []Word) []Word { return w },
	"taskset":  func(w []Word) []Word { return drop(options(w, ""), 1) },
	"chrt":     func(w []Word) []Word { return drop(options(w, "TPD"), 1) },
	"prlimit":  func(w []Word) []Word { return options(w, "") },
	"systemd-run": func(w []Word) []Word {
		return options(w, "pEut")
	},
}

// options skips leading options; those of withValue take the next word when their
// value is not attached.
func options(w []Word, withValue string) []Word {
	for len(w) > 0 {
		t := w[0].Text
		switch {
		case t == "--":
			return w[1:]
		case w[0].Dynamic || len(t) < 2 || t[0] != '-':
			return w
		case !strings.HasPrefix(t, "--") && len(t) == 2 && strings.Contains(withValue, t[1:]):
			w = drop(w, 2)
		default:
			w = w[1:]
		}
	}
	return w
}

func assignments(w []Word) []Word {
	for len(w) > 0 && strings.Contains(w[0].Text, "=") && !strings.HasPrefix(w[0].Text, "=") {
		w = w[1:]
	}
	return w
}

func drop(w []Word, n int) []Word { return w[min(n, len(w)):] }

// runs reports whether a command that begins with these words is called: yes, no,
// or perhaps when words that matter are known only at run time or the text could
// not be read.
func (c Command) runs(prefix []string) answer {
	result := no
	if c.Problem != "" {
		result = perhaps
	}
	for _, call := range c.Calls {
		result = max(result, call.begins(prefix))
	}
	return result
}

// begins compares word by word. Options between the words of a command, with a
// value or without, are passed over: `git -C dir push` begins with `git push`.
func (call Call) begins(prefix []string) answer {
	result := yes
	words := call.Words
	for i, want := range prefix {
		passed := false
		for i > 0 && len(words) > 0 && !words[0].Dynamic && strings.HasPrefix(words[0].Text, "-") && !strings.HasPrefix(want, "-") {
			words, passed = words[1:], true
		}
		if passed && len(words) > 1 && words[0].Text != want && words[1].Text == want {
			words = words[1:]
		}
		if len(words) == 0 {
			return no
		}
		text := words[0].Text
		if i == 0 {
			text = path.Base(text)
		}
		switch {
		case words[0].Dynamic:
			result = perhaps
		case text == want:
		case passed && slices.ContainsFunc(words, func(w Word) bool { return w.Text == want || w.Dynamic }):
			return perhaps
		default:
			return no
		}
		words = words[1:]
	}
	return result
}
