// Package plan is the hand that keeps the visible to-do list of a run.
package plan

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/hands"
)

//go:embed plan.md
var description string

const schema = `{"type":"object","properties":{"items":{"type":"array","maxItems":50,"items":{"type":"object","properties":{"text":{"type":"string","minLength":1},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["text","status"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`

// maxText is the longest item, in bytes.
const maxText = 500

// Hand implements capability.Hand.
type Hand struct{}

// New returns the hand.
func New() *Hand { return &Hand{} }

type input struct{ Items []domain.PlanItem }

// Spec implements capability.Hand.
func (h *Hand) Spec() domain.HandSpec {
	return domain.HandSpec{
		Name: "plan", Description: strings.TrimSpace(description), Schema: []byte(schema),
		Class: domain.EffectIdempotent, Capabilities: []domain.Capability{domain.CapPlan},
		Timeout: 10 * time.Second, MaxOutput: 4 << 10, Where: "this process",
	}
}

// Prepare implements capability.Hand.
func (h *Hand) Prepare(_ context.Context, call domain.HandCall) (*domain.PreparedCall, error) {
	in, err := hands.Decode[input](call)
	if err != nil {
		return nil, err
	}
	for i, it := range in.Items {
		if len(it.Text) > maxText {
			return nil, domain.Errorf(domain.CodeInvalid, "item %d has %d bytes; keep items under %d", i+1, len(it.Text), maxText)
		}
	}
	var shown strings.Builder
	for _, it := range in.Items {
		fmt.Fprintf(&shown, "%s %s\n", map[string]string{"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}[it.Status], it.Text)
	}
	return &domain.PreparedCall{
		Call: call, Effect: domain.Effect{Class: domain.EffectIdempotent},
		Title: "Plan: " + summary(in.Items), Shown: shown.String(), ShownKind: "text",
	}, nil
}

func summary(items []domain.PlanItem) string {
	done := 0
	for _, it := range items {
		if it.Status == "completed" {
			done++
		}
	}
	return fmt.Sprintf("%d of %d done", done, len(items))
}

// Execute implements capability.Hand.
func (h *Hand) Execute(_ context.Context, p *domain.PreparedCall, _ func([]byte)) (domain.HandResult, error) {
	in, err := hands.Decode[input](p.Call)
	if err != nil {
		return domain.HandResult{}, err
	}
	text := "The plan is shown."
	i := slices.IndexFunc(in.Items, func(it domain.PlanItem) bool { return it.Status == "in_progress" })
	if i < 0 {
		i = slices.IndexFunc(in.Items, func(it domain.PlanItem) bool { return it.Status == "pending" })
	}
	if i >= 0 {
		text += " Next: " + in.Items[i].Text
	}
	return domain.HandResult{
		Output: domain.ToolOutput{Text: text, Summary: summary(in.Items), Plan: in.Items},
		Drafts: []domain.Payload{domain.PlanUpdated{V: 1, CallID: p.Call.CallID, Items: in.Items}},
	}, nil
}

// Probe implements capability.Hand.
func (h *Hand) Probe(context.Context, domain.HandCall, domain.Effect) (domain.ProbeResult, string) {
	return domain.ProbeNotDone, "the plan is recorded together with the call's completion, which is not there"
}
