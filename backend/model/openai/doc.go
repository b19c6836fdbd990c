// Package openai is the provider of any endpoint that speaks OpenAI's chat
// completions: a local server (llama.cpp, vLLM, LM Studio, …) or a hosted one.
// Start with [New].
//
// What it promises beyond the client library it uses:
//   - A request is sent once; the library's hidden retries are off, the harness
//     decides. Nothing is read from the environment but the one key variable.
//   - The key is sent to the configured address's origin only. A base URL that
//     comes with a session (an imported one, say) never gets it.
//   - Messages are encoded once and kept ([domain.Message.Encoded]); the request
//     body is put together from them.
//   - A stream that ends without a finish reason and without [DONE] is cut off,
//     not an answer; every other way of failing is a state with its remedy.
//
// It imports domain, internal/wire and the openai-go library only.
package openai
