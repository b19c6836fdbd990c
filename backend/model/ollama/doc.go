// Package ollama is the provider of local models: it speaks to an Ollama server
// through the api package of Ollama's own module. Start with [New].
//
// What it promises beyond a plain client:
//   - Nothing is cut silently: every request states num_ctx (see [Provider.Context]),
//     truncate:false and shift:false; a prompt that does not fit is an error.
//   - Every way of not answering is a state of its own with a remedy
//     ([domain.ModelFailure]): down, not pulled, loading, queued, wedged, cut off,
//     empty, too long, no tools, busy, error.
//   - There is no short timeout on the first byte, since headers come only after
//     loading, queueing and reading the prompt. A watchdog looks at /api/ps
//     instead, says what is being waited for, and frees a model that a dropped
//     request left stuck.
//   - It never asks twice by itself, except once after freeing a stuck model.
//
// It imports domain, internal/wire and Ollama's api package. A Provider starts
// goroutines only inside its methods and waits for them there.
package ollama
