package builtin

import (
	"encoding/json"
	"testing"

	"worksite/backend/capability"
	"worksite/backend/domain"
	"worksite/backend/hands"
)

func registry() *capability.Registry {
	r := capability.New()
	for _, h := range New(Config{Seen: hands.NewSeen()}) {
		r.Register(h)
	}
	return r
}

// Small local models pay for every token of a tool.
func TestAllToolsTogetherAreLean(t *testing.T) {
	type function struct {
		Type     string `json:"type"`
		Function any    `json:"function"`
	}
	var all []function
	for _, s := range registry().Tools() {
		all = append(all, function{"function", map[string]any{"name": s.Name, "description": s.Description, "parameters": s.Schema}})
	}
	b, err := json.Marshal(all)
	if err != nil || len(b) >= 5<<10 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	t.Logf("nine tools: %d bytes", len(b))
}

// R128 R129
func TestEveryHandStatesItsLimits(t *testing.T) {
	want := []string{"read", "write", "edit", "ls", "glob", "grep", "bash", "plan", "save_artifact"}
	specs := registry().Specs()
	if len(specs) != len(want) {
		t.Fatalf("%d hands", len(specs))
	}
	for i, s := range specs {
		if s.Name != want[i] || s.Description == "" || s.Timeout <= 0 || s.MaxOutput <= 0 || s.Where == "" || len(s.Capabilities) == 0 {
			t.Errorf("%+v", s)
		}
		var schema struct {
			Type       string
			Additional *bool `json:"additionalProperties"`
		}
		if err := json.Unmarshal(s.Schema, &schema); err != nil || schema.Type != "object" || schema.Additional == nil || *schema.Additional {
			t.Errorf("%s: schema %s, %v", s.Name, s.Schema, err)
		}
		switch s.Class {
		case domain.EffectRead, domain.EffectIdempotent, domain.EffectEffect:
		default:
			t.Errorf("%s: class %q", s.Name, s.Class)
		}
	}
}
