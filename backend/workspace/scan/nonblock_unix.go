//go:build unix

package scan

import "syscall"

// nonblock keeps a pipe that took a file's place from blocking the scan.
const nonblock = syscall.O_NONBLOCK
