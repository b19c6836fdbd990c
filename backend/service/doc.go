// Package service is the use cases of Worksite: the only package that joins
// ledger, loop, hands, workspaces, artifacts and models. Both faces and the
// command line are thin over it. Start with [Open].
//
// Every change a person makes is in the ledger before it is acted on; what the
// agent does goes through backend/harness under the session's lease.
package service
