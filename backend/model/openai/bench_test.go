package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"worksite/backend/domain"
)

// sink answers every request at once, after reading its body as a socket would.
type sink struct{ n int64 }

func (s *sink) RoundTrip(req *http.Request) (*http.Response, error) {
	n, err := io.Copy(io.Discard, req.Body)
	if err != nil {
		return nil, err
	}
	s.n = n
	const answer = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: req,
	}, nil
}

// conversation is a session of n messages such as coding runs make.
func conversation(n int) []*domain.Message {
	out := []*domain.Message{{Role: domain.RoleUser, Text: "Do the task."}}
	for i := 0; len(out) < n; i++ {
		id := fmt.Sprintf("call_%d", i)
		out = append(out,
			&domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.RequestedCall{{WireID: id, Name: "read", Arguments: `{"path":"src/file.go"}`}}},
			&domain.Message{Role: domain.RoleTool, WireID: id, ToolName: "read", Text: strings.Repeat("if a < b && c > d { return \"x\" }\n", 15)})
	}
	return out
}

// BenchmarkAssembly is the cost of one more request in a session of n messages,
// with the encodings kept and, for comparison, without.
func BenchmarkAssembly(b *testing.B) {
	for _, n := range []int{50, 3000} {
		messages := conversation(n)
		b.Run(fmt.Sprintf("kept/%d", n), func(b *testing.B) {
			s := &sink{}
			p, err := New(Config{BaseURL: "http://127.0.0.1:1/v1", Transport: s})
			if err != nil {
				b.Fatal(err)
			}
			req := ask("x")
			req.Messages = messages
			next := func() {
				if _, err := p.Next(context.Background(), req, func(domain.Delta) {}); err != nil {
					b.Fatal(err)
				}
			}
			next() // the first request of a session encodes
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
			b.SetBytes(s.n)
		})
		b.Run(fmt.Sprintf("encoded-again/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all := make([]json.RawMessage, len(messages))
				for i, m := range messages {
					all[i], _ = encode(m)
				}
				if _, err := json.Marshal(all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
