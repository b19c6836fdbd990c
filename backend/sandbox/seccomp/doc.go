// Package seccomp builds the system call filter of the local sandbox.
//
// It is a list of what is refused, on top of namespaces that already hide most
// things; so three rules keep the list from being slipped past. Another
// architecture's calls (int 0x80, x32) kill the process, since their numbers mean
// something else. Arguments are compared as the kernel reads them, 32 bits where it
// takes an int. Calls whose flags lie behind a pointer, where a filter cannot look,
// answer "not implemented" so that callers fall back to the ones that can be seen.
//
// The program is pure data: it is built and tested on every platform, also for
// architectures other than the running one. Import rule: golang.org/x/net/bpf and
// the standard library.
package seccomp
