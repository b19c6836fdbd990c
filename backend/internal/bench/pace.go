package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/model/modeltest"
	"worksite/backend/process"
)

const paceSteps = 50

// once runs the binary on a script and returns its requests to the model, when
// it was started, and its exit report.
func (f *figures) once(ctx context.Context, home, dir string, server *modeltest.Server, args ...string) ([]modeltest.Request, time.Time, process.Result, error) {
	before := len(server.Chats())
	argv := append([]string{f.binary, "run", "-w", dir, "--mode", "auto", "--json"}, args...)
	begun := time.Now()
	res, err := process.Run(ctx, process.Spec{
		Argv: argv, Dir: f.dir, Timeout: 10 * time.Minute, Head: 1 << 12, Tail: 1 << 12,
		Env: []string{"WORKSITE_HOME=" + home, "WORKSITE_ALLOW_ROOT=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "OPENAI_API_KEY=none"},
	})
	if err != nil {
		return nil, begun, res, err
	}
	return server.Chats()[before:], begun, res, nil
}

// gaps are the times between the end of an answer and the arrival of the next request.
func gaps(reqs []modeltest.Request) []time.Duration {
	var out []time.Duration
	for i := 1; i < len(reqs); i++ {
		out = append(out, reqs[i].At.Sub(reqs[i-1].EndedAt))
	}
	return out
}

func (f *figures) folder(name string) (string, error) {
	dir := filepath.Join(f.dir, name)
	return dir, os.MkdirAll(dir, 0o700)
}

// pace measures the harness with the model's time taken out, beside a minimal loop
// without ledger, gate or sandbox over the same script and server.
func (f *figures) pace(ctx context.Context) error {
	var ours, plain, starts []time.Duration
	var first int
	var peak int64
	for round := range 3 {
		server := modeltest.New(nil, modeltest.Steps(paceSteps))
		home, err := f.folder(fmt.Sprintf("home-%d", round))
		if err != nil {
			return err
		}
		dir, err := f.folder(fmt.Sprintf("work-%d", round))
		if err != nil {
			return err
		}
		reqs, begun, res, err := f.once(ctx, home, dir, server, "--model", "openai:scripted", "--base-url", server.URL+"/v1", "--budget", "steps=100000", "go")
		if err != nil {
			return err
		}
		if res.Code != 0 || len(reqs) != paceSteps+1 {
			return fmt.Errorf("the run ended with %d after %d requests: %s", res.Code, len(reqs), res.Text())
		}
		ours = append(ours, gaps(reqs)...)
		starts = append(starts, reqs[0].At.Sub(begun))
		first, peak = reqs[0].Size, max(peak, res.Report.MaxRSSKiB)
		server.Close()

		bare := modeltest.New(nil, modeltest.Steps(paceSteps))
		if dir, err = f.folder(fmt.Sprintf("bare-%d", round)); err != nil {
			return err
		}
		if err := minimalLoop(ctx, bare.URL, dir); err != nil {
			return err
		}
		plain = append(plain, gaps(bare.Chats())...)
		bare.Close()
	}
	over, base := median(ours), median(plain)
	f.row("step: overhead, everything on, p50", ms(over), ms(base)+" minimal loop", fmt.Sprintf("%.2f", float64(over)/float64(base)), "")
	bound := 8*time.Millisecond + 2*f.sync
	f.row("step: overhead against 8 ms + 2 fdatasync", ms(over), ms(bound), fmt.Sprintf("%.2f", float64(over)/float64(bound)), "≤ 1")
	f.row("step: overhead p10 / p95", ms(percentile(ours, 10))+" / "+ms(percentile(ours, 95)), ms(percentile(plain, 10))+" / "+ms(percentile(plain, 95)), "", "")
	var write, read, shell []time.Duration
	for i, g := range ours {
		switch i % paceSteps % 3 {
		case 0:
			write = append(write, g)
		case 1:
			read = append(read, g)
		default:
			shell = append(shell, g)
		}
	}
	f.row("step: write / read / sandboxed shell, p50", ms(median(write))+" / "+ms(median(read))+" / "+ms(median(shell)), "", "", "")
	f.row("start to first model request", ms(median(starts)), "100 ms", fmt.Sprintf("%.2f", float64(median(starts))/float64(100*time.Millisecond)), "≤ 1")
	f.row("peak memory of the command line", fmt.Sprintf("%.1f MB", float64(peak)/1024), "60 MB", fmt.Sprintf("%.2f", float64(peak)/1024/60), "≤ 1")
	f.row("first request with all tools", fmt.Sprintf("%.1f KB", float64(first)/1024), "10 KB", fmt.Sprintf("%.2f", float64(first)/10240), "≤ 1")
	return nil
}

// longSession compares late steps with early ones and resumes the whole.
func (f *figures) longSession(ctx context.Context, n int) error {
	server := modeltest.New(nil, modeltest.Steps(n+10))
	defer server.Close()
	home, err := f.folder("home-long")
	if err != nil {
		return err
	}
	dir, err := f.folder("work-long")
	if err != nil {
		return err
	}
	model := []string{"--model", "openai:scripted", "--base-url", server.URL + "/v1", "--context", "100000000"}
	reqs, _, res, err := f.once(ctx, home, dir, server, append(model, "--budget", fmt.Sprintf("steps=%d", n), "go")...)
	if err != nil {
		return err
	}
	if res.Code != 4 || len(reqs) != n {
		return fmt.Errorf("the long run ended with %d after %d requests: %s", res.Code, len(reqs), res.Text())
	}
	all := gaps(reqs)
	early, late := median(all[20:80]), median(all[len(all)-60:])
	f.row(fmt.Sprintf("step %d against step 50, p50", n), ms(late), ms(early), fmt.Sprintf("%.2f", float64(late)/float64(early)), "≤ 1.2")
	f.row(fmt.Sprintf("request at step %d", n), fmt.Sprintf("%.0f KB", float64(reqs[len(reqs)-1].Size)/1024), "", "", "")
	id, err := f.newestSession(ctx, home)
	if err != nil {
		return err
	}
	reqs, begun, res, err := f.once(ctx, home, dir, server, append(model, "--session", id, "go on")...)
	if err != nil {
		return err
	}
	if len(reqs) == 0 {
		return fmt.Errorf("the resumed run asked nothing: %s", res.Text())
	}
	took := reqs[0].At.Sub(begun)
	f.row(fmt.Sprintf("resume of %d steps to the first request", n), ms(took), "300 ms", fmt.Sprintf("%.2f", float64(took)/float64(300*time.Millisecond)), "≤ 1")
	return nil
}

func (f *figures) newestSession(ctx context.Context, home string) (string, error) {
	res, err := process.Run(ctx, process.Spec{
		Argv: []string{f.binary, "sessions", "list", "--json"}, Dir: f.dir, Split: true, Timeout: time.Minute,
		Env: []string{"WORKSITE_HOME=" + home, "WORKSITE_ALLOW_ROOT=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")},
	})
	if err != nil {
		return "", err
	}
	var s struct{ ID domain.SessionID }
	line, _, _ := strings.Cut(string(res.Stdout), "\n")
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		return "", fmt.Errorf("list sessions: %w: %s", err, res.Text())
	}
	return string(s.ID), nil
}

// minimalLoop is the peer: it asks, does, asks, with nothing kept and nothing
// contained. It encodes the whole conversation each time, as simple loops do.
func minimalLoop(ctx context.Context, base, dir string) error {
	type object = map[string]any
	messages := []object{{"role": "user", "content": "go"}}
	for {
		body, err := json.Marshal(object{"model": "scripted", "messages": messages, "stream": true})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return err
		}
		m, err := minimalAnswer(raw)
		if err != nil {
			return err
		}
		if len(m.ToolCalls) == 0 {
			return nil
		}
		messages = append(messages, object{"role": "assistant", "content": m.Content, "tool_calls": m.ToolCalls})
		for _, c := range m.ToolCalls {
			out, err := minimalTool(ctx, dir, c.Function.Name, c.Function.Arguments)
			if err != nil {
				return err
			}
			messages = append(messages, object{"role": "tool", "tool_call_id": c.ID, "content": out})
		}
	}
}

type minimalMessage struct {
	Content   string
	ToolCalls []minimalCall
}

type minimalCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// minimalAnswer joins the pieces of a streamed answer.
func minimalAnswer(raw []byte) (m minimalMessage, err error) {
	for line := range strings.Lines(string(raw)) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var piece struct {
			Choices []struct {
				Delta struct {
					Content   string        `json:"content"`
					ToolCalls []minimalCall `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &piece); err != nil {
			return m, fmt.Errorf("answer %q: %w", data, err)
		}
		for _, c := range piece.Choices {
			m.Content += c.Delta.Content
			for _, t := range c.Delta.ToolCalls {
				if t.Index >= len(m.ToolCalls) {
					m.ToolCalls = append(m.ToolCalls, t)
					continue
				}
				m.ToolCalls[t.Index].Function.Arguments += t.Function.Arguments
			}
		}
	}
	return m, nil
}

func minimalTool(ctx context.Context, dir, name, arguments string) (string, error) {
	var in struct{ Path, Content, Command string }
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", err
	}
	path := filepath.Join(dir, in.Path)
	switch name {
	case "write":
		return "ok", os.WriteFile(path, []byte(in.Content), 0o600)
	case "read":
		b, err := os.ReadFile(path)
		return string(b), err
	default:
		res, err := process.Run(ctx, process.Spec{Argv: []string{"bash", "-c", in.Command}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: time.Minute})
		return res.Text(), err
	}
}
