package ollama

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"worksite/backend/domain"
	"worksite/backend/model/internal/wire"
)

// collector gathers one streamed answer.
type collector struct {
	call     *call
	exchange *wire.Exchange
	text     strings.Builder
	thinking strings.Builder
	calls    []domain.RequestedCall
	done     bool
	reason   string
	metrics  api.Metrics
}

// chunk takes one line of the stream.
func (a *collector) chunk(res api.ChatResponse) error {
	if len(res.Message.ToolCalls) > 0 {
		if err := a.takeCalls(); err != nil {
			return err
		}
	}
	a.text.WriteString(res.Message.Content)
	a.thinking.WriteString(res.Message.Thinking)
	if res.Message.Content != "" || res.Message.Thinking != "" {
		a.call.emit(domain.Delta{Text: res.Message.Content, Thinking: res.Message.Thinking})
	}
	if res.Done {
		a.done, a.reason, a.metrics = true, res.DoneReason, res.Metrics
	}
	return nil
}

// takeCalls reads the calls of the current line from its bytes, so that their
// arguments are exactly what was sent. Parallel calls come in several lines.
func (a *collector) takeCalls() error {
	var line struct {
		Message struct {
			ToolCalls []toolCall `json:"tool_calls"`
		} `json:"message"`
	}
	if err := json.Unmarshal(a.exchange.Line(), &line); err != nil {
		return err
	}
	for _, c := range line.Message.ToolCalls {
		args := string(c.Function.Arguments)
		if args == "" || args == "null" {
			args = "{}"
		}
		a.calls = append(a.calls, domain.RequestedCall{WireID: c.ID, Name: c.Function.Name, Arguments: args})
	}
	return nil
}

// answer turns a stream that ended with done:true into an answer, or into the
// failure that it amounts to.
func (a *collector) answer() (domain.ModelAnswer, error) {
	out := domain.ModelAnswer{
		Text:      a.text.String(),
		Thinking:  a.thinking.String(),
		ToolCalls: a.calls,
		Finish:    domain.FinishStop,
		Usage: domain.Usage{
			InputTokens:  max(a.metrics.PromptEvalCount, 0),
			OutputTokens: max(a.metrics.EvalCount, 0),
			LoadMS:       millis(a.metrics.LoadDuration),
			DurationMS:   millis(a.metrics.TotalDuration),
		},
	}
	if a.reason == "length" {
		out.Finish = domain.FinishLength
	}
	if len(out.ToolCalls) == 0 && len(a.call.offered) > 0 && out.Finish == domain.FinishStop {
		if c, ok := wire.TextCall(out.Text, a.call.offered); ok {
			out.ToolCalls, out.Text = []domain.RequestedCall{c}, ""
		}
	}
	if len(out.ToolCalls) > 0 && out.Finish == domain.FinishStop {
		out.Finish = domain.FinishTools // the server says "stop" for these too
	}
	if strings.TrimSpace(out.Text) == "" && len(out.ToolCalls) == 0 {
		return domain.ModelAnswer{}, a.empty(out)
	}
	return out, nil
}

func (a *collector) empty(out domain.ModelAnswer) *domain.ModelFailure {
	f := &domain.ModelFailure{State: domain.ModelEmpty, Partial: out.Text}
	switch {
	case out.Finish == domain.FinishLength && out.Thinking != "":
		f.Message = "The model spent its whole answer thinking and reached its length limit before saying anything."
		f.Hint = "Choose a larger context window for this model, or ask for a smaller step."
	case out.Finish == domain.FinishLength:
		f.Message = "The model reached its length limit before saying anything: the conversation fills its context window."
		f.Hint = "Choose a larger context window for this model, or start a new session."
	default:
		// Ollama swallows a call of a tool that was not offered, for templates with call tags.
		f.Message = "The model answered with neither text nor a tool call."
		f.Hint = "Ask again, or choose a model that is better at calling tools."
		f.Retryable = true
	}
	return f
}

// millis converts a duration of the wire, which can be negative when the server
// divided by nothing.
func millis(d time.Duration) int64 { return max(d.Milliseconds(), 0) }
