package practice

import (
	"fmt"
	"regexp"
	"strings"

	"worksite/backend/domain"
)

const about = "I am the practice model: I play a recorded conversation and understand nothing. "

// next returns the answer that follows messages.
func (r *recording) next(messages []*domain.Message) domain.ModelAnswer {
	begin, newest := -1, -1 // the newest recorded request, and the newest message of the person
	for i, m := range messages {
		if m.Role != domain.RoleUser {
			continue
		}
		newest = i
		if r.asks(m.Text) {
			begin = i
		}
	}
	if begin < 0 {
		return r.decline("")
	}
	at := follow{rec: r}
	for i := begin + 1; i < len(messages); i++ {
		if messages[i].Role != domain.RoleAssistant {
			continue
		}
		var results []*domain.Message
		for i+1 < len(messages) && messages[i+1].Role == domain.RoleTool {
			i++
			results = append(results, messages[i])
		}
		if !at.take(messages[i-len(results)], results) {
			return r.decline("The conversation has taken a turn that was not recorded, so I cannot go on. ")
		}
	}
	out := at.answer()
	if newest > begin && newest == len(messages)-1 {
		if at.ended {
			return r.decline("")
		}
		out.Text = "(A recording cannot take your last message into account; it goes on as it was.)\n\n" + out.Text
	}
	return out
}

// decline says what the practice model is and what to do.
func (r *recording) decline(why string) domain.ModelAnswer {
	return domain.ModelAnswer{Text: about + why + fmt.Sprintf(
		"The one request that I can play is, in the sample workspace:\n\n> %s\n\n"+
			"For your own work choose a real model. On this machine: install Ollama, run `ollama pull` with a model that can call tools, "+
			"and choose it in the model menu below the message field (or with `--model ollama:NAME`). "+
			"An OpenAI-compatible endpoint can be set in the settings.", r.Request)}
}

// follow is how far a conversation has come in a recording.
type follow struct {
	rec    *recording
	step   int                    // answers whose calls were carried out
	repeat []domain.RequestedCall // calls to ask for once more
	tried  bool                   // they were asked for once more already
	reason string                 // why the newest one was not carried out
	ended  bool                   // the last answer was given, or it was given up
}

// take follows one answer with its results; false means that it is not the
// answer that the recording has here.
func (f *follow) take(m *domain.Message, results []*domain.Message) bool {
	if f.ended {
		return len(m.ToolCalls) == 0
	}
	want := f.repeat
	if !f.tried {
		if f.step >= len(f.rec.Answers) {
			return false
		}
		want = f.rec.Answers[f.step].requested()
	}
	if len(m.ToolCalls) == 0 { // the last answer, or a refusal to go on
		f.ended = true
		return len(want) == 0 || f.failedTwice()
	}
	if len(m.ToolCalls) != len(want) {
		return false
	}
	var bad []domain.RequestedCall
	for i, c := range m.ToolCalls {
		if c.Name != want[i].Name || c.Arguments != want[i].Arguments {
			return false
		}
		if reason := f.rec.Answers[f.step].missed(want[i], resultOf(c, results, i)); reason != "" {
			bad, f.reason = append(bad, want[i]), reason
		}
	}
	switch {
	case len(bad) == 0:
		f.step, f.repeat, f.tried = f.step+1, nil, false
	case f.tried:
		f.repeat = nil // twice is enough
	default:
		f.repeat, f.tried = bad, true
	}
	return true
}

func (f *follow) failedTwice() bool { return f.tried && f.repeat == nil }

// answer returns what the recording says next.
func (f *follow) answer() domain.ModelAnswer {
	switch {
	case f.failedTwice():
		return domain.ModelAnswer{Text: about + fmt.Sprintf(
			"The recording cannot go on, because a call was not carried out: %s\n\nWhat was done so far stands in the changes. "+
				"To play it from the beginning, restore the sample workspace and ask again.", clip(f.reason))}
	case f.tried:
		return domain.ModelAnswer{
			Text:      fmt.Sprintf("That did not go through: %s\n\nI ask for it once more, unchanged.", clip(f.reason)),
			ToolCalls: f.repeat,
		}
	case f.step < len(f.rec.Answers):
		a := f.rec.Answers[f.step]
		return domain.ModelAnswer{Text: a.Text, Thinking: a.Thinking, ToolCalls: a.requested()}
	}
	f.ended = true
	return f.rec.decline("My recording has ended. ")
}

// resultOf finds the result of a call among the tool messages after its answer.
func resultOf(c domain.RequestedCall, results []*domain.Message, i int) string {
	for _, m := range results {
		if c.CallID != "" && m.CallID == c.CallID {
			return m.Text
		}
	}
	if i < len(results) {
		return results[i].Text
	}
	return notCarriedOut[0]
}

// notCarriedOut are the beginnings of results that the harness gives for a call
// that was refused, failed or interrupted.
var notCarriedOut = []string{"[no result", "Refused (", "Error: ", "The app stopped in the middle of this call. Whether"}

var exitCode = regexp.MustCompile(`(?m)^\[exit code (-?\d+)\]$`)

// missed returns why a call's result is not what the recording goes on from, ""
// when it is. Contents are not compared: only whether it was carried out, and a
// command's exit code.
func (a answer) missed(c domain.RequestedCall, result string) string {
	for _, p := range notCarriedOut {
		if strings.HasPrefix(result, p) {
			return result
		}
	}
	for _, recorded := range a.Calls {
		if recorded.Name != c.Name || string(recorded.Arguments) != c.Arguments || recorded.Exit == nil {
			continue
		}
		if m := exitCode.FindStringSubmatch(result); m != nil && m[1] != fmt.Sprint(*recorded.Exit) {
			return fmt.Sprintf("the command ended with exit code %s, in the recording it was %d.", m[1], *recorded.Exit)
		}
	}
	return ""
}

func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 300 {
		return strings.ToValidUTF8(s[:300], "") + " …"
	}
	return s
}
