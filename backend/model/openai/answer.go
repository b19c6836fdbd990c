package openai

import (
	"encoding/json"
	"strings"
	"time"

	api "github.com/openai/openai-go/v3"

	"worksite/backend/domain"
	"worksite/backend/model/internal/wire"
)

// collector gathers one streamed answer.
type collector struct {
	offered  []domain.ToolSpec
	emit     func(domain.Delta)
	text     strings.Builder
	thinking strings.Builder
	calls    []*building
	byIndex  map[int64]*building
	finished bool
	reason   string
	usage    domain.Usage
}

// building is a tool call whose arguments still come in.
type building struct {
	id, name string
	args     strings.Builder
}

func (a *collector) chunk(c api.ChatCompletionChunk) {
	if c.Usage.PromptTokens > 0 || c.Usage.CompletionTokens > 0 { // some servers count in every chunk: the last one holds
		a.usage.InputTokens = int(c.Usage.PromptTokens)
		a.usage.OutputTokens = int(c.Usage.CompletionTokens)
		a.usage.CachedTokens = int(c.Usage.PromptTokensDetails.CachedTokens)
	}
	if len(c.Choices) == 0 {
		return
	}
	choice := c.Choices[0]
	text := choice.Delta.Content + choice.Delta.Refusal
	thinking := ""
	for _, key := range []string{"reasoning_content", "reasoning"} {
		if f, ok := choice.Delta.JSON.ExtraFields[key]; ok && thinking == "" {
			_ = json.Unmarshal([]byte(f.Raw()), &thinking) // not a string: some other meaning
		}
	}
	a.text.WriteString(text)
	a.thinking.WriteString(thinking)
	if text != "" || thinking != "" {
		a.emit(domain.Delta{Text: text, Thinking: thinking})
	}
	for _, c := range choice.Delta.ToolCalls {
		a.fragment(c)
	}
	if choice.FinishReason != "" {
		a.finished, a.reason = true, choice.FinishReason
	}
}

// fragment adds a piece of a call. Pieces belong together by index; a server
// that leaves the index out starts each call with a new id and a name.
func (a *collector) fragment(c api.ChatCompletionChunkChoiceDeltaToolCall) {
	if a.byIndex == nil {
		a.byIndex = map[int64]*building{}
	}
	b, ok := a.byIndex[c.Index]
	if !ok || (c.ID != "" && b.id != "" && c.ID != b.id && c.Function.Name != "") {
		b = &building{}
		a.calls = append(a.calls, b)
		a.byIndex[c.Index] = b
	}
	if c.ID != "" {
		b.id = c.ID
	}
	if b.name == "" {
		b.name = c.Function.Name
	}
	b.args.WriteString(c.Function.Arguments)
}

func (a *collector) answer(took time.Duration) (domain.ModelAnswer, error) {
	a.usage.DurationMS = took.Milliseconds()
	out := domain.ModelAnswer{Text: a.text.String(), Thinking: a.thinking.String(), Finish: domain.FinishStop, Usage: a.usage}
	for _, b := range a.calls {
		args := b.args.String()
		if args == "" {
			args = "{}"
		}
		out.ToolCalls = append(out.ToolCalls, domain.RequestedCall{WireID: b.id, Name: b.name, Arguments: args})
	}
	switch {
	case a.reason == "length":
		out.Finish = domain.FinishLength
	case len(out.ToolCalls) > 0:
		out.Finish = domain.FinishTools
	case len(a.offered) > 0:
		if c, ok := wire.TextCall(out.Text, a.offered); ok {
			out.ToolCalls, out.Text, out.Finish = []domain.RequestedCall{c}, "", domain.FinishTools
		}
	}
	if strings.TrimSpace(out.Text) == "" && len(out.ToolCalls) == 0 {
		return domain.ModelAnswer{}, empty(a.reason, out)
	}
	return out, nil
}
