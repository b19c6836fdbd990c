package ollama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/ollama/ollama/api"

	"worksite/backend/domain"
)

// failed names the state that err of a request to s stands for. The name is
// the model's, "" when the request was about none.
func failed(s *server, name string, err error) *domain.ModelFailure {
	if f := (*domain.ModelFailure)(nil); errors.As(err, &f) {
		return f
	}
	f := &domain.ModelFailure{State: domain.ModelError, Err: err, Message: "The request went wrong: " + err.Error()}
	if e := (*domain.Error)(nil); errors.As(err, &e) {
		f.Message, f.Hint = e.Message, e.Hint
		return f
	}
	var auth api.AuthorizationError
	var status api.StatusError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f.State, f.Message = domain.ModelCutOff, "The request was stopped before the model had answered."
	case errors.As(err, &auth):
		f.State = domain.ModelUnauth
		f.Message = "The Ollama server wants a signed-in account for this model."
		f.Hint = "Run `ollama signin`, or choose a model that runs on this machine."
	case errors.As(err, &status):
		text := status.ErrorMessage
		if text == "" {
			text = status.Status
		}
		byStatus(f, s, name, status.StatusCode, strings.TrimSpace(text))
	case unreachable(err):
		f.State, f.Retryable = domain.ModelDown, true
		f.Message = "Nothing answers at " + s.base + "."
		f.Hint = "Start Ollama (`ollama serve`, or its application), or set its address in the settings."
	}
	return f
}

// byStatus maps an HTTP status and the server's words. The words are the only
// sign the server gives for most of these; they were seen with version 0.17.4,
// and any other wording still ends as the plain error it is.
func byStatus(f *domain.ModelFailure, s *server, name string, code int, text string) {
	f.Message = fmt.Sprintf("The Ollama server answered %d: %s", code, clip(text))
	switch {
	case strings.Contains(text, "exceeds the context length"), strings.Contains(text, "exceeds maximum context length"):
		f.State = domain.ModelTooLong
		f.Message = "The conversation does not fit the model's context window; nothing was cut and nothing was sent on."
		f.Hint = "Choose a larger context window or a model with one, let older results be left out, or start a new session."
	case strings.Contains(text, "does not support tools"):
		*f = *noTools(name, f.Err)
	case strings.Contains(text, "does not support chat"):
		f.Message = fmt.Sprintf("The model %q does not chat (it makes embeddings).", name)
		f.Hint = "Choose another model."
	case code == http.StatusNotFound && strings.Contains(text, "not found") && strings.HasPrefix(text, "model"):
		f.State = domain.ModelMissing
		f.Message = fmt.Sprintf("The model %q is not on the Ollama server at %s.", name, s.base)
		f.Hint = "ollama pull " + name
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		// Ollama answers a wrong path in plain text; so does any other server.
		f.Message = fmt.Sprintf("What answers at %s does not speak Ollama's API (%d: %s).", s.base, code, clip(text))
		f.Hint = "Check the address in the settings. An OpenAI-compatible server is chosen as provider \"openai\"."
	case code == http.StatusServiceUnavailable, code == http.StatusTooManyRequests:
		f.State, f.Retryable = domain.ModelBusy, true
		f.Message = "The Ollama server has too many requests waiting."
		f.Hint = "Wait a moment and ask again."
	case code == http.StatusBadGateway, code == http.StatusGatewayTimeout:
		f.State, f.Retryable = domain.ModelDown, true
		f.Hint = "Something stands between this program and Ollama and cannot reach it; check the address."
	case strings.HasPrefix(text, "unable to load model"):
		// What follows in the server's words is a path on its disk: of no use here.
		f.Message = fmt.Sprintf("The Ollama server cannot load the model %q.", name)
		f.Hint = fmt.Sprintf("Its files may be damaged or too new for this server: update Ollama, then `ollama pull %s`.", name)
	case strings.Contains(text, "requires more system memory"), strings.Contains(text, "out of memory"):
		f.Hint = "Choose a smaller model or a smaller context window, or close other programs."
	case strings.Contains(text, "runner process has terminated"), strings.Contains(text, "unexpected EOF"):
		f.Retryable = true
		f.Hint = "The model's process ended. If it happens again, memory is the usual cause: choose a smaller model or window."
	}
}

// lastLine maps an error that came as the last line of a stream.
func lastLine(err error, partial string) *domain.ModelFailure {
	f := &domain.ModelFailure{
		State: domain.ModelError, Err: err, Partial: partial, Retryable: true,
		Message: "The Ollama server broke its answer off: " + clip(err.Error()),
		Hint:    "Ask again; the server loads the model anew if its process ended.",
	}
	if strings.Contains(err.Error(), "exceeds the context length") {
		byStatus(f, &server{}, "", http.StatusBadRequest, err.Error())
		f.Retryable = false
	}
	return f
}

// clip bounds what a foreign server may put into a message.
func clip(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " …"
}

func noTools(name string, err error) *domain.ModelFailure {
	return &domain.ModelFailure{
		State: domain.ModelNoTools, Err: err,
		Message: fmt.Sprintf("The model %q cannot call tools, so it cannot work on files.", name),
		Hint:    "Choose a model marked with tools in the model list.",
	}
}

func cutOff(partial string, err error) *domain.ModelFailure {
	f := &domain.ModelFailure{
		State: domain.ModelCutOff, Err: err, Partial: partial, Retryable: true,
		Message: "The answer ended without its last line.",
		Hint:    "Ask again. Ollama also ends an answer like this when the model repeats itself without end.",
	}
	if err != nil {
		f.Message = "The connection broke in the middle of the answer: " + err.Error() + "."
		f.Hint = "Ask again; see whether the Ollama server is still running."
	}
	return f
}

// unreachable reports whether err says that no server was there, as against one
// that answered badly.
func unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.Is(err, errNoAnswer) || errors.As(err, &dns) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		(errors.As(err, &op) && op.Op == "dial") || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
