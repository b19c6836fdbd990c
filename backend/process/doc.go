// Package process starts programs. It is the only package that imports os/exec.
//
// Contract of [Run]:
//   - It takes an argument vector, never a shell string: a ";" reaches the
//     program as a literal.
//   - The environment is exactly [Spec.Env]; nothing is inherited, and of open
//     files only those named.
//   - It ends with the program, with the context, or with the timeout. On the last
//     two the whole process tree is asked to end (SIGTERM) and after the grace is
//     killed. What the program leaves behind is killed too, so that a grandchild
//     holding the output open never delays the return.
//   - Output of any size needs the same memory: the head and the tail are kept,
//     everything else goes to [Spec.Spill] or is counted.
//
// On Linux descendants are found by process group, session, ancestry and an
// inherited watermark (see watermark_linux.go), so that double forks and setsid
// do not hide them. A sandbox with its own PID namespace does the same by
// construction and says so with [Spec.Contained]. Elsewhere only the process
// group (Unix) or the job object (Windows) is ended; neither has been run there.
//
// Import rule: domain, the standard library and golang.org/x/sys.
package process
