package glob

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"worksite/backend/hands/handstest"
)

func TestFind(t *testing.T) {
	ws := handstest.New(t, map[string]string{"a.py": "", "src/b.py": "", "src/deep/c.py": "", "src/d.txt": "", "out/e.py": ""})
	ws.Ignored = []string{"out"}
	for i, name := range []string{"a.py", "src/b.py", "src/deep/c.py", "src/d.txt"} {
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(filepath.Join(ws.Dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	c := handstest.NewCaller(New(ws.Open))
	for name, tc := range map[string]struct {
		args map[string]any
		want string
	}{
		"any depth, newest first": {map[string]any{"pattern": "**/*.py"}, "src/deep/c.py\nsrc/b.py\na.py\n"},
		"bare name":               {map[string]any{"pattern": "*.py"}, "src/deep/c.py\nsrc/b.py\na.py\n"},
		"anchored":                {map[string]any{"pattern": "src/*.py"}, "src/b.py\n"},
		"braces":                  {map[string]any{"pattern": "src/*.{py,txt}"}, "src/d.txt\nsrc/b.py\n"},
		"below a folder":          {map[string]any{"pattern": "*.py", "path": "src"}, "src/deep/c.py\nsrc/b.py\n"},
		"absolute":                {map[string]any{"pattern": ws.Dir + "/src/*.py"}, "src/b.py\n"},
		"dot slash":               {map[string]any{"pattern": "./src/*.py"}, "src/b.py\n"},
		"nothing":                 {map[string]any{"pattern": "*.rs"}, "No file matches **/*.rs in . (files ignored by Git are left out).\n"},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := c.Do(t.Context(), tc.args)
			if err != nil || res.Output.Text != tc.want {
				t.Fatalf("got %q, %v; want %q", res.Output.Text, err, tc.want)
			}
		})
	}
	if _, err := c.Do(t.Context(), map[string]any{"pattern": "[z"}); err == nil || !strings.Contains(err.Error(), "not a valid glob") {
		t.Errorf("%v", err)
	}
	for i := range 250 {
		ws.Put(t, fmt.Sprintf("many/%d.md", i), "")
	}
	res, err := c.Do(t.Context(), map[string]any{"pattern": "*.md"})
	if err != nil || !strings.HasSuffix(res.Output.Text, "[50 more not shown, all older; narrow the pattern]\n") || res.Output.Summary != "250 files" {
		t.Fatalf("%s %v", res.Output.Summary, err)
	}
}
