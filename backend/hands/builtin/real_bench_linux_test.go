package builtin_test

import (
	"fmt"
	"testing"
)

// A command that does nothing, over the real parts: the cost of sandbox, base
// and the comparison of a workspace of 500 files.
func BenchmarkRealBash(b *testing.B) {
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprintf("d%d/f%d.txt", i%20, i)] = "content\n"
	}
	p := real(b, files)
	c := p.caller("bash")
	for b.Loop() {
		if _, err := c.Do(b.Context(), map[string]any{"command": "true"}); err != nil {
			b.Fatal(err)
		}
	}
}
