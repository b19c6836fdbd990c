package ls

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"worksite/backend/hands/handstest"
)

func TestList(t *testing.T) {
	ws := handstest.New(t, map[string]string{"b.txt": "12345", "A/x": "", "z/y": "", "new\nline": ""})
	if err := os.Symlink("b.txt", ws.Dir+"/link"); err != nil {
		t.Fatal(err)
	}
	c := handstest.NewCaller(New(ws.Open))
	res, err := c.Do(t.Context(), map[string]any{})
	if want := "A/\nz/\nb.txt (5 bytes)\nlink@\nnew?line (0 bytes)\n"; err != nil || res.Output.Text != want || res.Output.Summary != "5 entries" {
		t.Fatalf("got %q %q %v", res.Output.Text, res.Output.Summary, err)
	}
	for path, want := range map[string]string{"b.txt": "use read", "Z": "near names: z", "no/where": "nor a folder no", "..": "outside"} {
		if _, err := c.Do(t.Context(), map[string]any{"path": path}); err == nil || !strings.Contains(err.Error(), want) && path != "Z" {
			t.Errorf("%s: %v", path, err)
		}
	}
	for i := range 600 {
		ws.Put(t, fmt.Sprintf("big/%d", i), "")
	}
	res, err = c.Do(t.Context(), map[string]any{"path": "big"})
	if err != nil || !strings.HasSuffix(res.Output.Text, "[100 more entries not shown; use glob]\n") {
		t.Fatalf("…%s %v", res.Output.Text[len(res.Output.Text)-60:], err)
	}
}
