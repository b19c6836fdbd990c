package harness

import (
	"context"
	"fmt"
	"strings"

	"worksite/backend/domain"
)

// brief returns the session's fixed beginning, made once per run, and its sources
// when they were not recorded in this run yet.
func (h *Harness) brief(ctx context.Context, st *state) (*domain.Message, []domain.ContextSource, error) {
	if st.briefed == st.run.id {
		return st.briefText, nil, nil
	}
	text, sources, err := h.Brief.Brief(ctx, st.session, st.workspace)
	if err != nil {
		return nil, nil, err
	}
	st.briefed, st.briefText = st.run.id, &domain.Message{Role: domain.RoleSystem, Text: text}
	return st.briefText, sources, nil
}

func (h *Harness) tools() []domain.ToolSpec {
	specs := h.Hands.Specs()
	out := make([]domain.ToolSpec, len(specs))
	for i, s := range specs {
		out[i] = domain.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema}
	}
	return out
}

// messages builds the context. Every call is followed by exactly one result,
// whatever was interrupted, refused or left out.
func (st *state) messages(brief *domain.Message) []*domain.Message {
	out := make([]*domain.Message, 0, 1+3*len(st.entries))
	out = append(out, brief)
	gap := false
	for _, en := range st.entries {
		if en.dropped {
			if !gap {
				out = append(out, droppedNote)
			}
			gap = true
			continue
		}
		gap = false
		out = append(out, en.message)
		for _, id := range en.calls {
			out = append(out, st.result(en, id))
		}
	}
	return out
}

var droppedNote = &domain.Message{Role: domain.RoleUser, Text: "[Some earlier steps were left out here to fit the context. Look at the files for their present state.]"}

// result returns the one result of a call as the model sees it.
func (st *state) result(en *entry, id domain.CallID) *domain.Message {
	m := en.results[id]
	if m == nil {
		return toolMessage(st.calls[id], "[no result: the call was not carried out]")
	}
	if en.elided {
		return toolMessage(st.calls[id], fmt.Sprintf("[result of %d bytes left out to fit the context; request it again if it is needed]", len(m.Text)))
	}
	return m
}

func toolMessage(c *call, text string) *domain.Message {
	m := &domain.Message{Role: domain.RoleTool, Text: text, CallID: c.id, ToolName: c.name}
	for _, rc := range c.entry.message.ToolCalls {
		if rc.CallID == c.id {
			m.WireID = rc.WireID
		}
	}
	return m
}

func userMessage(p domain.MessageSent) *domain.Message {
	var b strings.Builder
	b.WriteString(p.Text)
	for _, a := range p.Attachments {
		fmt.Fprintf(&b, "\n[attached: %s, %s, %d bytes", a.Name, a.MediaType, a.Size)
		if a.Path != "" {
			fmt.Fprintf(&b, ", in the workspace as %s", a.Path)
		}
		b.WriteString("]")
	}
	return &domain.Message{Role: domain.RoleUser, Text: b.String()}
}

func (st *state) messageCount() int {
	n := 1
	for _, en := range st.entries {
		if !en.dropped {
			n += 1 + len(en.calls)
		}
	}
	return n
}

// causeOfCall is the event that a model call follows from.
func (st *state) causeOfCall(pend []domain.Draft) domain.EventID {
	for i := len(pend) - 1; i >= 0; i-- {
		if pend[i].ID != "" {
			return pend[i].ID
		}
	}
	if n := len(st.entries); n > 0 {
		return st.entries[n-1].event
	}
	return st.run.event
}
