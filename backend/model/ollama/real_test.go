package ollama

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
)

// The tests of this file talk to a real Ollama server with the tiny models,
// which build/ollama-test.sh builds and starts. The models' weights are random:
// what they say means nothing, the wire is real.

var weather = []domain.ToolSpec{
	{Name: "get_weather", Description: "The weather of a city.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
	{Name: "get_time", Description: "The time in a city.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"utc":{"type":"boolean"}},"required":["city"]}`)},
}

func realServer(t *testing.T) string {
	t.Helper()
	url := os.Getenv("WORKSITE_OLLAMA")
	if url == "" {
		t.Skip("skipped: no Ollama server (run build/ollama-test.sh)")
	}
	return url
}

func realProvider(t *testing.T) *Provider {
	t.Helper()
	return open(t, Config{BaseURL: realServer(t), Patience: 100 * time.Millisecond, FirstByte: time.Second})
}

func tiny(name, text string) domain.ModelRequest {
	r := ask(text)
	r.Model = domain.ModelRef{Provider: Name, Name: name, ContextTokens: 4096}
	return r
}

func TestRealModels(t *testing.T) {
	p := realProvider(t)
	models, err := p.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]domain.ModelInfo{}
	for _, m := range models {
		got[m.Name] = m
	}
	chat, think := got["tiny-chat:latest"], got["tiny-think:latest"]
	if len(got) != 2 || !chat.Tools || chat.Thinking || !think.Thinking || chat.ContextTokens != 8192 || chat.Size == 0 {
		t.Errorf("got %+v; want tiny-chat with tools, tiny-think with thinking, and no embedding model", models)
	}
	for asked, want := range map[int]int{0: 8192, 512: 512, 100000: 8192} {
		if n, err := p.Context(t.Context(), domain.ModelRef{Name: "tiny-chat", ContextTokens: asked}); err != nil || n != want {
			t.Errorf("asked for %d: %d, %v; want %d", asked, n, err, want)
		}
	}
}

func TestRealStreaming(t *testing.T) {
	p := realProvider(t)
	h := listen()
	a := mustNext(t, p, tiny("tiny-chat", "tell me"), h)
	if a.Text == "" || a.Text != h.text.String() || a.Usage.InputTokens == 0 || a.Usage.OutputTokens < 2 || a.Usage.DurationMS == 0 {
		t.Errorf("answer %+v, streamed %q", a, h.text.String())
	}
	again := mustNext(t, p, tiny("tiny-chat", "tell me"), listen())
	if again.Usage.InputTokens != a.Usage.InputTokens {
		t.Errorf("input tokens %d, cached %d: the whole prompt is counted either way", a.Usage.InputTokens, again.Usage.InputTokens)
	}
	t.Logf("%d tokens out, loaded in %d ms, whole %d ms", a.Usage.OutputTokens, a.Usage.LoadMS, a.Usage.DurationMS)
}

func TestRealThinking(t *testing.T) {
	h := listen()
	a := mustNext(t, realProvider(t), tiny("tiny-think", "tell me"), h)
	if a.Thinking == "" || a.Thinking != h.thinking.String() || a.Text == "" {
		t.Errorf("thinking %q text %q", a.Thinking, a.Text)
	}
}

// The whole loop: a call, its result sent back, an answer; and a recorded call
// with malformed arguments, which the server must not refuse.
func TestRealToolCall(t *testing.T) {
	p := realProvider(t)
	for _, name := range []string{"tiny-chat", "tiny-think"} {
		t.Run(name, func(t *testing.T) {
			req := tiny(name, "what is the weather?")
			req.Tools = weather
			a := mustNext(t, p, req, listen())
			if len(a.ToolCalls) == 0 || a.Finish != domain.FinishTools || a.ToolCalls[0].WireID == "" {
				t.Fatalf("got %+v, want a tool call", a)
			}
			for _, c := range a.ToolCalls {
				var args map[string]any
				if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil || args["city"] == "" {
					t.Errorf("arguments %q: %v", c.Arguments, err)
				}
			}
			calls := append(slices.Clone(a.ToolCalls), domain.RequestedCall{WireID: "call_bad", Name: "get_time", Arguments: `{"city": "Li`})
			req.Messages = append(req.Messages, &domain.Message{Role: domain.RoleAssistant, Text: a.Text, Thinking: a.Thinking, ToolCalls: calls})
			for _, c := range calls {
				req.Messages = append(req.Messages, &domain.Message{Role: domain.RoleTool, Text: "sunny", ToolName: c.Name, WireID: c.WireID})
			}
			if b := mustNext(t, p, req, listen()); b.Text == "" || len(b.ToolCalls) != 0 {
				t.Errorf("after the results: %+v", b)
			}
		})
	}
}

// A call of a tool that was not offered: text with one model, nothing with the
// other, whose template has a tag for calls.
func TestRealCallOfAnotherTool(t *testing.T) {
	p := realProvider(t)
	req := tiny("tiny-chat", "list it")
	req.Tools = offered
	if a := mustNext(t, p, req, listen()); len(a.ToolCalls) != 0 || !strings.Contains(a.Text, `"name"`) {
		t.Errorf("tiny-chat: %+v", a)
	}
	req = tiny("tiny-think", "list it")
	req.Tools = offered
	_, err := p.Next(t.Context(), req, listen().emit)
	failure(t, err, domain.ModelEmpty)
}

func TestRealTooLong(t *testing.T) {
	req := tiny("tiny-chat", strings.Repeat("z", 1000))
	req.Model.ContextTokens = 256
	_, err := realProvider(t).Next(t.Context(), req, listen().emit)
	failure(t, err, domain.ModelTooLong)
}

func TestRealMissing(t *testing.T) {
	_, err := realProvider(t).Next(t.Context(), tiny("no-such", "x"), listen().emit)
	if f := failure(t, err, domain.ModelMissing); f.Hint != "ollama pull no-such" {
		t.Errorf("hint %q", f.Hint)
	}
}

// Another window reloads the model, the same one does not.
func TestRealReload(t *testing.T) {
	p := realProvider(t)
	load := func(window int) int64 {
		req := tiny("tiny-chat", "x")
		req.Model.ContextTokens = window
		a := mustNext(t, p, req, listen())
		ps, err := p.servers[p.cfg.BaseURL].api.ListRunning(t.Context())
		if err != nil || len(ps.Models) != 1 || ps.Models[0].ContextLength != window {
			t.Errorf("window %d: loaded %+v, %v", window, ps, err)
		}
		return a.Usage.LoadMS
	}
	load(1024)
	reload, same := load(2048), load(2048)
	t.Logf("load_duration: another window %d ms, the same one %d ms", reload, same)
	if reload < 5*same {
		t.Errorf("another window took %d ms, the same one %d ms", reload, same)
	}
}

// R72: after each of many cancels the next request is answered. Some cancels
// leave the model stuck; the watchdog must find and free it.
func TestRealCancels(t *testing.T) {
	p := realProvider(t)
	mustNext(t, p, tiny("tiny-chat", "warm up"), listen())
	const cancels = 120
	wedged, slowest := 0, time.Duration(0)
	for i := range cancels {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		_, err := p.Next(ctx, tiny("tiny-chat", "tell me "+strconv.Itoa(i)), func(d domain.Delta) {
			if n++; n > 2+i%7 {
				cancel()
			}
		})
		cancel()
		if err == nil {
			continue // it had ended before
		}
		failure(t, err, domain.ModelCutOff)
		h := listen()
		begin := time.Now()
		mustNext(t, p, tiny("tiny-chat", "again"), h)
		slowest = max(slowest, time.Since(begin))
		if slices.Contains(h.statuses, string(domain.ModelWedged)) {
			wedged++
		}
	}
	t.Logf("%d cancels, %d left the model stuck and were healed, slowest next answer %s", cancels, wedged, slowest.Round(time.Millisecond))
}

func TestRealQueue(t *testing.T) {
	p := realProvider(t)
	mustNext(t, p, tiny("tiny-chat", "warm up"), listen())
	var results []<-chan result
	for range 4 {
		results = append(results, background(t.Context(), p, tiny("tiny-chat", "all at once"), listen()))
	}
	for _, c := range results {
		if r := <-c; r.err != nil || r.answer.Text == "" {
			t.Errorf("%+v, %v", r.answer, r.err)
		}
	}
}

// ownServer starts a second server that a test may kill.
func ownServer(t *testing.T) (url string, cmd *exec.Cmd) {
	t.Helper()
	realServer(t)
	bin, store := os.Getenv("WORKSITE_OLLAMA_BIN"), os.Getenv("WORKSITE_OLLAMA_STORE")
	if bin == "" || store == "" {
		t.Skip("skipped: no Ollama program to start (run build/ollama-test.sh)")
	}
	cmd = exec.Command(bin, "serve")
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "OLLAMA_") && !strings.HasPrefix(kv, "HOME=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+t.TempDir(), "OLLAMA_HOST=127.0.0.1:0", "OLLAMA_MODELS="+store, "OLLAMA_NO_CLOUD=1", "OLLAMA_NOPRUNE=1")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		listening := regexp.MustCompile(`Listening on (127\.0\.0\.1:\d+)`)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		children := childrenOf(cmd.Process.Pid)
		_ = cmd.Process.Kill()
		for _, pid := range children {
			end(pid)
		}
		<-drained
		_ = cmd.Wait()
	})
	select {
	case a := <-address:
		return "http://" + a, cmd
	case <-time.After(30 * time.Second):
		t.Fatal("the server did not start")
		return "", nil
	}
}

// childrenOf lists the child processes of pid; empty where there is no /proc.
func childrenOf(pid int) (out []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		rest := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if len(rest) > 1 && rest[1] == strconv.Itoa(pid) && rest[0] != "Z" {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			out = append(out, child)
		}
	}
	return out
}

func end(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// midStream starts an answer and calls then at its first text.
func midStream(t *testing.T, p *Provider, then func()) (*heard, error) {
	t.Helper()
	h := listen()
	done := background(t.Context(), p, tiny("tiny-chat", "tell me"), h)
	await(t, "the first text", h.first)
	then()
	r := <-done
	return h, r.err
}

func TestRealRunnerDies(t *testing.T) {
	url, cmd := ownServer(t)
	p := open(t, Config{BaseURL: url, Patience: 100 * time.Millisecond})
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("skipped: the model's process is found through /proc")
	}
	h, err := midStream(t, p, func() {
		for _, pid := range childrenOf(cmd.Process.Pid) {
			end(pid)
		}
	})
	if err == nil {
		t.Skip("skipped: the answer ended before the kill")
	}
	f := failure(t, err, domain.ModelError)
	if !f.Retryable || f.Partial != h.text.String() || f.Partial == "" {
		t.Errorf("%+v; streamed %q", f, h.text.String())
	}
	if a := mustNext(t, p, tiny("tiny-chat", "again"), listen()); a.Text == "" {
		t.Errorf("after it died: %+v", a)
	}
}

func TestRealServerDies(t *testing.T) {
	url, cmd := ownServer(t)
	p := open(t, Config{BaseURL: url, Patience: 100 * time.Millisecond})
	h, err := midStream(t, p, func() { _ = cmd.Process.Kill() })
	if err == nil {
		t.Skip("skipped: the answer ended before the kill")
	}
	if f := failure(t, err, domain.ModelCutOff); !f.Retryable || f.Partial != h.text.String() {
		t.Errorf("%+v; streamed %q", f, h.text.String())
	}
	_, err = p.Next(t.Context(), tiny("tiny-chat", "again"), listen().emit)
	failure(t, err, domain.ModelDown)
}
