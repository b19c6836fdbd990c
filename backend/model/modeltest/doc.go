// Package modeltest is a model server for tests and benches that plays a
// [Script] over the wires of real servers: Ollama's own (/api/chat, tags, show,
// ps, version) and OpenAI's (/v1/chat/completions, /v1/models).
//
//	srv := modeltest.New(t, modeltest.Script{Answers: []modeltest.Answer{
//		{Calls: []modeltest.Call{{Name: "ls", Arguments: `{"path":"."}`}}},
//		{Text: "One file."},
//	}})
//
// Which answer is played follows from the request alone: the number of
// assistant messages in it is the index. So a run can be killed and continued,
// and two clients do not disturb each other.
//
// The Ollama side is built from the types of Ollama's api package and from what
// was observed on version 0.17.4: loading and reloading, one slot for each
// model, the queue before it, expiry times as /api/ps shows them, and the slot
// that a dropped request can leave taken. Nothing waits for the clock unless a
// script says so; what must wait, waits for a channel.
//
// It imports Ollama's api package and the standard library only.
package modeltest
