package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"worksite/backend/domain"
)

var (
	everything = []domain.Capability{domain.CapRead, domain.CapWrite, domain.CapRun, domain.CapPlan, domain.CapArtifact}
	box        = domain.HashBytes([]byte("sandbox"))
	pre, post  = domain.HashBytes([]byte("pre")), domain.HashBytes([]byte("post"))
)

func readCall() Request {
	return Request{
		Hand:     domain.HandSpec{Name: "read", Class: domain.EffectRead, Capabilities: []domain.Capability{domain.CapRead}},
		Prepared: &domain.PreparedCall{Effect: domain.Effect{Tool: "read", Class: domain.EffectRead}},
	}
}

func editCall(path string) Request {
	return Request{
		Hand: domain.HandSpec{Name: "edit", Class: domain.EffectIdempotent, Capabilities: []domain.Capability{domain.CapWrite}},
		Prepared: &domain.PreparedCall{
			Effect: domain.Effect{Tool: "edit", Class: domain.EffectIdempotent, Files: []domain.FileImage{{Path: path, Pre: pre, Post: post}}},
			Scopes: []domain.GrantScope{{ID: "session:fs.write:wsp", Words: "edit files"}},
		},
	}
}

func bashCall(command string) Request {
	return Request{
		Hand: domain.HandSpec{Name: "bash", Class: domain.EffectEffect, Capabilities: []domain.Capability{domain.CapRun}},
		Prepared: &domain.PreparedCall{
			Effect: domain.Effect{Tool: "bash", Class: domain.EffectEffect, Argv: []string{"bash", "-c", command}, Cwd: "/w", Sandbox: box, Network: "none"},
			Scopes: []domain.GrantScope{{ID: "session:bash:" + command, Words: "run exactly this"}},
		},
	}
}

func unsandboxed(command string) Request {
	r := bashCall(command)
	r.Prepared.Call.Unsandboxed = true
	r.Prepared.Scopes = nil
	return r
}

func planCall() Request {
	return Request{
		Hand:     domain.HandSpec{Name: "plan", Class: domain.EffectIdempotent, Capabilities: []domain.Capability{domain.CapPlan}},
		Prepared: &domain.PreparedCall{Effect: domain.Effect{Tool: "plan", Class: domain.EffectIdempotent}},
	}
}

func artifactCall() Request {
	return Request{
		Hand: domain.HandSpec{Name: "save_artifact", Class: domain.EffectIdempotent, Capabilities: []domain.Capability{domain.CapArtifact}},
		Prepared: &domain.PreparedCall{Effect: domain.Effect{
			Tool: "save_artifact", Class: domain.EffectIdempotent, Files: []domain.FileImage{{Path: "r.md", Pre: pre, Post: pre}},
		}},
	}
}

// fine makes everything outside of the question allow.
func fine(r Request, mode domain.Mode) Request {
	r.Mode, r.Ceiling, r.Trusted, r.Sandbox = mode, everything, true, Sandbox{OK: true}
	r.Protected = func(p string) (bool, string) { return strings.HasPrefix(p, ".git/"), "Git runs it" }
	return r
}

func last(d Decision) domain.LayerDecision { return d.Layers[len(d.Layers)-1] }

// R104 R109
func TestModes(t *testing.T) {
	const y, a, n = domain.VerdictAllow, domain.VerdictAsk, domain.VerdictRefuse
	for name, c := range map[string]struct {
		call                   Request
		plan, ask, edits, auto domain.Verdict
	}{
		"read":          {readCall(), y, y, y, y},
		"plan":          {planCall(), y, y, y, y},
		"save artifact": {artifactCall(), n, y, y, y},
		"edit":          {editCall("a.py"), n, a, y, y},
		"command":       {bashCall("make"), n, a, a, y},
	} {
		for mode, want := range map[domain.Mode]domain.Verdict{domain.ModePlan: c.plan, domain.ModeAsk: c.ask, domain.ModeEdits: c.edits, domain.ModeAuto: c.auto, "other": c.ask} {
			d := Decide(fine(c.call, mode))
			if d.Verdict != want || len(d.Layers) != 4 || last(d).Rule == "" || last(d).Reason == "" {
				t.Errorf("%s in %s: %s, want %s: %+v", name, mode, d.Verdict, want, last(d))
			}
		}
	}
	if d := Decide(fine(editCall("a"), domain.ModePlan)); !strings.Contains(last(d).Reason, "Present your plan") {
		t.Errorf("plan mode does not tell what to do: %s", last(d).Reason)
	}
	for i, l := range Decide(fine(readCall(), domain.ModeAsk)).Layers {
		if want := []domain.Layer{domain.LayerCeiling, domain.LayerPolicy, domain.LayerBudget, domain.LayerApproval}[i]; l.Layer != want {
			t.Errorf("layer %d is %s", i, l.Layer)
		}
	}
}

// R105 R109: each layer alone can stop a call that all others let through.
func TestEachLayerAloneStops(t *testing.T) {
	for name, c := range map[string]struct {
		call   Request
		change func(*Request)
		layer  domain.Layer
		rule   string
	}{
		"ceiling":             {bashCall("ls"), func(r *Request) { r.Ceiling = []domain.Capability{domain.CapRead} }, domain.LayerCeiling, "capability"},
		"nothing given":       {readCall(), func(r *Request) { r.Ceiling = nil }, domain.LayerCeiling, "capability"},
		"nothing stated":      {readCall(), func(r *Request) { r.Hand.Capabilities = nil }, domain.LayerCeiling, "no_capability_stated"},
		"not prepared":        {readCall(), func(r *Request) { r.Prepared = nil }, domain.LayerCeiling, "not_prepared"},
		"protected":           {editCall(".git/hooks/pre-commit"), func(*Request) {}, domain.LayerPolicy, "protected"},
		"outside":             {editCall("a/../../b"), func(*Request) {}, domain.LayerPolicy, "outside"},
		"absolute":            {editCall("/etc/passwd"), func(*Request) {}, domain.LayerPolicy, "outside"},
		"no sandbox":          {bashCall("ls"), func(r *Request) { r.Sandbox = Sandbox{Reason: "bwrap is missing", Hint: "install it"} }, domain.LayerPolicy, "no_sandbox"},
		"sandbox not stated":  {bashCall("ls"), func(r *Request) { r.Prepared.Effect.Sandbox = domain.Hash{} }, domain.LayerPolicy, "sandbox_not_stated"},
		"no consent":          {unsandboxed("ls"), func(*Request) {}, domain.LayerPolicy, "no_consent"},
		"untrusted":           {unsandboxed("ls"), func(r *Request) { r.Consented, r.Trusted = true, false }, domain.LayerPolicy, "untrusted_unsandboxed"},
		"person's rule":       {bashCall("a | b"), func(r *Request) { r.Rules = []Rule{{Name: "b", Verdict: domain.VerdictRefuse, Command: "b"}} }, domain.LayerPolicy, "rule:b"},
		"person's path":       {editCall("db/x.sql"), func(r *Request) { r.Rules = []Rule{{Name: "db", Verdict: domain.VerdictRefuse, Path: "db/**"}} }, domain.LayerPolicy, "rule:db"},
		"calls":               {readCall(), func(r *Request) { r.Budget.Calls, r.Spent.Calls = 3, 3 }, domain.LayerBudget, "calls"},
		"tokens":              {readCall(), func(r *Request) { r.Budget.Tokens, r.Spent.Tokens = 10, 10 }, domain.LayerBudget, "tokens"},
		"seconds":             {readCall(), func(r *Request) { r.Budget.Seconds, r.Spent.Seconds = 10, 11 }, domain.LayerBudget, "seconds"},
		"steps":               {readCall(), func(r *Request) { r.Budget.Steps, r.Spent.Steps = 2, 3 }, domain.LayerBudget, "steps"},
		"plan mode":           {bashCall("ls"), func(r *Request) { r.Mode = domain.ModePlan }, domain.LayerApproval, "plan_mode"},
		"plan mode and grant": {editCall("a"), func(r *Request) { r.Mode = domain.ModePlan; r.Grants = r.Prepared.Scopes }, domain.LayerApproval, "plan_mode"},
	} {
		r := fine(c.call, domain.ModeAuto)
		c.change(&r)
		d := Decide(r)
		if d.Verdict != domain.VerdictRefuse || last(d).Layer != c.layer || last(d).Rule != c.rule || last(d).Reason == "" {
			t.Errorf("%s: %s by %+v", name, d.Verdict, last(d))
		}
	}
	r := fine(readCall(), domain.ModeAuto)
	r.Budget, r.Spent = domain.Budget{Calls: 3, Steps: 2}, domain.Budget{Calls: 2, Steps: 2}
	if d := Decide(r); d.Verdict != domain.VerdictAllow {
		t.Errorf("the last call of the last step: %+v", last(d))
	}
	if d := Decide(fine(bashCall("ls"), domain.ModeAuto)); d.Verdict != domain.VerdictAllow {
		t.Errorf("nothing against it: %+v", last(d))
	}
}

// R82
func TestUnsandboxedAsksEachTime(t *testing.T) {
	r := fine(unsandboxed("ls"), domain.ModeAuto)
	r.Consented = true
	r.Prepared.Scopes = []domain.GrantScope{{ID: "x"}} // even if a hand offered one
	r.Grants = []domain.GrantScope{{ID: "x"}}
	if d := Decide(r); d.Verdict != domain.VerdictAsk || last(d).Rule != "unsandboxed" {
		t.Fatalf("%s %+v", d.Verdict, last(d))
	}
	r.Sandbox.OK = false // consent is for exactly this case
	if d := Decide(r); d.Verdict != domain.VerdictAsk {
		t.Fatalf("%s %+v", d.Verdict, last(d))
	}
}

// R146
func TestAStandingGrantHoldsForExactlyOneCommand(t *testing.T) {
	grants := []domain.GrantScope{{ID: "session:bash:echo x", Words: "run exactly: echo x"}}
	for command, want := range map[string]domain.Verdict{
		"echo x":               domain.VerdictAllow,
		"echo x > f":           domain.VerdictAsk,
		"echo x\nrm f":         domain.VerdictAsk,
		"echo x & rm f":        domain.VerdictAsk,
		"echo x; rm f":         domain.VerdictAsk,
		"echo x | sh":          domain.VerdictAsk,
		"timeout 5 rm -rf d":   domain.VerdictAsk,
		"env rm f":             domain.VerdictAsk,
		"echo $(rm f)":         domain.VerdictAsk,
		"echo x ":              domain.VerdictAsk,
		"bash -c 'echo x'":     domain.VerdictAsk,
		"echo 'x'":             domain.VerdictAsk,
		"nice nohup echo x &&": domain.VerdictAsk,
	} {
		r := fine(bashCall(command), domain.ModeAsk)
		r.Grants = grants
		if d := Decide(r); d.Verdict != want {
			t.Errorf("%q: %s %+v", command, d.Verdict, last(d))
		}
	}
	r := fine(bashCall("echo x"), domain.ModeAsk)
	r.Grants = grants
	r.Prepared.Effect.Network = "host"
	if d := Decide(r); d.Verdict != domain.VerdictAsk {
		t.Errorf("another network: %+v", last(d))
	}
}

func TestRulesRestrictOnly(t *testing.T) {
	if err := (Rule{Name: "x", Verdict: domain.VerdictAllow}).Check(); domain.CodeOf(err) != domain.CodeInvalid {
		t.Error("a rule that allows was accepted")
	}
	if err := (Rule{Name: "x", Verdict: domain.VerdictAsk, Path: "[z"}).Check(); err == nil {
		t.Error("a bad glob was accepted")
	}
	for _, r := range Defaults {
		if err := r.Check(); err != nil || r.Verdict != domain.VerdictAsk {
			t.Errorf("%+v: %v", r, err)
		}
	}
	// A rule that cannot be used fails closed.
	r := fine(bashCall("ls"), domain.ModeAuto)
	r.Rules = []Rule{{Name: "x", Verdict: domain.VerdictAllow, Command: "ls"}}
	if d := Decide(r); d.Verdict != domain.VerdictRefuse || last(d).Rule != "bad_rule" {
		t.Errorf("%+v", last(d))
	}
	// What a rule asks for, an exact standing permission answers; what it forbids, nothing.
	r = fine(bashCall("git push"), domain.ModeAuto)
	if d := Decide(r); d.Verdict != domain.VerdictAsk || last(d).Rule != "rule:repository" {
		t.Errorf("%+v", last(d))
	}
	r.Grants = r.Prepared.Scopes
	if d := Decide(r); d.Verdict != domain.VerdictAllow {
		t.Errorf("%+v", last(d))
	}
	r.Rules = []Rule{{Name: "no push", Verdict: domain.VerdictRefuse, Command: "git push"}}
	if d := Decide(r); d.Verdict != domain.VerdictRefuse {
		t.Errorf("%+v", last(d))
	}
	// Ordinary scripts stay free in auto mode.
	for _, c := range []string{"source venv/bin/activate && pytest -q", "$PYTHON -m pytest", "bash run.sh", "for f in *.py; do wc -l $f; done", "[ -f x ] && make"} {
		if d := Decide(fine(bashCall(c), domain.ModeAuto)); d.Verdict != domain.VerdictAllow {
			t.Errorf("%q: %+v", c, last(d))
		}
	}
	// A redirect counts as a change of the file.
	r = fine(bashCall("echo x >> ./db/schema.sql"), domain.ModeAuto)
	r.Rules = []Rule{{Name: "db", Verdict: domain.VerdictRefuse, Path: "db/**"}}
	if d := Decide(r); d.Verdict != domain.VerdictRefuse {
		t.Errorf("%+v", last(d))
	}
}

var rank = map[domain.Verdict]int{domain.VerdictAllow: 0, domain.VerdictAsk: 1, domain.VerdictRefuse: 2}

// anyRequest draws a request of any kind, most of them odd.
func anyRequest(t *rapid.T) Request {
	command := rapid.SampledFrom([]string{"ls", "git push", "rm -rf x", "echo x > f", "$X y", "a | b && c", "((", "bash -c 'rm x'"}).Draw(t, "command")
	path := rapid.SampledFrom([]string{"a.py", ".git/config", "../x", "/abs", "db/x"}).Draw(t, "path")
	r := rapid.SampledFrom([]Request{readCall(), editCall(path), bashCall(command), unsandboxed(command), planCall(), artifactCall()}).Draw(t, "call")
	r.Mode = rapid.SampledFrom([]domain.Mode{domain.ModePlan, domain.ModeAsk, domain.ModeEdits, domain.ModeAuto, ""}).Draw(t, "mode")
	r.Ceiling = rapid.SliceOfDistinct(rapid.SampledFrom(everything), rapid.ID).Draw(t, "ceiling")
	r.Hand.Class = rapid.SampledFrom([]domain.EffectClass{r.Hand.Class, domain.EffectRead, domain.EffectEffect}).Draw(t, "class")
	r.Trusted, r.Consented = rapid.Bool().Draw(t, "trusted"), rapid.Bool().Draw(t, "consented")
	r.Sandbox.OK = rapid.Bool().Draw(t, "sandbox")
	if len(r.Prepared.Effect.Argv) > 0 {
		p := *r.Prepared
		p.Effect.Network = rapid.SampledFrom([]string{"none", "", "host"}).Draw(t, "network")
		r.Prepared = &p
	}
	r.Budget.Calls, r.Spent.Calls = rapid.Int64Range(0, 3).Draw(t, "limit"), rapid.Int64Range(0, 3).Draw(t, "spent")
	r.Protected = func(p string) (bool, string) { return strings.HasPrefix(p, ".git/"), "" }
	if rapid.Bool().Draw(t, "granted") {
		r.Grants = r.Prepared.Scopes
	}
	r.Rules = rapid.SliceOfN(rapid.Custom(anyRule), 0, 3).Draw(t, "rules")
	return r
}

func anyRule(t *rapid.T) Rule {
	return Rule{
		Name:    rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "name"),
		Verdict: rapid.SampledFrom([]domain.Verdict{domain.VerdictAsk, domain.VerdictRefuse, domain.VerdictAllow}).Draw(t, "verdict"),
		Tool:    rapid.SampledFrom([]string{"", "bash", "read"}).Draw(t, "tool"),
		Command: rapid.SampledFrom([]string{"", "rm", "git push", "ls"}).Draw(t, "command"),
		Path:    rapid.SampledFrom([]string{"", "db/**", "*.py"}).Draw(t, "path"),
		Sure:    rapid.Bool().Draw(t, "sure"),
	}
}

// R105 R112: no later layer widens an earlier one; what is denied stays denied in
// every mode, with every permission.
func TestDenyDominatesAndNoModeWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest(t)
		d := Decide(r)
		strictest := domain.VerdictAllow
		for i, l := range d.Layers {
			if l.Layer != []domain.Layer{domain.LayerCeiling, domain.LayerPolicy, domain.LayerBudget, domain.LayerApproval}[i] || l.Reason == "" || l.Rule == "" {
				t.Fatalf("layer %d: %+v", i, l)
			}
			if l.Verdict == domain.VerdictRefuse && i != len(d.Layers)-1 {
				t.Fatalf("went on after a refusal: %+v", d.Layers)
			}
			if i < 3 && rank[l.Verdict] > rank[strictest] {
				strictest = l.Verdict
			}
		}
		if strictest == domain.VerdictRefuse && d.Verdict != domain.VerdictRefuse {
			t.Fatalf("refused and yet %s", d.Verdict)
		}
		if strictest == domain.VerdictAsk && d.Verdict == domain.VerdictAllow {
			if last(d).Rule != "standing_grant" || !slices.ContainsFunc(r.Grants, func(g domain.GrantScope) bool { return g.ID == r.Prepared.Scopes[0].ID }) || r.Prepared.Call.Unsandboxed {
				t.Fatalf("an earlier layer wanted a person asked, and %+v", last(d))
			}
		}
		for _, mode := range []domain.Mode{domain.ModePlan, domain.ModeAsk, domain.ModeEdits, domain.ModeAuto} {
			other := r
			other.Mode = mode
			o := Decide(other)
			for i := range min(3, len(d.Layers), len(o.Layers)) {
				if d.Layers[i] != o.Layers[i] {
					t.Fatalf("the mode %q changed the layer %s", mode, d.Layers[i].Layer)
				}
			}
		}
	})
}

// R113: whatever is added, restricts.
func TestMoreRulesAndLessCeilingNeverWiden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest(t)
		was := rank[Decide(r).Verdict]
		stricter := r
		stricter.Rules = append(slices.Clone(r.Rules), anyRule(t))
		if now := rank[Decide(stricter).Verdict]; now < was {
			t.Fatalf("a rule widened %d to %d: %+v", was, now, stricter.Rules)
		}
		if len(r.Ceiling) > 0 {
			stricter = r
			stricter.Ceiling = r.Ceiling[1:]
			if now := rank[Decide(stricter).Verdict]; now < was {
				t.Fatal("a lower ceiling widened")
			}
		}
		stricter = r
		stricter.Grants = nil
		if now := rank[Decide(stricter).Verdict]; now < was {
			t.Fatal("taking a permission back widened")
		}
		stricter = r
		stricter.Consented = false
		if now := rank[Decide(stricter).Verdict]; now < was {
			t.Fatal("taking the consent back widened")
		}
		// A decision is a function of its request.
		if a, b := fmt.Sprint(Decide(r)), fmt.Sprint(Decide(r)); a != b {
			t.Fatalf("%s, then %s", a, b)
		}
	})
}
