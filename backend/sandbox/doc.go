// Package sandbox says what a sandbox is: the [Spec] of a bounded place, the
// [Command] to run in it, the [Result], and the [Status] of an implementation.
// Implementations are in the folders below: local (bubblewrap on Linux), seatbelt
// and appcontainer (macOS and Windows; pure functions, never run so far).
//
// A sandbox is recreated from its Spec for every command and keeps nothing else:
// [Spec.Hash] names it exactly. No implementation ever runs a command unsandboxed by
// itself; it does so only when the caller set [Spec.Unsandboxed], and the Result
// says so.
//
// Import rule: domain, process and the standard library.
package sandbox
