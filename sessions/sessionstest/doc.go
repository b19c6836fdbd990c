// Package sessionstest proves ledgers alike: [Suite] is the contract as tests,
// run against the database and against [Memory], the fake that keeps it. Use
// [NewMemory] in tests of what needs a ledger; it links no database.
//
// It is imported from _test.go files only.
package sessionstest
