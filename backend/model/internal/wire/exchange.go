package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

const (
	maxErrorBody = 64 << 10
	// MaxLine bounds one line of a streamed answer, in bytes. It is just below
	// the bound of Ollama's client, which ends such a stream without an error.
	MaxLine = 8<<20 - 1<<10
)

// ErrLineTooLong is a line of an answer beyond [MaxLine].
var ErrLineTooLong = errors.New("a line of the answer is longer than 8 MB")

// Exchange is one streamed request and what was seen of its answer. Fill the
// exported fields, put it into the request's context with [Exchange.Context],
// and read the results after (or, for Line, while) the client library works.
type Exchange struct {
	Observe   bool              // leave the body as it is, only watch the answer
	Messages  []json.RawMessage // replace the body's empty "messages" list
	Tools     json.RawMessage   // "tools", left out when nil
	SkipBlank bool              // hide blank lines (they are no separators in NDJSON)
	OnHeaders func()            // called once, when the answer's headers are there

	mu        sync.Mutex
	status    int
	errorBody []byte
	line      []byte
	lines     int
	sawDone   bool
	readErr   error
	sent      int64
}

type exchangeKey struct{}

// Context returns ctx carrying x to the [Transport].
func (x *Exchange) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// Status returns the answer's HTTP status, 0 when none came.
func (x *Exchange) Status() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// ErrorBody returns the start of the body of an answer with an error status.
func (x *Exchange) ErrorBody() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.errorBody
}

// Line returns the line that was handed out last, without its newline. It is
// valid until the next read: use it inside the client library's callback.
func (x *Exchange) Line() []byte { return x.line }

// Lines returns how many lines were handed out.
func (x *Exchange) Lines() int { return x.lines }

// SawDone reports whether the answer held the closing "data: [DONE]" of a
// server-sent event stream.
func (x *Exchange) SawDone() bool { return x.sawDone }

// ReadErr returns why reading the answer's body stopped, nil at a clean end.
func (x *Exchange) ReadErr() error { return x.readErr }

// Sent returns the size of the request body in bytes.
func (x *Exchange) Sent() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent
}

// Transport is an [http.RoundTripper] that serves an [Exchange] found in the
// request's context, and passes every other request on untouched.
type Transport struct{ Base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		return t.Base.RoundTrip(req)
	}
	out := req
	if !x.Observe {
		var err error
		if out, err = x.fill(req); err != nil {
			return nil, err
		}
	}
	res, err := t.Base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.status = res.StatusCode
	x.mu.Unlock()
	if x.OnHeaders != nil {
		x.OnHeaders()
	}
	if res.StatusCode >= http.StatusBadRequest {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		_ = res.Body.Close()
		x.mu.Lock()
		x.errorBody = body
		x.mu.Unlock()
		res.Body = io.NopCloser(bytes.NewReader(body))
		return res, nil
	}
	res.Body = &lineReader{x: x, body: res.Body, in: bufio.NewReaderSize(res.Body, 16<<10)}
	return res, nil
}

// fill returns req with the exchange's messages and tools in its body.
func (x *Exchange) fill(req *http.Request) (*http.Request, error) {
	small, err := io.ReadAll(req.Body)
	if cerr := req.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	parts, size, err := splice(small, x.Messages, x.Tools)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.sent = size
	x.mu.Unlock()
	out := req.Clone(req.Context())
	out.ContentLength = size
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(&partsReader{parts: parts}), nil }
	out.Body, err = out.GetBody()
	return out, err
}

var holes = [][]byte{[]byte(`"messages":[]`), []byte(`"messages":null`)}

// splice puts messages (and tools) where body has an empty list of messages.
// The hole cannot be met inside a string: its quotes would be escaped there.
func splice(body []byte, messages []json.RawMessage, tools json.RawMessage) (parts [][]byte, size int64, err error) {
	for _, hole := range holes {
		before, after, ok := bytes.Cut(body, hole)
		if !ok {
			continue
		}
		parts = make([][]byte, 0, 2*len(messages)+5)
		parts = append(parts, before, []byte(`"messages":[`))
		comma := []byte(",")
		for i, m := range messages {
			if i > 0 {
				parts = append(parts, comma)
			}
			parts = append(parts, m)
		}
		parts = append(parts, []byte("]"))
		if tools != nil {
			parts = append(parts, []byte(`,"tools":`), tools)
		}
		parts = append(parts, after)
		for _, p := range parts {
			size += int64(len(p))
		}
		return parts, size, nil
	}
	return nil, 0, errors.New("the request body has no empty list of messages to fill")
}

// partsReader reads byte slices one after the other. It gathers them into large
// reads itself: the HTTP client would write each small piece by itself.
type partsReader struct {
	parts [][]byte
	at    int
}

func (r *partsReader) Read(p []byte) (n int, err error) {
	for n < len(p) && len(r.parts) > 0 {
		c := copy(p[n:], r.parts[0][r.at:])
		n += c
		if r.at += c; r.at == len(r.parts[0]) {
			r.parts, r.at = r.parts[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// lineReader hands out at most one line per read and keeps it for the client's
// callback, which runs before the next read.
type lineReader struct {
	x    *Exchange
	body io.ReadCloser
	in   *bufio.Reader
	buf  []byte // the current line, with its newline
	rest []byte // what of buf was not handed out yet
}

func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// next reads one line; a last one without a newline counts.
func (r *lineReader) next() error {
	if r.x.readErr != nil {
		return r.x.readErr
	}
	r.buf = r.buf[:0]
	for {
		piece, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, piece...)
		if len(r.buf) > MaxLine {
			r.x.readErr = ErrLineTooLong
			return ErrLineTooLong
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(r.buf) == 0 {
			if !errors.Is(err, io.EOF) {
				r.x.readErr = err
			}
			return err
		}
		if err != nil && !errors.Is(err, io.EOF) {
			r.x.readErr = err // half a line: do not hand it out as if it were whole
			return err
		}
		break
	}
	line := bytes.TrimRight(r.buf, "\r\n")
	if r.x.SkipBlank && len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	r.x.line = line
	r.x.lines++
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && bytes.HasPrefix(bytes.TrimSpace(data), []byte("[DONE]")) {
		r.x.sawDone = true
	}
	r.rest = r.buf
	return nil
}

func (r *lineReader) Close() error { return r.body.Close() }
