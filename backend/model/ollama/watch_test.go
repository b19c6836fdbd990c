package ollama

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
)

// R116, R136: loading, queued and stuck are told apart.
func TestColdLoad(t *testing.T) {
	for _, listed := range []bool{false, true} {
		t.Run(fmt.Sprintf("listed while loading %v", listed), func(t *testing.T) {
			gate := make(chan struct{})
			srv, p := start(t, modeltest.Script{LoadGate: gate, LoadListed: listed, Answers: []modeltest.Answer{{Text: "warm"}}})
			h := listen()
			done := background(t.Context(), p, ask("go"), h)
			await(t, "loading", h.on("loading"))
			close(gate)
			r := <-done
			if r.err != nil || r.answer.Text != "warm" {
				t.Fatalf("%+v, %v", r.answer, r.err)
			}
			if len(srv.Chats()) != 1 || srv.Unloads() != 0 {
				t.Errorf("%d requests, %d unloads", len(srv.Chats()), srv.Unloads())
			}
			if !slices.Equal(h.statuses, []string{"loading"}) {
				t.Errorf("statuses %q", h.statuses)
			}
		})
	}
}

func TestLoadPatience(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	srv := modeltest.New(t, modeltest.Script{LoadGate: gate})
	cfg := quickly(srv.URL)
	cfg.LoadPatience = 20 * time.Millisecond
	_, err := open(t, cfg).Next(t.Context(), ask("go"), listen().emit)
	if f := failure(t, err, domain.ModelLoading); !f.Retryable || f.Hint == "" {
		t.Errorf("%+v", f)
	}
}

func TestAnotherWindowIsALoad(t *testing.T) {
	hold := make(chan struct{})
	_, p := start(t, modeltest.Script{Choose: func(r modeltest.Request) modeltest.Answer {
		if r.Messages == 3 {
			return modeltest.Answer{Text: "small window"}
		}
		return modeltest.Answer{Text: "one two three", Piece: 4, Hold: hold}
	}})
	h1, h2 := listen(), listen()
	first := background(t.Context(), p, ask("go"), h1)
	await(t, "the first text", h1.first)
	req := ask("again")
	req.Messages = append(req.Messages, &domain.Message{Role: domain.RoleUser, Text: "and"})
	req.Model.ContextTokens = 2048
	second := background(t.Context(), p, req, h2)
	await(t, "loading", h2.on("loading"))
	close(hold)
	if r := <-first; r.err != nil || r.answer.Text != "one two three" {
		t.Errorf("first: %+v, %v", r.answer, r.err)
	}
	if r := <-second; r.err != nil || r.answer.Text != "small window" {
		t.Errorf("second: %+v, %v", r.answer, r.err)
	}
}

func TestQueueBehindOurselves(t *testing.T) {
	hold := make(chan struct{})
	srv, p := start(t, modeltest.Script{Answers: []modeltest.Answer{{Text: "one two three", Piece: 4, Hold: hold}}})
	h1, h2 := listen(), listen()
	first := background(t.Context(), p, ask("first"), h1)
	await(t, "the first text", h1.first)
	second := background(t.Context(), p, ask("second"), h2)
	await(t, "queued", h2.on("queued"))
	close(hold)
	for _, c := range []<-chan result{first, second} {
		if r := <-c; r.err != nil || r.answer.Text != "one two three" {
			t.Errorf("%+v, %v", r.answer, r.err)
		}
	}
	if srv.Unloads() != 0 {
		t.Errorf("%d unloads", srv.Unloads())
	}
}

// leaky drops its first request in mid-stream and leaves the slot taken; later
// requests are answered.
func leaky(hold <-chan struct{}) func(modeltest.Request) modeltest.Answer {
	return func(r modeltest.Request) modeltest.Answer {
		if r.Messages > 2 {
			return modeltest.Answer{Text: "free again"}
		}
		return modeltest.Answer{Text: "one two three", Piece: 4, Hold: hold, Leak: true}
	}
}

// wedge leaves the model of p stuck, as about one of a hundred cancels does. It
// returns when the server has noticed the drop.
func wedge(t *testing.T, srv *modeltest.Server, p *Provider) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	h := listen()
	done := background(ctx, p, ask("go"), h)
	await(t, "the first text", h.first)
	cancel()
	failure(t, (<-done).err, domain.ModelCutOff)
	for begin := time.Now(); !srv.Chats()[0].Left; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("the server does not notice that its client left")
		}
	}
}

func after(name string) domain.ModelRequest {
	req := ask("again")
	req.Model.Name = name
	req.Messages = append(req.Messages, &domain.Message{Role: domain.RoleUser, Text: "go on"})
	return req
}

func TestWedgeIsFreedAndSaid(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	srv, p := start(t, modeltest.Script{Choose: leaky(hold)})
	wedge(t, srv, p)
	h := listen()
	if a := mustNext(t, p, after("scripted"), h); a.Text != "free again" {
		t.Errorf("got %+v", a)
	}
	if !slices.Contains(h.statuses, "wedged") {
		t.Errorf("statuses %q do not say wedged", h.statuses)
	}
	if srv.Unloads() != 1 {
		t.Errorf("%d unloads, want 1", srv.Unloads())
	}
	if n := len(srv.Chats()); n != 3 {
		t.Errorf("%d chat requests, want 3: dropped, stuck, answered", n)
	}
}

// With another request waiting already, a dropped first use leaves an expiry that
// moves as it does while loading.
func TestWedgeWhileAnotherWaits(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	srv, p := start(t, modeltest.Script{Choose: leaky(hold)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h1, h2 := listen(), listen()
	first := background(ctx, p, ask("go"), h1)
	await(t, "the first text", h1.first)
	second := background(t.Context(), p, after("scripted"), h2)
	await(t, "queued", h2.on("queued"))
	cancel()
	failure(t, (<-first).err, domain.ModelCutOff)
	if r := <-second; r.err != nil || r.answer.Text != "free again" {
		t.Errorf("%+v, %v", r.answer, r.err)
	}
	if srv.Unloads() != 1 || !slices.Contains(h2.statuses, "wedged") {
		t.Errorf("%d unloads, statuses %q", srv.Unloads(), h2.statuses)
	}
}

// Models made from the same weights share one runner, listed under another name.
func TestWedgeUnderAnotherName(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	srv, p := start(t, modeltest.Script{
		Models: []modeltest.Model{{Name: "scripted:latest", Weights: "w"}, {Name: "thinker:latest", Weights: "w"}},
		Choose: leaky(hold),
	})
	wedge(t, srv, p)
	// The doubt is about the model by its own name; here the stall decides.
	cfg := quickly(srv.URL)
	cfg.Stall = 20 * time.Millisecond
	h := listen()
	if a := mustNext(t, open(t, cfg), after("thinker"), h); a.Text != "free again" || !slices.Contains(h.statuses, "wedged") {
		t.Errorf("got %+v, statuses %q", a, h.statuses)
	}
}

func TestTwoSessionsWaitOnAWedge(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	srv, p := start(t, modeltest.Script{Choose: leaky(hold)})
	wedge(t, srv, p)
	a, b := background(t.Context(), p, after("scripted"), listen()), background(t.Context(), p, after("scripted"), listen())
	for _, c := range []<-chan result{a, b} {
		if r := <-c; r.err != nil || r.answer.Text != "free again" {
			t.Errorf("%+v, %v", r.answer, r.err)
		}
	}
	if n := srv.Unloads(); n < 1 || n > 2 {
		t.Errorf("%d unloads", n)
	}
}

// One free for one request: what follows is a load, which is waited for.
func TestFreedOnlyOnce(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	srv := modeltest.New(t, modeltest.Script{Choose: func(r modeltest.Request) modeltest.Answer {
		if r.Messages == 2 {
			return modeltest.Answer{Text: "warm"}
		}
		return modeltest.Answer{Gate: never}
	}})
	cfg := quickly(srv.URL)
	cfg.Stall = 15 * time.Millisecond
	p := open(t, cfg)
	mustNext(t, p, ask("warm up"), listen())
	req := after("scripted")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := listen()
	done := background(ctx, p, req, h)
	await(t, "wedged", h.on("wedged"))
	await(t, "loading", h.on("loading"))
	cancel()
	failure(t, (<-done).err, domain.ModelCutOff)
	if srv.Unloads() != 1 {
		t.Errorf("%d unloads, want 1", srv.Unloads())
	}
}

// A queue behind somebody else looks like a stuck model. Trying the cure cuts
// nobody's answer short, and the wait then goes on for as long as it takes.
func TestDoubtAboutAQueueHarmsNobody(t *testing.T) {
	holdDropped, holdOther := make(chan struct{}), make(chan struct{})
	defer close(holdDropped)
	srv, p := start(t, modeltest.Script{Choose: func(r modeltest.Request) modeltest.Answer {
		switch r.Messages {
		case 2:
			return modeltest.Answer{Text: "one two three", Piece: 4, Hold: holdDropped}
		case 1:
			return modeltest.Answer{Text: "somebody else's answer", Piece: 4, Hold: holdOther}
		}
		return modeltest.Answer{Text: "at last"}
	}})
	wedge(t, srv, p) // dropped, but this time the slot was given back

	other := make(chan string, 1)
	ready := make(chan struct{})
	go func() {
		body := fmt.Sprintf(`{"model":"scripted","messages":[{"role":"user","content":"x"}],"options":{"num_ctx":%d}}`, largeWindow)
		res, err := http.Post(srv.URL+"/api/chat", "application/json", strings.NewReader(body))
		close(ready)
		if err != nil {
			other <- err.Error()
			return
		}
		defer res.Body.Close()
		var b strings.Builder
		_, err = fmt.Fprint(&b, readAll(res))
		if err != nil {
			b.WriteString(err.Error())
		}
		other <- b.String()
	}()
	await(t, "the other's first byte", ready)

	h := listen()
	done := background(t.Context(), p, after("scripted"), h)
	await(t, "queued", h.on("queued"))
	for srv.Unloads() == 0 { // the doubt is acted on
		time.Sleep(time.Millisecond)
	}
	close(holdOther)
	if got := <-other; !strings.Contains(got, `"done":true`) || !strings.Contains(got, `"content":"er"`) {
		t.Errorf("the other's answer was cut: %s", got)
	}
	if r := <-done; r.err != nil || r.answer.Text != "at last" {
		t.Errorf("%+v, %v", r.answer, r.err)
	}
}

func readAll(res *http.Response) string {
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := res.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}

// Reading a long prompt in silence is no reason to unload anything.
func TestLongReadingIsNotAWedge(t *testing.T) {
	gate := make(chan struct{})
	srv := modeltest.New(t, modeltest.Script{Choose: func(r modeltest.Request) modeltest.Answer {
		if r.Messages == 2 {
			return modeltest.Answer{Text: "warm"}
		}
		return modeltest.Answer{Text: "read", Gate: gate}
	}})
	cfg := quickly(srv.URL)
	cfg.Reading = time.Hour // the prompt is large enough for it
	p := open(t, cfg)
	mustNext(t, p, ask("warm up"), listen())
	p.servers[p.cfg.BaseURL].track("scripted").dropped()
	req := after("scripted")
	req.Messages[1].Text = strings.Repeat("x", 30000)
	h := listen()
	done := background(t.Context(), p, req, h)
	looks := func() (n int) {
		for _, r := range srv.Requests() {
			if r.Path == "/api/ps" {
				n++
			}
		}
		return n
	}
	for looks() < 20 { // many times the patience of FirstByte
		time.Sleep(time.Millisecond)
	}
	close(gate)
	if r := <-done; r.err != nil || r.answer.Text != "read" {
		t.Errorf("%+v, %v", r.answer, r.err)
	}
	if srv.Unloads() != 0 || len(h.statuses) != 0 {
		t.Errorf("%d unloads, statuses %q", srv.Unloads(), h.statuses)
	}
}

func TestReadingRateIsLearnt(t *testing.T) {
	tr := &track{}
	read := func(tokens int, took time.Duration) {
		tr.answered(api.Metrics{PromptEvalCount: tokens, PromptEvalDuration: took})
	}
	if got := tr.reading(60 * bytesPerToken); got != time.Second {
		t.Errorf("before any answer: %s for 60 tokens", got)
	}
	read(1000, 10*time.Second) // 100 a second
	read(1000, -5)             // nonsense of the wire
	read(10, time.Hour)        // too few to tell
	if got := tr.reading(100 * bytesPerToken); got != time.Second {
		t.Errorf("100 tokens take %s", got)
	}
	read(1000, time.Millisecond*1000) // cached: 1,000 a second
	if got := tr.reading(100 * bytesPerToken); got < 400*time.Millisecond || got >= time.Second {
		t.Errorf("after a cached prompt: %s", got)
	}
	read(1000, 20*time.Second)
	if got := tr.reading(50 * bytesPerToken); got != time.Second {
		t.Errorf("after a slower reading: %s", got)
	}
}
