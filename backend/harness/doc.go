// Package harness is the loop: events, a model and hands in, new events out.
//
// It is stateless. [Harness.Wake] rebuilds a session from the ledger and settles
// what a crash left open; [Harness.Step] carries out the open tool calls and asks
// the model once. What they keep between calls is a cache that any other process
// can rebuild from the same events, so any holder of the lease can take over.
//
// Write-ahead: a request, a decision and `tool_call.executing` are in the ledger
// before anything is done; an append that fails stops the step before its effect.
//
// Start with [New] and [Harness.Step]. It imports domain only; ledger, model,
// hands and gate reach it as the small interfaces declared here.
package harness
