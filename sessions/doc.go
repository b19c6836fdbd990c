// Package sessions is the ledger: what was said, decided and done in every
// session, one immutable event after the other, in one SQLite file. Start with
// [Open], [Store.Append] and [Store.Read].
//
// # What is promised
//
//   - An event is durable when Append returns: its transaction is committed with
//     synchronous=FULL. Nothing is acknowledged before.
//   - Seq is gap-free from 1 within a session and is the only order there. Pos is
//     gap-free from 1 over the whole ledger and is the cursor of streams.
//   - Nobody changes or deletes an event; triggers abort both. [Store.Delete] is
//     the one exception: it takes payload and salt away and leaves the rest as a
//     tombstone that keeps the chain verifiable.
//   - What only a runner may write is refused under any other than the current
//     generation of the session's lease, in the same transaction. The order of a
//     tool call's journal, one run at a time and one answer per approval are
//     refused likewise (package internal/journal has the rules).
//   - One writer goroutine commits what has queued up while the last group was
//     committing. A refused append undoes only itself. An idle writer adds no
//     latency. Readers never wait for it.
//   - Every event carries the hash of the one before it in its session and a
//     signature by the cell's key. All of them are leaves of one Merkle log whose
//     signed heads are kept in the ledger and in DIR/heads/checkpoint. What a head
//     proves ends with the key: who has the machine can sign anything, unless a
//     head has left it.
//
// Several processes may use one folder. Everything derived (heads of sessions,
// calls, approvals, runs, search) can be derived from the events again; [Open]
// does so when it cannot be read.
//
// # Files
//
//	sessions.db              the ledger (WAL), application id 0x57534C44
//	cell.key                 Ed25519 key of this installation, PKCS #8 in PEM, mode 0600
//	heads/checkpoint         the newest signed head
//	sessions.db.damaged-T    a damaged ledger, set aside whole at time T
//	sessions.db.before-N-T   the ledger before migration N
//	sessions.db-gate, -turn  empty; their locks make the stores of a folder take turns
//	sessions.db.suspect      mark: a read met damage, look at the whole file at the next start
//
// # Byte layout of an event
//
// A verifier in any language needs this and nothing else. All integers are
// big-endian. lp(x) is the length of x in bytes as an unsigned 32-bit integer
// followed by x; texts are UTF-8, a missing one is empty.
//
//	payload      = canonical JSON (RFC 8785) of the kind's payload
//	payload_hash = SHA-256( salt ‖ payload )                  salt: 16 random bytes
//	hash         = SHA-256(
//	                 "worksite/event/v1" ‖ 0x00               18 bytes
//	               ‖ lp(session) ‖ lp(id) ‖ lp(parent) ‖ lp(caused_by)
//	               ‖ lp(run) ‖ lp(kind) ‖ lp(cell)
//	               ‖ seq                                      64-bit
//	               ‖ generation                               64-bit
//	               ‖ created_at                               64-bit, signed, microseconds since 1970-01-01 UTC
//	               ‖ prev_hash                                32 bytes, zero for the first of a session
//	               ‖ payload_hash )                           32 bytes
//	sig          = Ed25519( hash ) by the cell's key
//	cell         = "cell_" ‖ first 26 hexadecimal digits of SHA-256( public key )
//
// A tombstone has neither salt nor payload; payload_hash, hash and sig stand.
//
// # Byte layout of the log
//
// The log is an RFC 6962 Merkle tree: leaf = SHA-256( 0x00 ‖ hash ), node =
// SHA-256( 0x01 ‖ left ‖ right ); leaf number n (from 0) is the event at position
// n+1. A head is a C2SP tlog-checkpoint: a signed note whose text is
//
//	worksite/CELL
//	SIZE in decimal
//	ROOT in base 64
//
// with the origin as name of the key and algorithm 1 (Ed25519).
//
// # Export
//
// [Store.Export] writes NDJSON: an [ExportHeader], then one event a line with the
// keys of domain.Event without pos. The payload on the line is byte for byte the
// canonical JSON that was hashed. Export, import and export again give the same
// lines apart from the header. Package audit writes the other format, which
// proves every event by itself and may leave content out.
//
// It imports domain, SQLite, the log and note packages of x/mod, the DSSE package,
// and its own packages; nothing else of the product.
package sessions
