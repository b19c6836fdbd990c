package practice

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"worksite/backend/domain"
)

//go:embed recordings/*.json
var recordings embed.FS

// recording is one recorded conversation.
type recording struct {
	Version int      `json:"version"`
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Request string   `json:"request"`
	Answers []answer `json:"answers"`
}

type answer struct {
	Thinking string `json:"thinking"`
	Text     string `json:"text"`
	Calls    []call `json:"calls"`
}

type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Exit      *int            `json:"exit"` // the exit code that the next answer speaks of
}

// load reads the recordings that are built in. They are data of this package:
// one that cannot be read is a mistake in it, which its tests find.
func load() (map[string]*recording, error) {
	entries, err := recordings.ReadDir("recordings")
	if err != nil {
		return nil, err
	}
	out := map[string]*recording{}
	for _, e := range entries {
		raw, err := recordings.ReadFile(path.Join("recordings", e.Name()))
		if err != nil {
			return nil, err
		}
		r, err := parse(raw)
		if err != nil {
			return nil, fmt.Errorf("recording %s: %w", e.Name(), err)
		}
		out[r.Name] = r
	}
	return out, nil
}

func parse(raw []byte) (*recording, error) {
	var r recording
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, err
	}
	if r.Version != 1 || r.Name == "" || r.Request == "" || len(r.Answers) == 0 {
		return nil, fmt.Errorf("version 1, a name, a request and answers are needed")
	}
	for i, a := range r.Answers {
		last := i == len(r.Answers)-1
		if (len(a.Calls) == 0) != last {
			return nil, fmt.Errorf("answer %d: exactly the last answer has no calls", i+1)
		}
		for k, c := range a.Calls {
			var compact bytes.Buffer
			if err := json.Compact(&compact, c.Arguments); err != nil || compact.Bytes()[0] != '{' {
				return nil, fmt.Errorf("answer %d: the arguments of %s are no object", i+1, c.Name)
			}
			r.Answers[i].Calls[k].Arguments = compact.Bytes()
		}
	}
	return &r, nil
}

// asks reports whether a person's message is the recorded request: the same
// words, whatever the case and spacing, perhaps with remarks about attachments
// in brackets after them.
func (r *recording) asks(text string) bool {
	rest, ok := strings.CutPrefix(words(text), words(r.Request))
	rest = strings.TrimLeft(rest, ".!")
	return ok && (rest == "" || strings.HasPrefix(rest, " ["))
}

func words(s string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(s), " ")), ".! ")
}

// requested returns the calls of an answer as a model would send them.
func (a answer) requested() []domain.RequestedCall {
	out := make([]domain.RequestedCall, len(a.Calls))
	for i, c := range a.Calls {
		out[i] = domain.RequestedCall{Name: c.Name, Arguments: string(c.Arguments)}
	}
	return out
}
