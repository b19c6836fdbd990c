// Package model is the registry of model providers: it dispatches a request to
// the provider that its reference names, lists what can be chosen, says what is
// missing, and picks a model for the first start. Start with [New].
//
// The providers are subpackages that know neither each other nor this package:
// ollama (local models), openai (any compatible endpoint), practice (a recorded
// conversation). modeltest is a scripted model server for tests and benches.
//
// It imports domain and its own subpackages only. A Registry starts goroutines
// only inside its methods and waits for them there.
package model
