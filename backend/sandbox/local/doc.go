// Package local is the sandbox on this machine: bubblewrap on Linux with an own
// process 1 (init), a system call filter (../seccomp) and resource limits.
//
// The way of a command: what the machine offers ([Host], found once) and what the
// workspace looks like now ([Facts], found for every command, since a plan that was
// made earlier may protect what has moved) give a [Plan] by a pure function; the plan
// is bubblewrap's argument list, handed over through a descriptor. The helper reports
// over a pipe that the sandbox stands before it starts the command, so "the sandbox
// did not start" (an error) and "the command failed" (a Result) are told apart
// without reading anybody's messages.
//
// Nothing is mounted but what is listed: the system's programs, /etc without its
// secrets, toolchains, the workspace. Home, /run, /tmp, other folders, devices,
// sockets of the host and its network are not there.
//
// On other platforms everything but the pure functions answers CodeUnavailable.
//
// Import rule: domain, process, sandbox, sandbox/seccomp, golang.org/x/sys.
package local
