package modeltest

import (
	"fmt"
	"time"
)

// Script says what the server has and how it answers.
type Script struct {
	// Models are the models there are; none means one called "scripted" that
	// can chat, call tools and think, with a context of 32,768 tokens.
	Models []Model
	// Answers are chosen by the number of assistant messages in the request.
	// Beyond the last one the server answers "Done.".
	Answers []Answer
	// Choose, when set, is asked instead of Answers. It must be safe for
	// concurrent use.
	Choose func(Request) Answer
	// LoadGate, when set, is what each load waits for.
	LoadGate <-chan struct{}
	// LoadListed lists a model in /api/ps while LoadGate holds its load, as the
	// real server does in the later part of a load.
	LoadListed bool
	// Parallel is the number of slots of a model; 0 means 1.
	Parallel int
	// Key, when set, is the bearer token that the OpenAI side insists on.
	Key string
	// DropBodies keeps only the sizes of requests, for long benches.
	DropBodies bool
}

// Model is a model of the server.
type Model struct {
	Name          string
	Capabilities  []string // default completion, tools, thinking; {"embedding"} cannot chat
	ContextTokens int      // the model's own maximum; default 32768
	NumCtx        int      // of its Modelfile; 0 none
	Size          int64    // bytes; default 1 GB
	Weights       string   // models with the same weights share one runner; default the name
	Remote        bool     // runs on another machine
}

// Call is a tool call. Arguments is the text of a JSON object for Ollama's wire
// and any text for OpenAI's.
type Call struct {
	ID        string // default: random on Ollama's wire, "call_N" on OpenAI's
	Name      string
	Arguments string
}

// Answer is one answer of the model and how it goes wrong, if it does.
type Answer struct {
	Thinking string
	Text     string
	Calls    []Call

	Gate  <-chan struct{} // the slot is taken, but nothing is sent before it opens (reading the prompt)
	Hold  <-chan struct{} // the stream stops after its first piece until it opens
	Piece int             // bytes in one piece of text; 0 means 16
	Pause time.Duration   // between pieces, for benches

	Status int    // an HTTP error instead of an answer
	Error  string // its text
	Plain  bool   // sent as plain text, as for a wrong path; an empty Error sends no body

	End    End    // how the stream ends
	After  int    // pieces before a bad End; 0 means all of them
	Reason string // done_reason or finish_reason; "" is what fits, "-" leaves it out
	Leak   bool   // a client that leaves during this answer leaves its slot taken

	Usage Usage
	Lines []string // the exact lines of the stream instead of all of the above
}

// End is how a stream ends.
type End string

// The values of End.
const (
	EndWhole End = ""
	EndCut   End = "cut"   // cleanly, but without its last line
	EndBreak End = "break" // the connection breaks
	EndError End = "error" // the last line is an error with the text of Answer.Error
)

// Usage is what an answer reports; zero values are made up from the sizes.
type Usage struct{ Prompt, Output int }

// Request is one request the server got. Times are the server's.
type Request struct {
	Method, Path string
	Model        string
	Body         []byte // nil with Script.DropBodies
	Size         int    // bytes of the body
	Assistants   int    // assistant messages in it
	Messages     int
	Authorized   string    // the Authorization header
	At           time.Time // arrival of the headers
	FirstAt      time.Time // first byte of the answer; zero when there was none
	EndedAt      time.Time // the last byte was written, or the client had left
	Left         bool      // the client left before the end
	Status       int
}

// Steps returns a script of n tool calls that cycle write, read and bash, and a
// closing text: the task of the pace bench.
func Steps(n int) Script {
	s := Script{DropBodies: true}
	for i := range n {
		file := fmt.Sprintf("file-%03d.txt", i/3)
		var c Call
		switch i % 3 {
		case 0:
			c = Call{Name: "write", Arguments: fmt.Sprintf(`{"path":%q,"content":"line one of step %d\nline two\n"}`, file, i)}
		case 1:
			c = Call{Name: "read", Arguments: fmt.Sprintf(`{"path":%q}`, file)}
		default:
			c = Call{Name: "bash", Arguments: fmt.Sprintf(`{"command":"cat %s"}`, file)}
		}
		s.Answers = append(s.Answers, Answer{Text: fmt.Sprintf("Step %d.", i+1), Calls: []Call{c}, Piece: 1 << 20})
	}
	s.Answers = append(s.Answers, Answer{Text: fmt.Sprintf("All %d steps are done.", n), Piece: 1 << 20})
	return s
}

func (s *Script) fill() {
	if len(s.Models) == 0 {
		s.Models = []Model{{Name: "scripted:latest"}}
	}
	s.Parallel = max(s.Parallel, 1)
	for i := range s.Models {
		m := &s.Models[i]
		if m.Capabilities == nil {
			m.Capabilities = []string{"completion", "tools", "thinking"}
		}
		if m.ContextTokens == 0 {
			m.ContextTokens = 32768
		}
		if m.Size == 0 {
			m.Size = 1 << 30
		}
		if m.Weights == "" {
			m.Weights = m.Name
		}
	}
}

func (s *Script) answer(r Request) Answer {
	if s.Choose != nil {
		return s.Choose(r)
	}
	if r.Assistants < len(s.Answers) {
		return s.Answers[r.Assistants]
	}
	return Answer{Text: "Done."}
}

// pieces cuts text into pieces of about n bytes, never inside a letter.
func pieces(text string, n int) []string {
	if n <= 0 {
		n = 16
	}
	var out []string
	start := 0
	for i := range text {
		if i-start >= n {
			out, start = append(out, text[start:i]), i
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}
