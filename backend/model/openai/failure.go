package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"worksite/backend/domain"
	"worksite/backend/model/internal/wire"
)

// errNoAnswer is an endpoint that takes connections and says nothing.
var errNoAnswer = errors.New("the endpoint took the connection and did not answer")

// failed names the state that err stands for. x, when not nil, saw the answer:
// the library loses the status when an error's body is not JSON.
func failed(e endpoint, name string, x *wire.Exchange, err error) *domain.ModelFailure {
	if f := (*domain.ModelFailure)(nil); errors.As(err, &f) {
		return f
	}
	f := &domain.ModelFailure{State: domain.ModelError, Err: err, Message: "The request went wrong: " + err.Error()}
	if d := (*domain.Error)(nil); errors.As(err, &d) {
		f.Message, f.Hint = d.Message, d.Hint
		return f
	}
	var inStream *ssestream.StreamError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f.State, f.Message = domain.ModelCutOff, "The request was stopped before the model had answered."
	case x != nil && x.Status() >= http.StatusBadRequest:
		byStatus(f, e, name, x.Status(), x.ErrorBody())
	case errors.As(err, &inStream):
		text, code := details(inStream.Event.Data)
		f.Retryable = true
		f.Message = "The endpoint broke its answer off: " + clip(text)
		f.Hint = "Ask again."
		if tooLong(text, code) {
			*f = *longer(err)
		}
	case x != nil && x.Status() != 0:
		return cutOff("", err)
	case unreachable(err):
		f.State, f.Retryable = domain.ModelDown, true
		f.Message = "Nothing answers at " + e.base + "."
		f.Hint = "Start the server, or correct the address in the settings."
	}
	return f
}

func byStatus(f *domain.ModelFailure, e endpoint, name string, status int, body []byte) {
	text, code := details(body)
	f.Message = fmt.Sprintf("The endpoint answered %d: %s", status, clip(text))
	lower := strings.ToLower(text)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.State = domain.ModelUnauth
		f.Message = "The endpoint refused the credentials: " + clip(text)
		f.Hint = fmt.Sprintf("The key in the environment variable %s is not accepted; correct it and start again.", e.keyEnv)
		if e.key == "" {
			f.Hint = fmt.Sprintf("Set the environment variable %s to a key for the address in the settings, and start again.", e.keyEnv)
		}
	case tooLong(text, code), status == http.StatusRequestEntityTooLarge:
		*f = *longer(f.Err)
	case strings.Contains(lower, "support tool"), strings.Contains(lower, "tool choice requires"), strings.Contains(lower, "support function"):
		f.State = domain.ModelNoTools
		f.Message = fmt.Sprintf("The model %q cannot call tools at this endpoint: %s", name, clip(text))
		f.Hint = "Choose another model, or start the server with tool calling enabled."
	case status == http.StatusNotFound && (code == "model_not_found" || strings.Contains(lower, "model")):
		f.State = domain.ModelMissing
		f.Message = fmt.Sprintf("The endpoint has no model %q.", name)
		f.Hint = "Choose one of the models it lists."
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		f.Message = fmt.Sprintf("What answers at %s does not offer chat completions (%d: %s).", e.base, status, clip(text))
		f.Hint = "The address usually ends in /v1; correct it in the settings."
	case code == "insufficient_quota":
		f.State = domain.ModelBusy
		f.Message = "The account at the endpoint has no credit left: " + clip(text)
		f.Hint = "Choose another model, or add credit with the provider."
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		f.State, f.Retryable = domain.ModelBusy, true
		f.Hint = "Wait a moment and ask again."
	case status >= http.StatusInternalServerError:
		f.Retryable = true
		f.Hint = "The fault is at the endpoint; ask again."
	}
}

// details reads an error in the shapes that servers give it: OpenAI's object, a
// bare string, FastAPI's detail, or plain text.
func details(body []byte) (text, code string) {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(body, &shape); err != nil {
		return strings.TrimSpace(string(body)), ""
	}
	var e struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	var s string
	switch {
	case json.Unmarshal(shape.Error, &e) == nil && e.Message != "":
		_ = json.Unmarshal(e.Code, &code) // a number at some servers
		if code == "" {
			code = e.Type
		}
		return e.Message, code
	case json.Unmarshal(shape.Error, &s) == nil && s != "":
		return s, ""
	case shape.Message != "":
		return shape.Message, ""
	case json.Unmarshal(shape.Detail, &s) == nil && s != "":
		return s, ""
	}
	return strings.TrimSpace(string(body)), ""
}

func tooLong(text, code string) bool {
	text = strings.ToLower(text)
	return code == "context_length_exceeded" || code == "exceed_context_size_error" ||
		strings.Contains(text, "maximum context length") || strings.Contains(text, "exceeds the context length") ||
		strings.Contains(text, "exceeds the available context size")
}

func longer(err error) *domain.ModelFailure {
	return &domain.ModelFailure{
		State: domain.ModelTooLong, Err: err,
		Message: "The conversation does not fit the model's context window.",
		Hint:    "Choose a model with a larger window, let older results be left out, or start a new session.",
	}
}

func cutOff(partial string, err error) *domain.ModelFailure {
	f := &domain.ModelFailure{
		State: domain.ModelCutOff, Err: err, Partial: partial, Retryable: true,
		Message: "The answer ended without a finish reason.", Hint: "Ask again.",
	}
	if err != nil {
		f.Message = "The connection broke in the middle of the answer: " + err.Error() + "."
	}
	return f
}

func empty(reason string, out domain.ModelAnswer) *domain.ModelFailure {
	f := &domain.ModelFailure{State: domain.ModelEmpty, Partial: out.Text, Retryable: true}
	f.Message, f.Hint = "The model answered with neither text nor a tool call.", "Ask again, or choose another model."
	switch reason {
	case "length":
		f.Retryable = false
		f.Message = "The model reached its length limit before saying anything."
		f.Hint = "Choose a model with a larger window, or start a new session."
	case "content_filter":
		f.Retryable = false
		f.Message = "The endpoint's filter removed the answer."
		f.Hint = "Word the request differently, or choose another model."
	}
	return f
}

func clip(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " …"
}

func unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.Is(err, errNoAnswer) || errors.As(err, &dns) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		(errors.As(err, &op) && op.Op == "dial") || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
