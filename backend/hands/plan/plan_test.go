package plan

import (
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/hands/handstest"
)

func TestPlan(t *testing.T) {
	c := handstest.NewCaller(New())
	items := []map[string]any{{"text": "read", "status": "completed"}, {"text": "change", "status": "in_progress"}, {"text": "test", "status": "pending"}}
	p, err := c.Prepare(t.Context(), map[string]any{"items": items})
	if err != nil || p.Shown != "[x] read\n[~] change\n[ ] test\n" {
		t.Fatalf("%+v %v", p, err)
	}
	res, err := c.Execute(t.Context(), p)
	if err != nil || res.Output.Text != "The plan is shown. Next: change" || res.Output.Summary != "1 of 3 done" || len(res.Output.Plan) != 3 {
		t.Fatalf("%+v %v", res.Output, err)
	}
	if up := res.Drafts[0].(domain.PlanUpdated); len(up.Items) != 3 || up.CallID != p.Call.CallID {
		t.Fatalf("%+v", up)
	}
	for name, item := range map[string]map[string]any{
		"status": {"text": "x", "status": "done"}, "missing": {"text": "x"},
		"long": {"text": strings.Repeat("x", 501), "status": "pending"},
	} {
		if _, err := c.Prepare(t.Context(), map[string]any{"items": []any{item}}); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "item 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r, _ := c.Registry.Probe(t.Context(), "plan", p.Call, p.Effect); r != domain.ProbeNotDone {
		t.Error(r)
	}
}
