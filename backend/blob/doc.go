// Package blob is a content-addressed store of byte strings in one folder:
// pre-images of the files a session changes, and the bytes of artifacts. Start
// with [New], [Store.Put] and [Store.Open].
//
// Contract:
//   - A blob is named by its SHA-256. Putting the same bytes twice is a no-op.
//   - When Put, PutBytes or [Batch.Commit] return nil, the bytes and their name
//     are on disk; a crash afterwards loses nothing.
//   - Reading verifies: bytes that no longer match their name are an error at
//     the end of the read, never silently another content.
//   - Any number of processes may use one folder at once. [Store.GC] removes only
//     what nobody refers to and nobody has put for [Grace]; a Put racing with it
//     keeps its blob.
//
// On disk: DIR/sha256/ab/abcd… for single blobs, DIR/pack/ID.pack with ID.idx for
// the many small ones of a snapshot, DIR/tmp for what is being written.
//
// It imports domain and the standard library (and x/sys on Linux).
package blob
