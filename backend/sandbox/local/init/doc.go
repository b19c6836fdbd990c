// Command worksite-init is process 1 of a sandbox. bubblewrap starts it inside the
// finished namespaces, and it starts the command.
//
// Being process 1 it cannot be signalled from inside, takes in every orphan, and its
// end makes the kernel end whatever the command left behind, however it forked. It
// closes its own memory and descriptors to the inside, limits what the command may
// use, reports over a pipe that the sandbox stands (so that "did not start" and
// "failed" are never confused), and at last how the command ended.
//
// Its start is part of every command, so it imports nothing but syscall and unsafe:
// no os, no fmt. It is built by build/sandbox-helper.sh, static and stripped.
//
// Arguments: REPORT CONTROL LIMITS DIR ARGV…, where REPORT and CONTROL are
// descriptors, LIMITS is a list of resource=value with the kernel's numbers. A byte
// on CONTROL asks the command to end; its closing means that whoever waits for the
// command is gone, and ends everything. The program name "/run/worksite/init" with the
// argument "probe" makes it run itself and print its confinement, for the self-test.
package main
