//go:build unix

package hands

import "syscall"

// nonblock lets the opening of a pipe without a writer return.
const nonblock = syscall.O_NONBLOCK
