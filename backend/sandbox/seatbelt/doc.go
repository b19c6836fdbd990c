// Package seatbelt turns a sandbox spec into a profile for macOS' sandbox-exec.
//
// It is a pure function and is tested by golden files and properties everywhere. It
// has never been run: whether macOS enforces each line as written has to be shown on
// a Mac, with the attempts of sandboxtest, before anything starts commands with it.
// Until then the local sandbox answers CodeUnavailable there.
//
// What is different from Linux, and stays so: there is no PID namespace (a daemon that
// leaves its process group has to be looked for), no file system of its own (the
// temporary folders must be made for each command), no limit on memory as a whole, and
// the loopback is the host's.
//
// Import rule: domain, sandbox and the standard library.
package seatbelt
