package capability

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"worksite/backend/domain"
)

// echo is a hand whose behaviour each test fills in.
type echo struct {
	spec    domain.HandSpec
	seen    json.RawMessage
	execute func(ctx context.Context, emit func([]byte)) (domain.HandResult, error)
	probe   func() (domain.ProbeResult, string)
	prepare func() error
}

func (e *echo) Spec() domain.HandSpec { return e.spec }

func (e *echo) Prepare(_ context.Context, call domain.HandCall) (*domain.PreparedCall, error) {
	e.seen = call.Input
	if e.prepare != nil {
		if err := e.prepare(); err != nil {
			return nil, err
		}
	}
	return &domain.PreparedCall{Title: "echo"}, nil
}

func (e *echo) Execute(ctx context.Context, _ *domain.PreparedCall, emit func([]byte)) (domain.HandResult, error) {
	return e.execute(ctx, emit)
}

func (e *echo) Probe(context.Context, domain.HandCall, domain.Effect) (domain.ProbeResult, string) {
	return e.probe()
}

const testSchema = `{"type":"object","properties":{
	"path":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":10},
	"kind":{"type":"string","enum":["a","b"]},"on":{"type":"boolean"},
	"items":{"type":"array","maxItems":2,"items":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}}},
	"required":["path"],"additionalProperties":false}`

func newEcho(class domain.EffectClass) *echo {
	return &echo{spec: domain.HandSpec{
		Name: "echo", Schema: json.RawMessage(testSchema), Class: class, Timeout: time.Minute, MaxOutput: 1000,
	}}
}

func registered(h Hand, opts ...Option) *Registry {
	r := New(opts...)
	r.Register(h)
	return r
}

func prepared(t *testing.T, r *Registry) *domain.PreparedCall {
	t.Helper()
	p, err := r.Prepare(t.Context(), "echo", domain.HandCall{Input: json.RawMessage(`{"path":"a"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// R128 R129
func TestUnknownNameListsTheNames(t *testing.T) {
	r := registered(newEcho(domain.EffectRead))
	_, err := r.Prepare(t.Context(), strings.Repeat("x", 100_000), domain.HandCall{})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "echo") || len(err.Error()) > 500 {
		t.Fatalf("got %v", err)
	}
	if _, err := r.Execute(t.Context(), "nope", &domain.PreparedCall{}, nil); domain.CodeOf(err) != domain.CodeInvalid {
		t.Fatalf("execute of an unregistered name: %v", err)
	}
	if res, _ := r.Probe(t.Context(), "nope", domain.HandCall{}, domain.Effect{}); res != domain.ProbeUnknown {
		t.Fatalf("probe of an unregistered name: %s", res)
	}
}

// R153
func TestMalformedInputIsABoundedHelpfulError(t *testing.T) {
	for name, c := range map[string]struct{ input, want string }{
		"truncated":       {`{"path": "a`, "not valid JSON"},
		"empty object":    {`{}`, `"path" is missing`},
		"nothing":         {``, `"path" is missing`},
		"array":           {`["a"]`, "an array, not a JSON object"},
		"null":            {`null`, "null, not a JSON object"},
		"nul byte":        {"{\"path\": \"a\x00\"}", "not valid JSON"},
		"bad utf-8":       {"{\"path\": \"a\xff\"}", "not valid UTF-8"},
		"lone surrogate":  {`{"path": "\ud800"}`, "ambiguous"},
		"duplicate":       {`{"path": "a", "path": "b"}`, "ambiguous"},
		"58 kB string":    {`{"path": 1, "` + strings.Repeat("k", 58_000) + `": 1}`, "there is no field"},
		"wrong type":      {`{"path": 7}`, `"path" must be a string, not a number`},
		"text as number":  {`{"path": "a", "limit": "20"}`, `"limit" must be an integer, not a string`},
		"fraction":        {`{"path": "a", "limit": 1.5}`, `"limit" must be an integer`},
		"out of range":    {`{"path": "a", "limit": 11}`, `"limit" must be at most 10`},
		"not in the enum": {`{"path": "a", "kind": "c"}`, `must be one of "a", "b"`},
		"other name":      {`{"file_path": "a"}`, `did you mean "path"?`},
		"empty text":      {`{"path": ""}`, `must not be empty`},
		"nested":          {`{"path": "a", "items": [{"text": "x"}, {"txt": "y"}]}`, `item 2: "text" is missing`},
		"too many":        {`{"path": "a", "items": [{"text":"x"},{"text":"x"},{"text":"x"}]}`, "at most 2 items"},
		"deep":            {`{"path": ` + strings.Repeat("[", 20_000), "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newEcho(domain.EffectRead)
			_, err := registered(h).Prepare(t.Context(), "echo", domain.HandCall{Input: json.RawMessage(c.input)})
			if domain.CodeOf(err) != domain.CodeInvalid || h.seen != nil {
				t.Fatalf("got %v, hand saw %s", err, h.seen)
			}
			if !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2000 || !utf8.ValidString(err.Error()) {
				t.Fatalf("message: %s", err)
			}
			if !strings.Contains(err.Error(), "path (string, required)") {
				t.Fatalf("the fields are not named: %s", err)
			}
		})
	}
}

// R153
func TestInputNeverPanics(t *testing.T) {
	r := registered(newEcho(domain.EffectRead))
	rapid.Check(t, func(t *rapid.T) {
		_, err := r.Prepare(context.Background(), "echo", domain.HandCall{Input: rapid.SliceOf(rapid.Byte()).Draw(t, "input")})
		if err != nil && len(err.Error()) > 2000 {
			t.Fatalf("%d bytes of error", len(err.Error()))
		}
	})
}

func TestInputReachesTheHandCanonical(t *testing.T) {
	h := newEcho(domain.EffectRead)
	r := registered(h)
	a, err := r.Prepare(t.Context(), "echo", domain.HandCall{Input: json.RawMessage(" {\"path\":\"<é>\", \"limit\": 5.0,\n\"on\":null} ")})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"limit":5,"path":"<é>"}`; string(h.seen) != want {
		t.Fatalf("got %s, want %s", h.seen, want)
	}
	b, err := r.Prepare(t.Context(), "echo", domain.HandCall{Input: json.RawMessage(`{"limit":5,"path":"<\u00e9>"}`)})
	if err != nil || a.Digest != b.Digest || a.Digest.IsZero() {
		t.Fatalf("equal input, digests %s and %s, %v", a.Digest, b.Digest, err)
	}
}

// R132
func TestExecuteRefusesAnythingButTheDigest(t *testing.T) {
	ran := false
	h := newEcho(domain.EffectEffect)
	h.execute = func(context.Context, func([]byte)) (domain.HandResult, error) {
		ran = true
		return domain.HandResult{}, nil
	}
	r := registered(h)
	for name, change := range map[string]func(*domain.PreparedCall){
		"argv":   func(p *domain.PreparedCall) { p.Effect.Argv = []string{"rm"} },
		"files":  func(p *domain.PreparedCall) { p.Effect.Files = []domain.FileImage{{Path: "b"}} },
		"input":  func(p *domain.PreparedCall) { p.Call.Input = json.RawMessage(`{"path":"b"}`) },
		"digest": func(p *domain.PreparedCall) { p.Digest[31] ^= 1 },
		"tool":   func(p *domain.PreparedCall) { p.Effect.Tool = "other"; p.Digest = p.Effect.Digest() },
	} {
		p := prepared(t, r)
		change(p)
		if _, err := r.Execute(t.Context(), "echo", p, nil); domain.CodeOf(err) != domain.CodeConflict || ran {
			t.Errorf("%s: %v, ran %v", name, err, ran)
		}
	}
	if _, err := r.Execute(t.Context(), "echo", prepared(t, r), nil); err != nil || !ran {
		t.Fatalf("the untouched call: %v, ran %v", err, ran)
	}
}

// R122
func TestOutputIsCutAndSpilled(t *testing.T) {
	var kept []byte
	h := newEcho(domain.EffectRead)
	whole := strings.Repeat("0123456789\n", 1000) + "é\xff"
	h.execute = func(context.Context, func([]byte)) (domain.HandResult, error) {
		return domain.HandResult{Output: domain.ToolOutput{Text: whole}}, nil
	}
	r := registered(h, WithSpill(func(_ context.Context, b []byte) (domain.Hash, error) { kept = b; return domain.HashBytes(b), nil }))
	res, err := r.Execute(t.Context(), "echo", prepared(t, r), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := res.Output
	if len(out.Text) > 1000 || !utf8.ValidString(out.Text) || out.Dropped == 0 || string(kept) != whole || out.Spill != domain.HashBytes(kept) {
		t.Fatalf("%d bytes, dropped %d, kept %d", len(out.Text), out.Dropped, len(kept))
	}
	if !strings.HasPrefix(out.Text, "0123456789\n") || !strings.HasSuffix(out.Text, "é\uFFFD") || !strings.Contains(out.Text, "bytes left out") {
		t.Fatalf("got %q", out.Text)
	}
}

// R122 R116
func TestHandThatDoesNotComeBack(t *testing.T) {
	for class, unknown := range map[domain.EffectClass]bool{domain.EffectRead: false, domain.EffectEffect: true} {
		synctest.Test(t, func(t *testing.T) {
			h := newEcho(class)
			release := make(chan struct{})
			late := 0
			h.execute = func(_ context.Context, emit func([]byte)) (domain.HandResult, error) {
				<-release
				emit([]byte("late"))
				return domain.HandResult{}, nil
			}
			r := registered(h)
			begin := time.Now()
			_, err := r.Execute(t.Context(), "echo", prepared(t, r), func([]byte) { late++ })
			if d := time.Since(begin); d != time.Minute+5*time.Second {
				t.Errorf("%s: came back after %s", class, d)
			}
			var u *UnknownError
			if errors.As(err, &u) != unknown || domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "time limit of 1m0s") {
				t.Errorf("%s: %v", class, err)
			}
			close(release)
			r.Close() // waits for it
			if late != 0 {
				t.Errorf("%s: output after the call had ended", class)
			}
		})
	}
}

func TestCancelGivesTheHandItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newEcho(domain.EffectEffect)
		h.execute = func(ctx context.Context, _ func([]byte)) (domain.HandResult, error) {
			<-ctx.Done()
			time.Sleep(2 * time.Second) // kills its process tree
			return domain.HandResult{Output: domain.ToolOutput{Text: "stopped"}}, nil
		}
		r := registered(h)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		res, err := r.Execute(ctx, "echo", prepared(t, r), nil)
		if err != nil || res.Output.Text != "stopped" {
			t.Fatalf("got %+v, %v", res, err)
		}
	})
}

// R153
func TestPanicsAreErrorsOfTheCall(t *testing.T) {
	h := newEcho(domain.EffectEffect)
	r := registered(h)
	h.execute = func(context.Context, func([]byte)) (domain.HandResult, error) { panic("boom") }
	_, err := r.Execute(t.Context(), "echo", prepared(t, r), nil)
	var u *UnknownError
	if !errors.As(err, &u) || !strings.Contains(u.Known, "boom") {
		t.Fatalf("execute: %v", err)
	}
	h.probe = func() (domain.ProbeResult, string) { panic("boom") }
	if res, ev := r.Probe(t.Context(), "echo", domain.HandCall{}, domain.Effect{}); res != domain.ProbeUnknown || !strings.Contains(ev, "boom") {
		t.Fatalf("probe: %s %s", res, ev)
	}
	h.prepare = func() error { panic("boom") }
	if _, err := r.Prepare(t.Context(), "echo", domain.HandCall{Input: json.RawMessage(`{"path":"a"}`)}); err == nil || errors.As(err, &u) && u.Known == "" {
		t.Fatalf("prepare: %v", err)
	}
}

func TestLongErrorsAreBoundedAndKeepCodeAndHint(t *testing.T) {
	h := newEcho(domain.EffectRead)
	h.prepare = func() error {
		return domain.Errorf(domain.CodeTooLarge, "%s", strings.Repeat("y", 1<<20)).WithHint("look elsewhere")
	}
	_, err := registered(h).Prepare(t.Context(), "echo", domain.HandCall{Input: json.RawMessage(`{"path":"a"}`)})
	if len(err.Error()) > maxMessage || domain.CodeOf(err) != domain.CodeTooLarge || domain.HintOf(err) != "look elsewhere" {
		t.Fatalf("%d bytes, %s, %q", len(err.Error()), domain.CodeOf(err), domain.HintOf(err))
	}
}

func TestHeadTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		limit := rapid.IntRange(0, 200).Draw(t, "limit")
		text, left := HeadTail(s, limit)
		if len(s) <= limit {
			if text != s || left != 0 {
				t.Fatalf("changed a text that fits")
			}
			return
		}
		if left <= 0 || left > len(s) || !utf8.ValidString(text) || len(text) > max(limit, 48) {
			t.Fatalf("limit %d: %d bytes, left %d of %d", limit, len(text), left, len(s))
		}
	})
}
