package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"worksite/backend/domain"
)

func TestSplice(t *testing.T) {
	one, two := json.RawMessage(`{"a":1}`), json.RawMessage(`{"b":"\"messages\":[]"}`)
	tests := []struct {
		name, body string
		messages   []json.RawMessage
		tools      json.RawMessage
		want       string
	}{
		{"empty list", `{"model":"m","messages":[],"x":1}`, []json.RawMessage{one, two}, nil, `{"model":"m","messages":[{"a":1},{"b":"\"messages\":[]"}],"x":1}`},
		{"null, with tools", `{"messages":null}`, []json.RawMessage{one}, json.RawMessage(`[{}]`), `{"messages":[{"a":1}],"tools":[{}]}`},
		{"no messages", `{"messages":[]}`, nil, nil, `{"messages":[]}`},
		{"a model's name that looks like the hole", `{"model":"\"messages\":[]","messages":[]}`, []json.RawMessage{one}, nil, `{"model":"\"messages\":[]","messages":[{"a":1}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parts, size, err := splice([]byte(tt.body), tt.messages, tt.tools)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []io.Reader{&partsReader{parts: parts}, iotest.OneByteReader(&partsReader{parts: parts})} {
				got, err := io.ReadAll(r)
				if err != nil || string(got) != tt.want || int64(len(got)) != size {
					t.Errorf("got %s (%d of %d bytes), %v", got, len(got), size, err)
				}
			}
		})
	}
	if _, _, err := splice([]byte(`{"prompt":""}`), nil, nil); err == nil {
		t.Error("a body without a hole was filled")
	}
}

// answering is a transport with one answer.
type answering struct {
	status int
	body   io.Reader
}

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(a.body), Request: req}, nil
}

// exchange sends a request and returns the answer's body, which the test's end closes.
func exchange(t *testing.T, x *Exchange, base http.RoundTripper) io.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(x.Context(t.Context()), http.MethodPost, "http://models.example/", strings.NewReader(`{"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Transport{Base: base}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res.Body
}

func TestLinesOneByOne(t *testing.T) {
	long := strings.Repeat("x", 40_000) // longer than the read buffer
	x := &Exchange{SkipBlank: true}
	body := exchange(t, x, answering{200, strings.NewReader("one\n\n  \ntwo\r\n" + long + "\nlast")})
	var got []string
	buf := make([]byte, 1<<20)
	for {
		n, err := body.Read(buf)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if line := strings.TrimRight(string(buf[:n]), "\r\n"); line != string(x.Line()) {
			t.Errorf("read %q while Line is %q", line, x.Line())
		}
		got = append(got, string(x.Line()))
	}
	if want := []string{"one", "two", long, "last"}; fmt.Sprint(got) != fmt.Sprint(want) || x.Lines() != 4 || x.ReadErr() != nil {
		t.Errorf("got %d lines, %v", len(got), x.ReadErr())
	}
}

func TestBrokenBodies(t *testing.T) {
	broken := errors.New("reset")
	x := &Exchange{}
	body := exchange(t, x, answering{200, io.MultiReader(strings.NewReader("one\nhal"), iotest.ErrReader(broken))})
	got, err := io.ReadAll(body)
	if string(got) != "one\n" || !errors.Is(err, broken) || !errors.Is(x.ReadErr(), broken) {
		t.Errorf("half a line: got %q, %v, %v", got, err, x.ReadErr())
	}

	x = &Exchange{}
	body = exchange(t, x, answering{200, io.LimitReader(zeros{}, MaxLine+1<<20)})
	if _, err := io.Copy(io.Discard, body); !errors.Is(err, ErrLineTooLong) || !errors.Is(x.ReadErr(), ErrLineTooLong) {
		t.Errorf("an endless line: %v", err)
	}

	x = &Exchange{}
	body = exchange(t, x, answering{500, io.LimitReader(zeros{}, 1<<20)})
	if got, err := io.ReadAll(body); err != nil || len(got) != maxErrorBody || !bytes.Equal(got, x.ErrorBody()) || x.Status() != 500 {
		t.Errorf("an error's body: %d bytes kept, %v", len(x.ErrorBody()), err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestSawDone(t *testing.T) {
	for body, want := range map[string]bool{"data: {}\n\ndata: [DONE]\n\n": true, "data:[DONE]": true, "data: {\"x\":\"[DONE]\"}\n": false, "[DONE]\n": false} {
		x := &Exchange{}
		if _, err := io.Copy(io.Discard, exchange(t, x, answering{200, strings.NewReader(body)})); err != nil || x.SawDone() != want {
			t.Errorf("%q: %v, %v", body, x.SawDone(), err)
		}
	}
}

// R153
func TestArguments(t *testing.T) {
	for in, want := range map[string]string{
		``:                `{}`,
		` {"a": 1e400} `:  `{"a": 1e400}`,
		`{"a":`:           `{"_malformed_arguments":"{\"a\":"}`,
		`[1]`:             `{"_malformed_arguments":"[1]"}`,
		`"text"`:          `{"_malformed_arguments":"\"text\""}`,
		"{}{}":            `{"_malformed_arguments":"{}{}"}`,
		"\x00<b>":         `{"_malformed_arguments":"\u0000<b>"}`,
		"null":            `{"_malformed_arguments":"null"}`,
		"{\"a\":\"\xff\"": `{"_malformed_arguments":"{\"a\":\"\ufffd\""}`,
	} {
		if got := string(Arguments(in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		} else if !json.Valid([]byte(got)) {
			t.Errorf("%q: %s is no JSON", in, got)
		}
	}
}

func TestTextCall(t *testing.T) {
	offered := []domain.ToolSpec{{Name: "ls"}}
	for text, want := range map[string]string{
		`{"name":"ls","arguments":{"path":"."}}`:                           `{"path":"."}`,
		`{"type":"function","name":"ls","parameters":{}}`:                  `{}`,
		"<tool_call>\n{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>": `{}`,
		`{"name":"rm","arguments":{}}`:                                     "",
		`{"name":"ls","arguments":"{}"}`:                                   "",
		`{"name":"ls","arguments":{},"parameters":{}}`:                     "",
		`{"name":"ls"}`: "",
		`{"name":"ls","arguments":{},"why":"because"}`:                          "",
		`[{"name":"ls","arguments":{}}]`:                                        "",
		"```json\n{\"name\":\"ls\",\"arguments\":{}}\n```":                      "",
		`{"name":"ls","arguments":{}} is what I would run`:                      "",
		`<tool_call>{"name":"ls","arguments":{}}`:                               "",
		`<tool_call>{"name":"ls","arguments":{}}</tool_call><tool_call></tool>`: "",
		"": "",
	} {
		got, ok := TextCall(text, offered)
		if ok != (want != "") || got.Arguments != want {
			t.Errorf("%q: got %+v, %v", text, got, ok)
		}
	}
}

func TestTools(t *testing.T) {
	if raw, err := Tools(nil); err != nil || raw != nil {
		t.Errorf("no tools: %s, %v", raw, err)
	}
	raw, err := Tools([]domain.ToolSpec{{Name: "a", Description: "x <y>"}, {Name: "b", Schema: json.RawMessage(`{"type": "object"}`)}})
	const want = `[{"type":"function","function":{"name":"a","description":"x <y>","parameters":{"type":"object","properties":{}}}},` +
		`{"type":"function","function":{"name":"b","parameters":{"type":"object"}}}]`
	if err != nil || string(raw) != want {
		t.Errorf("got %s, %v", raw, err)
	}
}
