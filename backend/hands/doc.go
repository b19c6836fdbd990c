// Package hands holds what the hands share: the view of a workspace they ask
// for, what a session has read ([Seen]), effects with their digests, diffs for
// approvals and bounded text. Each hand is a package of its own below this one;
// package builtin makes all nine.
//
// Hands act on files through [Workspace] only, so that resolving, protection and
// pre-images happen in one place. They never start a process and never interpret
// a command.
//
// It imports domain and capability; workspace, sandbox and stores reach it
// through the interfaces it declares.
package hands
