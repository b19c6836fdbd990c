// Package capability is the registry of hands: what exists, under which name,
// with which schema, effect class, limits and place. It is the only way to reach
// a hand; a name that is not registered cannot be called.
//
// The registry validates input against the hand's schema before Prepare, keeps
// the digest an approval was given for, and bounds every call in time and size
// from the outside (R122): a hand cannot overrun, and a panic in one is an error
// of that call. A schema is compiled when its hand is first called.
//
// Goroutines: Execute runs the hand in one goroutine. A hand that ignores its
// cancelled context is abandoned after the grace and reported as unknown;
// [Registry.Close] waits for such stragglers.
//
// It imports domain and nothing else of this module.
package capability
