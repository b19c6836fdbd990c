// Package sandboxtest is the suite that a sandbox has to pass, and a fake for those
// who only need one to talk to. It is imported by tests only.
//
// [Escape] runs attempts to get out. An attempt prints PWNED when it worked as seen
// from inside; the suite looks from outside as well: the home folder, the neighbouring
// workspace, Git's control files and the rule files must be unchanged, the victim
// process alive, nothing left running, no set-id file there, no datagram received. An
// attempt with a control is also run unsandboxed, where it must work, so that it
// proves something.
package sandboxtest
