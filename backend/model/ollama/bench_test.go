package ollama

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"worksite/backend/domain"
)

// sink answers like a server with one warm model, after reading the body.
type sink struct{ n int64 }

func (s *sink) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		n, err := io.Copy(io.Discard, req.Body)
		if err != nil {
			return nil, err
		}
		s.n = n
	}
	answer := `{"message":{"role":"assistant","content":"ok"},"done":true,"done_reason":"stop"}` + "\n"
	if strings.HasSuffix(req.URL.Path, "/api/show") {
		answer = `{"capabilities":["completion","tools"],"model_info":{"general.architecture":"l","l.context_length":32768}}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: req}, nil
}

// BenchmarkAssembly is the cost of one more request in a session of n messages.
func BenchmarkAssembly(b *testing.B) {
	for _, n := range []int{50, 3000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := &sink{}
			p, err := New(Config{Transport: s})
			if err != nil {
				b.Fatal(err)
			}
			req := withTools(ask("Do the task."))
			for i := 0; len(req.Messages) < n; i++ {
				id := fmt.Sprintf("call_%d", i)
				req.Messages = append(req.Messages,
					&domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.RequestedCall{{WireID: id, Name: "read", Arguments: `{"path":"src/file.go"}`}}},
					&domain.Message{Role: domain.RoleTool, WireID: id, ToolName: "read", Text: strings.Repeat("if a < b && c > d { return \"x\" }\n", 15)})
			}
			next := func() {
				if _, err := p.Next(context.Background(), req, func(domain.Delta) {}); err != nil {
					b.Fatal(err)
				}
			}
			next()
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
			b.SetBytes(s.n)
		})
	}
}
