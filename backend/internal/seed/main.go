// Command seed writes one long session into a data folder, for tests and
// measurements of the page: every event is appended, chained and signed as in
// real work, only nothing was done. It prints the session's id first.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"worksite/backend/domain"
	"worksite/sessions"
)

func main() {
	home := flag.String("home", "", "the data folder")
	events := flag.Int("events", 100_000, "how many events to write, about")
	rate := flag.Int("rate", 0, "events per second; 0 is as fast as it goes")
	title := flag.String("title", "A long session", "the session's title")
	flag.Parse()
	if err := run(context.Background(), *home, *events, *rate, *title); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, home string, events, rate int, title string) error {
	if home == "" {
		return domain.Errorf(domain.CodeInvalid, "-home names the data folder to write into")
	}
	store, err := sessions.Open(ctx, sessions.Config{Dir: home})
	if err != nil {
		return err
	}
	defer store.Close()
	s := writer{store: store, session: domain.NewSessionID(), run: domain.NewRunID()}
	if err := s.begin(ctx, title); err != nil {
		return err
	}
	fmt.Println(s.session)
	batch := 100
	if rate > 0 {
		batch = max(1, rate/20/6) // about twenty batches a second
	}
	begun := time.Now()
	for s.written < int64(events)-2 {
		if err := s.steps(ctx, batch); err != nil {
			return err
		}
		if rate > 0 {
			time.Sleep(time.Until(begun.Add(time.Duration(s.written) * time.Second / time.Duration(rate))))
		}
	}
	return s.end(ctx)
}

var model = domain.ModelRef{Provider: "practice", Name: "sample"}

type writer struct {
	store   *sessions.Store
	session domain.SessionID
	run     domain.RunID
	lease   domain.Lease
	written int64
	step    int64
}

func (w *writer) begin(ctx context.Context, title string) error {
	message := domain.NewMessageID()
	if err := w.append(ctx, 0,
		domain.SessionCreated{V: 1, Title: title, TaskKind: domain.TaskCoding, Placement: domain.PlacementLocal, Model: model, Mode: domain.ModeAuto},
		domain.MessageSent{V: 1, MessageID: message, Text: "Go through every file and say what you see."},
		domain.RunStarted{V: 1, MessageID: message, Mode: domain.ModeAuto, Model: model},
	); err != nil {
		return err
	}
	lease, err := w.store.Acquire(ctx, w.session, "seed", time.Hour, func(string) bool { return true })
	w.lease = lease
	return err
}

// steps appends n steps of six events: an answer with a call, and the call.
func (w *writer) steps(ctx context.Context, n int) error {
	var batch []domain.Payload
	for range n {
		w.step++
		call := domain.NewCallID()
		path := fmt.Sprintf("src/part%d/file%04d.py", w.step%12, w.step)
		name, args := "read", fmt.Sprintf(`{"path":%q}`, path)
		output := domain.ToolOutput{Text: "def f():\n    return 1\n", Summary: "2 lines"}
		if w.step%5 == 0 {
			code := 0
			name, args = "bash", fmt.Sprintf(`{"command":"python3 -m unittest %s"}`, path)
			output = domain.ToolOutput{Text: "OK\n", ExitCode: &code}
		}
		text := fmt.Sprintf("Step %d: `%s` holds one function. It is called from two places, both covered by a test, so I go on with the next file.", w.step, path)
		batch = append(batch,
			domain.MessageCompleted{
				V: 1, MessageID: domain.NewMessageID(), Text: text, Model: model, Finish: domain.FinishTools, Recorded: true,
				ToolCalls: []domain.RequestedCall{{CallID: call, Name: name, Arguments: args}},
			},
			domain.ToolCallRequested{V: 1, CallID: call, Name: name, Input: args},
			decision(call, name, args),
			intent(call, name, args),
			domain.ToolCallExecuting{V: 1, CallID: call, Attempt: 1, Where: "this process"},
			domain.ToolCallCompleted{V: 1, CallID: call, Attempt: 1, Output: output, DurationMS: 3 + w.step%40},
		)
	}
	return w.append(ctx, w.lease.Generation, batch...)
}

func effect(name, args string) domain.Effect {
	return domain.Effect{Tool: name, Class: domain.EffectRead, Input: domain.HashBytes([]byte(args))}
}

func decision(call domain.CallID, name, args string) domain.GateDecided {
	return domain.GateDecided{V: 1, CallID: call, Digest: effect(name, args).Digest(), Layers: []domain.LayerDecision{
		{Layer: domain.LayerApproval, Verdict: domain.VerdictAllow, Rule: "mode", Reason: "The mode \"auto\" allows it."},
	}}
}

func intent(call domain.CallID, name, args string) domain.ToolCallIntent {
	e := effect(name, args)
	return domain.ToolCallIntent{V: 1, CallID: call, Effect: e, Digest: e.Digest(), IdempotencyKey: string(call), Attempt: 1}
}

func (w *writer) end(ctx context.Context) error {
	err := w.append(ctx, w.lease.Generation, domain.RunFinished{V: 1, Outcome: domain.OutcomeDone, Steps: w.step})
	if err != nil {
		return err
	}
	return w.store.Release(ctx, w.lease)
}

func (w *writer) append(ctx context.Context, generation int64, payloads ...domain.Payload) error {
	drafts := make([]domain.Draft, len(payloads))
	for i, p := range payloads {
		drafts[i] = domain.Draft{Run: w.run, Payload: p}
	}
	if w.written == 0 {
		drafts[0].Run = "" // a session is not opened by a run
	}
	events, err := w.store.Append(ctx, domain.AppendRequest{Session: w.session, Generation: generation, Drafts: drafts})
	w.written += int64(len(events))
	return err
}
