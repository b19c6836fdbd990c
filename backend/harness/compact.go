package harness

import (
	"fmt"

	"worksite/backend/domain"
)

// Tokens are estimated before sending: bytes over bytesPerToken, plus a little
// for each message's frame. Where the provider has counted a context already,
// its count replaces the estimate of that part.
const (
	bytesPerToken   = 3.3
	tokensPerFrame  = 6
	keptEntries     = 8 // newest entries that compaction never touches
	answerShare     = 4 // a quarter of the context, at most answerMost, stays free for the answer
	answerMost      = 4096
	elideFromTokens = 40 // shorter results are not worth a note
)

// roomFor is what a context of limit tokens leaves for the prompt.
func roomFor(limit int) int {
	return limit - min(limit/answerShare, answerMost)
}

func tokens(bytes int) int { return int(float64(bytes)/bytesPerToken) + 1 }

func messageTokens(m *domain.Message) int {
	n := tokensPerFrame + tokens(len(m.Text))
	for _, c := range m.ToolCalls {
		n += tokensPerFrame + tokens(len(c.Name)+len(c.Arguments))
	}
	return n
}

func (st *state) entryTokens(en *entry) int {
	if en.dropped {
		return 0
	}
	n := messageTokens(en.message)
	for _, id := range en.calls {
		n += messageTokens(st.result(en, id))
	}
	return n
}

// estimate returns about how many tokens the next context has.
func (st *state) estimate(brief *domain.Message, tools []domain.ToolSpec) int {
	if st.lastInput > 0 && st.counted > 0 {
		n := st.lastInput
		if last := st.entries[st.counted-1]; len(last.calls) > 0 {
			for _, id := range last.calls {
				n += messageTokens(st.result(last, id))
			}
		}
		for _, en := range st.entries[st.counted:] {
			n += st.entryTokens(en)
		}
		return n
	}
	n := messageTokens(brief)
	for _, t := range tools {
		n += tokensPerFrame + tokens(len(t.Name)+len(t.Description)+len(t.Schema))
	}
	for _, en := range st.entries {
		n += st.entryTokens(en)
	}
	return n
}

// estimateDrafts counts results and messages that are about to be appended.
func estimateDrafts(drafts []domain.Draft) int {
	n := 0
	for _, d := range drafts {
		switch p := d.Payload.(type) {
		case domain.ToolCallCompleted:
			n += tokens(len(p.Output.Text))
		case domain.ToolCallFailed:
			n += tokens(len(p.Message) + len(p.Hint))
		case domain.MessageSent:
			n += tokensPerFrame + tokens(len(p.Text))
		}
	}
	return n
}

// compact chooses what later contexts leave out until they fit room: first old
// tool results become notes, then whole old steps go, never the first
// instruction nor the newest entries. It is a pure function of state and room;
// ok is false when that is not enough.
func (st *state) compact(brief *domain.Message, tools []domain.ToolSpec, room int) (out domain.ContextCompacted, ok bool) {
	st.lastInput, st.counted = 0, 0
	before := st.estimate(brief, tools)
	need := before
	end := max(len(st.entries)-keptEntries, 0)
	target := room * 3 / 4 // some way below, so that it does not happen at every step
	out = domain.ContextCompacted{V: 1, Policy: fmt.Sprintf("elide results, then drop steps; keep the first instruction and the newest %d entries; aim at %d tokens", keptEntries, target), BeforeTokens: before}
	for _, en := range st.entries[:end] {
		if need <= target {
			break
		}
		if en.elided || en.dropped || len(en.calls) == 0 {
			continue
		}
		was := st.entryTokens(en)
		en.elided = true
		saved := was - st.entryTokens(en)
		en.elided = false
		if saved > elideFromTokens {
			need -= saved
			out.Elided = append(out.Elided, en.event)
		}
	}
	for i, en := range st.entries[:end] {
		if need <= target {
			break
		}
		if i == 0 || en.dropped {
			continue
		}
		need -= st.entryTokens(en)
		out.Dropped = append(out.Dropped, en.event)
	}
	out.AfterTokens = max(need, 1)
	return out, need <= room && len(out.Elided)+len(out.Dropped) > 0
}
