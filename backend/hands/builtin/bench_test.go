package builtin

import (
	"strings"
	"testing"

	"worksite/backend/capability"
	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/handstest"
)

// One call through the registry: validate, prepare, digest, execute.
func BenchmarkCall(b *testing.B) {
	text := strings.Repeat("a line of ordinary text\n", 200)
	ws := handstest.New(b, map[string]string{"a.txt": text})
	seen := hands.NewSeen()
	seen.Mark("ses_test", "a.txt", domain.HashBytes([]byte(text)))
	r := capability.New()
	for _, h := range New(Config{Open: ws.Open, Seen: seen}) {
		r.Register(h)
	}
	for name, args := range map[string][2]map[string]any{
		"read": {{"path": "a.txt"}, {"path": "a.txt"}},
		"edit": {
			{"path": "a.txt", "old_string": text[:24] + text[:24], "new_string": "x\n" + text[:24], "replace_all": true},
			{"path": "a.txt", "old_string": "x\n" + text[:24], "new_string": text[:24] + text[:24], "replace_all": true},
		},
	} {
		b.Run(name, func(b *testing.B) {
			c := handstest.Caller{Registry: r, Name: name, Session: "ses_test"}
			for i := 0; b.Loop(); i++ {
				if _, err := c.Do(b.Context(), args[i%2]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
