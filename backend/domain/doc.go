// Package domain is the ground of Worksite: identifiers, the ledger's events
// with one versioned payload struct per kind, tool calls, leases, approvals,
// model messages and error codes. Start with [Event] and [Payload].
//
// It imports the standard library only and performs no I/O apart from reading
// the clock and the system's randomness in [NewID]. Every other package may
// import it.
package domain
