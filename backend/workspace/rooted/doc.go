// Package rooted reads and writes files of one folder without ever leaving it.
// Start with [Open].
//
// Contract:
//   - All access goes through os.Root: no "..", symlink, junction or race reaches
//     a file outside, whatever is swapped while a call runs.
//   - [Root.Real] resolves links that stay inside; every other method takes such
//     link-free, slash-separated paths and refuses to pass through a link that
//     appears afterwards.
//   - [Root.Put] and [Root.Remove] are atomic per file and durable when they
//     return: a crash leaves the old version or the new one. They never overwrite
//     a version other than the expected one; the old version is handed to Keep
//     before anything is touched.
//   - Errors are domain errors with a hint; a changed file is CodeConflict and
//     carries a [Changed].
//
// Temporary files are named by [IsTemp] and lie beside their target; what a killed
// process left of them may be removed.
//
// It imports domain, x/sys and the standard library.
package rooted
