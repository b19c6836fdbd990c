// Package git runs the real git on a person's repository without letting the
// repository run anything: status, commit, the first commit as identity. Start with
// [New] and [Git.Status].
//
// Contract:
//   - No hook, fsmonitor, filter, external diff, textconv, alias, pager, editor,
//     credential or askpass program, signing program or transport of the repository
//     is started; content goes in as it is on the disk or the call refuses.
//   - Git is told where the repository is; it never looks for one by itself, and a
//     repository of another person, or one that does not point back to the folder,
//     is not written to.
//   - Reading changes nothing, not even the index. Commit touches exactly the given
//     paths and leaves everything else that is staged alone.
//   - No Git installed, or no repository, is an ordinary answer.
//
// It imports domain, process and the standard library.
package git
