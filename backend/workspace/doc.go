// Package workspace owns the folders that sessions work on: their identity and
// trust, safe reading and writing, snapshots, review and restore, and watching.
// Start with [Open], [Store.Add] and [Store.Handle].
//
// Contract:
//   - A workspace is its id and a fingerprint of its root, never a path. A folder
//     that was moved, replaced, is missing or goes by another name is told apart.
//   - All file access goes through a [Handle] and never leaves the folder (package
//     rooted). Every version that is replaced or removed is durable in the
//     pre-image store first.
//   - [Store.Base] must run before a session's first effect. Review and restore
//     need no Git and never run it.
//   - Accept, reject and restore have two phases: Plan… decides and keeps all bytes
//     durably, the caller records the [Change] in the ledger, [Store.Apply] carries
//     it out. Apply is idempotent and atomic per file, so that after a crash the
//     change in the ledger ([ChangeOf]) is simply applied again.
//   - Trust only says which instructions may be loaded. It never changes what a
//     sandbox allows.
//
// State lies in the data folder: workspaces.db, preimages/ (package blob), scan/
// (caches that may be deleted), tasks/. Several processes may use it at once.
//
// It imports domain, blob, process (for Git), its own sub-packages, SQLite and
// fsnotify.
package workspace
