package practice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"worksite/backend/domain"
	"worksite/backend/service/sample"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func provider(t *testing.T) *Provider {
	t.Helper()
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// talk is a conversation with the practice model.
type talk struct {
	t        *testing.T
	p        *Provider
	messages []*domain.Message
	calls    int
}

func newTalk(t *testing.T) *talk {
	t.Helper()
	return &talk{t: t, p: provider(t), messages: []*domain.Message{{Role: domain.RoleSystem, Text: "You work."}}}
}

func (c *talk) say(text string) *talk {
	c.messages = append(c.messages, &domain.Message{Role: domain.RoleUser, Text: text})
	return c
}

// next asks for an answer, checks what holds for all of them, and records it.
func (c *talk) next() domain.ModelAnswer {
	c.t.Helper()
	var text, thinking strings.Builder
	a, err := c.p.Next(c.t.Context(), domain.ModelRequest{Model: domain.ModelRef{Provider: Name, Name: Sample}, Messages: c.messages},
		func(d domain.Delta) { text.WriteString(d.Text); thinking.WriteString(d.Thinking) })
	if err != nil {
		c.t.Fatal(err)
	}
	if !a.Recorded || text.String() != a.Text || thinking.String() != a.Thinking || a.Text == "" {
		c.t.Errorf("recorded %v, streamed %q, answer %q", a.Recorded, text.String(), a.Text)
	}
	if want := map[bool]domain.FinishReason{true: domain.FinishTools, false: domain.FinishStop}[len(a.ToolCalls) > 0]; a.Finish != want {
		c.t.Errorf("finish %s, want %s", a.Finish, want)
	}
	for i := range a.ToolCalls {
		c.calls++
		a.ToolCalls[i].CallID = domain.CallID(fmt.Sprintf("call_%d", c.calls))
	}
	c.messages = append(c.messages, &domain.Message{Role: domain.RoleAssistant, Text: a.Text, ToolCalls: a.ToolCalls})
	return a
}

// results answers the newest calls; what gives the text of one of them.
func (c *talk) results(what func(domain.RequestedCall) string) {
	calls := c.messages[len(c.messages)-1].ToolCalls
	for _, call := range calls {
		c.messages = append(c.messages, &domain.Message{Role: domain.RoleTool, CallID: call.CallID, ToolName: call.Name, Text: what(call)})
	}
}

func fine(domain.RequestedCall) string { return "done" }

func (c *talk) advance(n int) {
	for range n {
		c.next()
		c.results(fine)
	}
}

func TestPlaysToTheEndAndThenSaysSo(t *testing.T) {
	c := newTalk(t).say("  make the data-cleaning script accept a region field,\nrun the checks, and send me the result.  \n[attached: x.csv, text/csv, 3 bytes]")
	n := 0
	for {
		n++
		a := c.next()
		if len(a.ToolCalls) == 0 {
			break
		}
		c.results(fine)
	}
	if n < 10 || n > 14 {
		t.Errorf("the recording has %d answers", n)
	}
	a := c.say("Thank you. Now do the same for the colour.").next()
	for _, part := range []string{"practice model", "recorded", sample.Request, "ollama pull", "--model ollama:"} {
		if !strings.Contains(a.Text, part) {
			t.Errorf("the answer lacks %q: %s", part, a.Text)
		}
	}
	if len(a.ToolCalls) != 0 {
		t.Error("it calls tools for what was not recorded")
	}
}

func TestOtherRequestsAreDeclined(t *testing.T) {
	for _, text := range []string{"Fix the bug.", sample.Request + " And delete everything.", ""} {
		if a := newTalk(t).say(text).next(); len(a.ToolCalls) != 0 || !strings.Contains(a.Text, sample.Request) {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

func TestTheRecordedRequestIsTheSamples(t *testing.T) {
	if got := provider(t).Requests(); len(got) != 1 || got[0] != sample.Request {
		t.Errorf("got %q", got)
	}
}

// A denied call is asked for once more; after that nothing is claimed.
func TestDeniedCall(t *testing.T) {
	for _, refusal := range []string{"Refused (approval: denied). not now", "Error: no sandbox here", "[no result: the call was not carried out]"} {
		t.Run(refusal, func(t *testing.T) {
			c := newTalk(t).say(sample.Request)
			c.advance(3)
			first := c.next()
			if len(first.ToolCalls) < 2 {
				t.Fatal("the fourth answer has one call only")
			}
			deny := func(call domain.RequestedCall) string {
				if call.Arguments == first.ToolCalls[1].Arguments {
					return refusal
				}
				return "done"
			}
			c.results(deny)
			again := c.next()
			if len(again.ToolCalls) != 1 || again.ToolCalls[0].Arguments != first.ToolCalls[1].Arguments || !strings.Contains(again.Text, refusal) {
				t.Fatalf("asked again for %+v: %s", again.ToolCalls, again.Text)
			}
			granted, denied := *c, *c
			granted.messages = append([]*domain.Message{}, c.messages...)
			granted.results(fine)
			if a := granted.next(); len(a.ToolCalls) == 0 || strings.Contains(a.Text, "cannot go on") {
				t.Errorf("after the grant: %+v", a)
			}
			denied.messages = append([]*domain.Message{}, c.messages...)
			denied.results(deny)
			a := denied.next()
			if len(a.ToolCalls) != 0 || !strings.Contains(a.Text, "cannot go on") || !strings.Contains(a.Text, refusal) {
				t.Errorf("after the second denial: %+v", a)
			}
			if b := denied.say("Go on!").next(); len(b.ToolCalls) != 0 {
				t.Errorf("it went on: %+v", b)
			}
		})
	}
}

// A command that ends otherwise than recorded stops the recording.
func TestOtherExitCode(t *testing.T) {
	c := newTalk(t).say(sample.Request)
	passing := func(call domain.RequestedCall) string {
		if call.Name == "bash" {
			return "OK\n[exit code 0]\n"
		}
		return "done"
	}
	for range 20 {
		a := c.next()
		if len(a.ToolCalls) == 0 {
			if !strings.Contains(a.Text, "in the recording it was 1") {
				t.Errorf("got %s", a.Text)
			}
			return
		}
		c.results(passing)
	}
	t.Error("it went on although the checks did not fail")
}

func TestSteeringIsNotPretendedToBeHeard(t *testing.T) {
	c := newTalk(t).say(sample.Request)
	c.advance(2)
	c.say("Please use capital letters.")
	a := c.next()
	if !strings.Contains(a.Text, "cannot take your last message into account") || len(a.ToolCalls) == 0 {
		t.Errorf("got %+v", a)
	}
	c.results(fine)
	if b := c.next(); strings.Contains(b.Text, "last message") {
		t.Errorf("said twice: %s", b.Text)
	}
}

func TestAnswersOfAnotherModel(t *testing.T) {
	c := newTalk(t).say(sample.Request)
	c.messages = append(c.messages, &domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.RequestedCall{{Name: "ls", Arguments: `{"path":"elsewhere"}`}}},
		&domain.Message{Role: domain.RoleTool, Text: "x"})
	if a := c.next(); len(a.ToolCalls) != 0 || !strings.Contains(a.Text, "not recorded") {
		t.Errorf("got %+v", a)
	}
}

// The answer depends on the messages only, so a run can be killed and continued.
func TestSameMessagesSameAnswer(t *testing.T) {
	c := newTalk(t).say(sample.Request)
	c.advance(5)
	kept := c.messages
	a := c.next()
	c.messages = kept
	b := c.next()
	if a.Text != b.Text || len(a.ToolCalls) != len(b.ToolCalls) {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestCancelWhilePlaying(t *testing.T) {
	p, err := New(Config{Pause: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Next(ctx, domain.ModelRequest{Model: domain.ModelRef{Name: Sample}, Messages: []*domain.Message{{Role: domain.RoleUser, Text: "x"}}}, func(domain.Delta) {})
	var f *domain.ModelFailure
	if !errors.As(err, &f) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Context(t.Context(), domain.ModelRef{Name: "nothing"}); err == nil {
		t.Error("an unknown recording has a context")
	}
}

func TestParse(t *testing.T) {
	for name, raw := range map[string]string{
		"no JSON":                   `{`,
		"another version":           `{"version":2,"name":"a","request":"b","answers":[{"text":"c"}]}`,
		"an unknown member":         `{"version":1,"name":"a","request":"b","answers":[{"txt":"c"}]}`,
		"an end in the middle":      `{"version":1,"name":"a","request":"b","answers":[{"text":"c"},{"text":"d"}]}`,
		"no end":                    `{"version":1,"name":"a","request":"b","answers":[{"text":"c","calls":[{"name":"ls","arguments":{}}]}]}`,
		"arguments that are a list": `{"version":1,"name":"a","request":"b","answers":[{"text":"c","calls":[{"name":"ls","arguments":[]}]},{"text":"d"}]}`,
	} {
		if _, err := parse([]byte(raw)); err == nil {
			t.Errorf("%s: parsed", name)
		}
	}
}
