package policy

import (
	"fmt"
	"slices"
	"strings"

	"worksite/backend/domain"
)

// Request is everything a decision depends on.
type Request struct {
	Hand      domain.HandSpec
	Prepared  *domain.PreparedCall
	Ceiling   []domain.Capability // what the agent may do at most in this run
	Mode      domain.Mode
	Budget    domain.Budget // limits; 0 is none
	Spent     domain.Budget // what was spent and is reserved
	Grants    []domain.GrantScope
	Trusted   bool // the workspace is trusted
	Sandbox   Sandbox
	Consented bool // the person consented to unsandboxed commands in this session
	// Protected reports files that no hand may change, and why; nil: none.
	Protected func(path string) (bool, string)
	Rules     []Rule
}

// Sandbox says whether commands can be run sandboxed here.
type Sandbox struct {
	OK     bool
	Reason string // why not, in words
	Hint   string // the remedy
}

// Decision is what the gate answers, with every layer up to the one that decided.
type Decision struct {
	Verdict domain.Verdict
	Layers  []domain.LayerDecision
}

// Decide takes a call through the four layers. Refusals end it at once; what a
// layer wants asked is asked in the last one.
func Decide(r Request) Decision {
	var d Decision
	var must *demand // the strictest wish to ask, if any
	for _, layer := range []func(Request) (domain.LayerDecision, *demand){ceiling, rules, budget} {
		l, ask := layer(r)
		d.Layers = append(d.Layers, l)
		d.Verdict = l.Verdict
		if l.Verdict == domain.VerdictRefuse {
			return d
		}
		if ask != nil && (must == nil || !must.each && ask.each) {
			must = ask
		}
	}
	l := approval(r, must)
	d.Layers = append(d.Layers, l)
	d.Verdict = l.Verdict
	return d
}

// demand is a wish of an earlier layer that a person be asked.
type demand struct {
	rule, reason string
	each         bool // every time: no standing permission satisfies it
}

func allow(l domain.Layer, rule, reason string) domain.LayerDecision {
	return domain.LayerDecision{Layer: l, Verdict: domain.VerdictAllow, Rule: rule, Reason: reason}
}

func refuse(l domain.Layer, rule, format string, args ...any) domain.LayerDecision {
	return domain.LayerDecision{Layer: l, Verdict: domain.VerdictRefuse, Rule: rule, Reason: fmt.Sprintf(format, args...)}
}

func ask(l domain.Layer, rule, reason string) domain.LayerDecision {
	return domain.LayerDecision{Layer: l, Verdict: domain.VerdictAsk, Rule: rule, Reason: reason}
}

// ceiling: the agent must have been given every capability that the hand needs.
func ceiling(r Request) (domain.LayerDecision, *demand) {
	const layer = domain.LayerCeiling
	if r.Prepared == nil {
		return refuse(layer, "not_prepared", "The call was not resolved to an effect."), nil
	}
	if len(r.Hand.Capabilities) == 0 {
		return refuse(layer, "no_capability_stated", "%s does not state what it needs.", r.Hand.Name), nil
	}
	for _, c := range r.Hand.Capabilities {
		if !slices.Contains(r.Ceiling, c) {
			return refuse(layer, "capability", "This run was not given %s, which %s needs.", c, r.Hand.Name), nil
		}
	}
	return allow(layer, "capability", "The run was given "+join(r.Hand.Capabilities)+"."), nil
}

func join(caps []domain.Capability) string {
	parts := make([]string, len(caps))
	for i, c := range caps {
		parts[i] = string(c)
	}
	return strings.Join(parts, ", ")
}

// budget: nothing begins once a bound is reached.
func budget(r Request) (domain.LayerDecision, *demand) {
	const layer = domain.LayerBudget
	for _, b := range []struct {
		name                string
		spent, limit, least int64 // least: what this call takes at the least
	}{
		{"calls", r.Spent.Calls, r.Budget.Calls, 1},
		{"tokens", r.Spent.Tokens, r.Budget.Tokens, 1},
		{"seconds", r.Spent.Seconds, r.Budget.Seconds, 1},
		{"steps", r.Spent.Steps, r.Budget.Steps, 0}, // the step that asks is counted already
	} {
		if b.limit > 0 && b.spent+b.least > b.limit {
			return refuse(layer, b.name, "The run may use %d %s and has used %d.", b.limit, b.name, b.spent), nil
		}
	}
	if r.Budget == (domain.Budget{}) {
		return allow(layer, "unbounded", "The run has no bounds."), nil
	}
	return allow(layer, "within", "The run is within its bounds."), nil
}

// command reports whether the call starts a process.
func command(r Request) bool {
	return len(r.Prepared.Effect.Argv) > 0 || slices.Contains(r.Hand.Capabilities, domain.CapRun)
}

// sandboxed reports whether a command would run in a sandbox without network.
func sandboxed(r Request) bool {
	e := r.Prepared.Effect
	return !r.Prepared.Call.Unsandboxed && !e.Sandbox.IsZero() && r.Sandbox.OK && (e.Network == "" || e.Network == "none")
}

// only reports whether the hand needs nothing beyond the given capabilities.
func only(r Request, caps ...domain.Capability) bool {
	for _, c := range r.Hand.Capabilities {
		if !slices.Contains(caps, c) {
			return false
		}
	}
	return len(r.Hand.Capabilities) > 0
}

// reads reports whether the call changes nothing at all.
func reads(r Request) bool {
	return r.Hand.Class == domain.EffectRead && r.Prepared.Effect.Class == domain.EffectRead &&
		only(r, domain.CapRead) && !command(r) && len(changed(r)) == 0
}

// planning reports whether the call only shows a plan.
func planning(r Request) bool {
	return only(r, domain.CapPlan) && !command(r) && len(changed(r)) == 0
}

// changed lists the files the call would change.
func changed(r Request) []string {
	var out []string
	for _, f := range r.Prepared.Effect.Files {
		if f.Pre != f.Post || f.PreMode != f.PostMode {
			out = append(out, f.Path)
		}
	}
	return out
}

// inside reports whether every changed file lies in the workspace.
func inside(r Request) bool {
	for _, p := range changed(r) {
		if p == "" || strings.HasPrefix(p, "/") || slices.Contains(strings.Split(strings.ReplaceAll(p, `\`, "/"), "/"), "..") {
			return false
		}
	}
	return true
}

// approval: the mode, what was permitted before, and the person.
func approval(r Request, must *demand) domain.LayerDecision {
	const layer = domain.LayerApproval
	if r.Mode == domain.ModePlan && !reads(r) && !planning(r) {
		return refuse(layer, "plan_mode", "The session is in plan mode: nothing is changed or run. Present your plan in words; the person switches the mode to carry it out.")
	}
	if must != nil {
		if g, ok := granted(r); ok && !must.each {
			return allow(layer, "standing_grant", "Permitted before: "+g.Words)
		}
		return ask(layer, must.rule, must.reason)
	}
	switch {
	case reads(r):
		return allow(layer, "read", "It only reads.")
	case planning(r) || only(r, domain.CapPlan, domain.CapArtifact) && !command(r) && len(changed(r)) == 0:
		return allow(layer, "bookkeeping", "It changes no file and starts nothing.")
	}
	edit := !command(r) && only(r, domain.CapRead, domain.CapWrite) && inside(r)
	switch {
	case r.Mode == domain.ModeEdits && edit:
		return allow(layer, "edits_mode", "Edits of files in the workspace run in this mode.")
	case r.Mode == domain.ModeAuto && (edit || command(r) && sandboxed(r) && inside(r)):
		return allow(layer, "auto_mode", "What stays in the sandbox and the workspace runs in this mode.")
	}
	if g, ok := granted(r); ok {
		return allow(layer, "standing_grant", "Permitted before: "+g.Words)
	}
	switch {
	case command(r):
		return ask(layer, "command", fmt.Sprintf("Commands ask in the mode %q.", r.Mode))
	case edit:
		return ask(layer, "edit", fmt.Sprintf("Changes of files ask in the mode %q.", r.Mode))
	}
	return ask(layer, "effect", fmt.Sprintf("%s has effects, which ask in the mode %q.", r.Hand.Name, r.Mode))
}

// granted finds a standing permission for exactly one of the scopes that the hand
// states for this call. A scope names its sandbox and network, so that it holds in
// no other; outside of a sandbox none holds.
func granted(r Request) (domain.GrantScope, bool) {
	if command(r) && !sandboxed(r) {
		return domain.GrantScope{}, false
	}
	for _, s := range r.Prepared.Scopes {
		for _, g := range r.Grants {
			if s.ID != "" && s.ID == g.ID {
				return g, true
			}
		}
	}
	return domain.GrantScope{}, false
}
