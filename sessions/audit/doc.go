// Package audit writes one session as a self-contained file that a stranger can
// prove: the audit export FILE.worksite.tar of docs/audit.md. Start with [Write].
//
// The file has the exact bytes of every event (or, where the caller redacts, its
// header alone), the artifacts and outputs they name, the keys, a signed head of
// the ledger's Merkle log, the proof that each event is in it, and a manifest
// signed by the exporting cell over all of that. The same ledger gives the same
// file, byte for byte.
//
// Nothing is held in memory but one page of events and the log's hashes: each
// member is written twice, once to measure it and once into the archive.
//
// It imports domain, the chain, x/mod, the DSSE package and the standard library;
// the ledger is an interface. The module worksite-verify checks what is written.
package audit
