// Package artifact keeps the outputs that are worth keeping: a name within a
// session, revisions with their hash and media type, and who produced, checked,
// adopted or withdrew each of them. Start with [Open] and [Store.Promote].
//
// Contract:
//   - A revision is unique by session, name and number, numbers are consecutive
//     from 0 and never used again, whatever is deleted (R38).
//   - Bytes are in the blob store before the row that names them; what Promote
//     returned survives a crash. Promote is idempotent by call id.
//   - Produced, validated, adopted and withdrawn are separate facts (R60). Only a
//     check validates, only a person adopts.
//   - Nothing here depends on the workspace that a file came from.
//   - Rows can be rebuilt from the ledger with [Store.Apply]; a damaged database
//     is set aside and never blocks the start.
//
// It imports domain and SQLite; the blob store reaches it as [Blobs].
package artifact
