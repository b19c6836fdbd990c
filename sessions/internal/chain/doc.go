// Package chain makes events tamper-evident: the canonical form of a payload,
// the hash of an event and the signature over it. The byte layout is a format
// that verifiers in other languages are written against; it is documented in
// package sessions and pinned by testdata/vector.json.
//
// It imports domain and a number formatter only, and performs no I/O.
package chain
