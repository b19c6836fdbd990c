package read

import (
	"fmt"
	"strings"
	"testing"

	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/hands/handstest"
)

func numbered(first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "%6d\tl%d\n", i, i)
	}
	return b.String()
}

func lines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "l%d\n", i)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	ws := handstest.New(t, map[string]string{
		"a.txt": lines(3), "many.txt": lines(1500), "empty": "", "bin": "\x7fELF\x00\x01",
		"crlf.txt": "a\r\nb", "utf16": "\xFF\xFEa\x00\n\x00\xe9\x00", "d/x": "",
	})
	seen := hands.NewSeen()
	c := handstest.NewCaller(New(ws.Open, seen))
	for name, tc := range map[string]struct {
		args map[string]any
		want string
	}{
		"whole":         {map[string]any{"path": "a.txt"}, numbered(1, 3)},
		"absolute":      {map[string]any{"path": ws.Dir + "/a.txt"}, numbered(1, 3)},
		"window":        {map[string]any{"path": "many.txt", "offset": 10, "limit": 2}, numbered(10, 11) + "[lines 10-11 of 1500; go on with offset 12]\n"},
		"end":           {map[string]any{"path": "a.txt", "offset": 3}, numbered(3, 3) + "[lines 3-3 of 3]\n"},
		"default limit": {map[string]any{"path": "many.txt"}, numbered(1, 1000) + "[lines 1-1000 of 1500; go on with offset 1001]\n"},
		"empty":         {map[string]any{"path": "empty"}, "empty is empty."},
		"binary":        {map[string]any{"path": "bin"}, "bin is a binary file (application/octet-stream, 6 bytes); its bytes are not shown."},
		"form is said":  {map[string]any{"path": "crlf.txt"}, "     1\ta\n     2\tb\n[UTF-8, CRLF line endings]\n"},
		"decoded":       {map[string]any{"path": "utf16"}, "     1\ta\n     2\té\n[UTF-16LE, LF line endings]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := c.Do(t.Context(), tc.args)
			if err != nil || res.Output.Text != tc.want {
				t.Fatalf("got %q, %v", res.Output.Text, err)
			}
		})
	}
	for name, tc := range map[string]struct {
		args map[string]any
		want string
	}{
		"past the end": {map[string]any{"path": "a.txt", "offset": 9}, "only 3 lines"},
		"folder":       {map[string]any{"path": "d"}, "use ls"},
		"missing":      {map[string]any{"path": "A.txt"}, "near names: a.txt"},
		"outside":      {map[string]any{"path": "../x"}, "outside"},
	} {
		if _, err := c.Do(t.Context(), tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if h, ok := seen.Hash("ses_test", "a.txt"); !ok || h != domain.HashBytes([]byte(lines(3))) {
		t.Error("what was read is not remembered")
	}
	if _, ok := seen.Hash("ses_test", "bin"); ok {
		t.Error("a binary file that was not shown counts as seen")
	}
}

// R150 R154
func TestLongLinesAndLargeFilesAreBounded(t *testing.T) {
	long := strings.Repeat("é", 3000)
	ws := handstest.New(t, map[string]string{
		"long.txt": long + "\nnext\n", "wide.txt": strings.Repeat(strings.Repeat("w", 500)+"\n", 500),
		"large.log": strings.Repeat("0123456789\n", 20_000), "one.json": strings.Repeat("j", 300_000),
	})
	ws.MaxRead = 100_000
	seen := hands.NewSeen()
	c := handstest.NewCaller(New(ws.Open, seen))
	do := func(args map[string]any) domain.HandResult {
		t.Helper()
		res, err := c.Do(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Output.Text) > maxText+4<<10 || res.Output.Dropped != 0 {
			t.Fatalf("%d bytes, the registry cut %d", len(res.Output.Text), res.Output.Dropped)
		}
		return res
	}
	if text := do(map[string]any{"path": "long.txt"}).Output.Text; !strings.Contains(text, "… [4000 more bytes in this line]\n     2\tnext\n") {
		t.Errorf("got …%q", text[len(text)-80:])
	}
	ws.MaxRead = 1 << 20
	if text := do(map[string]any{"path": "wide.txt"}).Output.Text; !strings.Contains(text, "of 500; go on with offset") {
		t.Errorf("got …%q", text[len(text)-80:])
	}
	ws.MaxRead = 100_000
	res := do(map[string]any{"path": "large.log", "offset": 19_999})
	if text := res.Output.Text; !strings.HasPrefix(text, " 19999\t0123456789\n 20000\t0123456789\n") || !strings.Contains(text, "cannot be edited") || len(res.Output.Seen) != 0 {
		t.Errorf("got %q", text)
	}
	if text := do(map[string]any{"path": "one.json"}).Output.Text; !strings.Contains(text, "[298000 more bytes in this line]") {
		t.Errorf("got …%q", text[len(text)-200:])
	}
}
