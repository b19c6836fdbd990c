package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"worksite/backend/domain"
)

// Rule is a restriction that a person, a workspace or an organisation adds. It
// forbids or asks; there is no rule that allows.
type Rule struct {
	Name    string         `json:"name"`
	Verdict domain.Verdict `json:"verdict"`           // VerdictRefuse or VerdictAsk
	Tool    string         `json:"tool,omitempty"`    // "" is any
	Command string         `json:"command,omitempty"` // first words of a command, e.g. "git push"; wherever it stands in the text
	Path    string         `json:"path,omitempty"`    // glob of changed files, e.g. "migrations/**"
	Reason  string         `json:"reason,omitempty"`
	// Sure limits a rule that asks to commands that are certain to be meant; else
	// a command that is built while it runs is asked about as well.
	Sure bool `json:"sure,omitempty"`
}

// Defaults are the platform's own rules, which come before all others. What they
// ask about changes a repository's own state: restoring files does not bring it
// back.
var Defaults = func() []Rule {
	var out []Rule
	for _, c := range []string{
		"git reset", "git clean", "git rebase", "git push", "git stash", "git filter-branch", "git update-ref",
		"git reflog", "git gc", "git prune", "git branch -D", "git tag -d", "git worktree remove",
	} {
		out = append(out, Rule{
			Name: "repository", Verdict: domain.VerdictAsk, Command: c, Sure: true,
			Reason: "It changes the state of the repository itself (" + c + "), which restoring files does not bring back.",
		})
	}
	return out
}()

// Check refuses a rule that could not restrict.
func (rule Rule) Check() error {
	switch {
	case rule.Name == "":
		return domain.Errorf(domain.CodeInvalid, "a rule needs a name")
	case rule.Verdict != domain.VerdictRefuse && rule.Verdict != domain.VerdictAsk:
		return domain.Errorf(domain.CodeInvalid, "rule %q: rules forbid or ask; %q is neither", rule.Name, rule.Verdict)
	case rule.Path != "" && !doublestar.ValidatePattern(rule.Path):
		return domain.Errorf(domain.CodeInvalid, "rule %q: %q is not a valid glob", rule.Name, rule.Path)
	}
	return nil
}

// rules is the policy layer: what holds in every mode.
func rules(r Request) (domain.LayerDecision, *demand) {
	const layer = domain.LayerPolicy
	for _, p := range changed(r) {
		if r.Protected == nil {
			break
		}
		if yes, why := r.Protected(p); yes {
			return refuse(layer, "protected", "%s is protected: %s.", p, strings.TrimSuffix(why, ".")), nil
		}
	}
	if !inside(r) {
		return refuse(layer, "outside", "It would change a file outside of the workspace."), nil
	}
	var wish *demand
	want := func(rule, reason string, each bool) {
		if wish == nil || each && !wish.each {
			wish = &demand{rule, reason, each}
		}
	}
	if command(r) {
		if l, refused := place(r, want); refused {
			return l, nil
		}
	}
	text := commandText(r)
	var seen Command
	if text != "" {
		seen = Analyze(text)
	}
	for _, rule := range slices.Concat(Defaults, r.Rules) {
		if err := rule.Check(); err != nil {
			return refuse(layer, "bad_rule", "A rule cannot be used: %v.", err), nil
		}
		match := rule.matches(r, text, seen)
		if match == no || match == perhaps && rule.Sure && rule.Verdict == domain.VerdictAsk {
			continue
		}
		reason := rule.reason()
		if rule.Verdict == domain.VerdictRefuse && match == yes {
			return refuse(layer, "rule:"+rule.Name, "%s", reason), nil
		}
		if match == perhaps {
			reason += " It cannot be told for certain from the text"
			if seen.Problem != "" {
				reason += ": " + seen.Problem
			}
			reason += "."
		}
		want("rule:"+rule.Name, reason, false)
	}
	if wish != nil {
		return ask(layer, wish.rule, wish.reason), wish
	}
	return allow(layer, "defaults", "No rule forbids it."), nil
}

// place decides where a command may run at all.
func place(r Request, want func(rule, reason string, each bool)) (domain.LayerDecision, bool) {
	const layer = domain.LayerPolicy
	e := r.Prepared.Effect
	switch {
	case r.Prepared.Call.Unsandboxed && !r.Consented:
		return refuse(layer, "no_consent", "Running without a sandbox needs the person's consent in this session."), true
	case r.Prepared.Call.Unsandboxed && !r.Trusted:
		return refuse(layer, "untrusted_unsandboxed", "Nothing runs without a sandbox in a workspace that is not trusted."), true
	case r.Prepared.Call.Unsandboxed:
		want("unsandboxed", "It runs without a sandbox, with everything your account may do.", true)
	case !r.Sandbox.OK:
		reason := "There is no sandbox to run it in"
		if r.Sandbox.Reason != "" {
			reason += ": " + strings.TrimSuffix(r.Sandbox.Reason, ".")
		}
		if r.Sandbox.Hint != "" {
			reason += ". " + strings.TrimSuffix(r.Sandbox.Hint, ".")
		}
		return refuse(layer, "no_sandbox", "%s.", reason), true
	case e.Sandbox.IsZero():
		return refuse(layer, "sandbox_not_stated", "The call does not state its sandbox."), true
	}
	if e.Network != "" && e.Network != "none" {
		want("network", fmt.Sprintf("It can reach the network (%s).", e.Network), false)
	}
	return domain.LayerDecision{}, false
}

// commandText is the shell text that the call runs, "" when it runs none.
func commandText(r Request) string {
	argv := r.Prepared.Effect.Argv
	if len(argv) == 3 && isShell(argv[0]) && argv[1] == "-c" {
		return argv[2]
	}
	if len(argv) == 0 {
		return ""
	}
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

func isShell(name string) bool {
	switch path.Base(name) {
	case "bash", "sh", "dash", "zsh", "ksh":
		return true
	}
	return false
}

type answer int

const (
	no answer = iota
	perhaps
	yes
)

func (rule Rule) matches(r Request, text string, seen Command) answer {
	if rule.Tool != "" && rule.Tool != r.Hand.Name {
		return no
	}
	result := yes
	if rule.Command != "" {
		if text == "" {
			return no
		}
		result = seen.runs(strings.Fields(rule.Command))
	}
	if rule.Path != "" && result != no {
		result = min(result, rule.touches(changed(r), seen))
	}
	return result
}

// touches reports whether the call changes a file of the rule's pattern: for
// certain by its images, or by a redirect in its text.
func (rule Rule) touches(files []string, seen Command) answer {
	result := no
	for _, f := range files {
		if doublestar.MatchUnvalidated(rule.Path, f) {
			return yes
		}
	}
	for _, w := range seen.Writes {
		switch {
		case w.Dynamic:
			result = perhaps
		case doublestar.MatchUnvalidated(rule.Path, strings.TrimPrefix(path.Clean(w.Text), "./")):
			return yes
		}
	}
	return result
}

func (rule Rule) reason() string {
	if rule.Reason != "" {
		return rule.Reason
	}
	var about []string
	if rule.Command != "" {
		about = append(about, "commands "+rule.Command)
	}
	if rule.Path != "" {
		about = append(about, "changes of "+rule.Path)
	}
	if rule.Tool != "" && len(about) == 0 {
		about = append(about, rule.Tool)
	}
	what := "calls"
	if len(about) > 0 {
		what = strings.Join(about, " and ")
	}
	if rule.Verdict == domain.VerdictRefuse {
		return fmt.Sprintf("Rule %q forbids %s.", rule.Name, what)
	}
	return fmt.Sprintf("Rule %q asks for %s.", rule.Name, what)
}
