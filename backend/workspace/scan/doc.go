// Package scan looks at a whole workspace: it walks it as Git would see it and
// takes snapshots ([Tree]) whose files' contents are kept as blobs. Start with
// [Scanner.Scan], [Compare] and [Walk].
//
// Contract:
//   - A second scan reads only what has changed: a file whose device, inode, size,
//     mtime and ctime are as before keeps its hash, unless it is "racy" (changed so
//     shortly before it was read that a later change could look the same).
//   - Every content a scan reads for the first time is durable in the blob store
//     when Scan returns, up to the limits; larger files have their hash only and
//     are counted as skipped.
//   - .git is never entered. What .gitignore excludes is listed by its stat only,
//     except files that Git tracks nevertheless.
//   - The walk never leaves the root and follows no link.
//
// It imports domain, blob, ignore, rooted and the standard library.
package scan
