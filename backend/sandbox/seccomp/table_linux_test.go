package seccomp

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A sample of the table against the running platform's own numbers.
func TestTableMatchesPlatform(t *testing.T) {
	for name, want := range map[string]int{
		"ptrace": unix.SYS_PTRACE, "clone": unix.SYS_CLONE, "clone3": unix.SYS_CLONE3, "socket": unix.SYS_SOCKET, "ioctl": unix.SYS_IOCTL,
		"openat": unix.SYS_OPENAT, "openat2": unix.SYS_OPENAT2, "fchmod": unix.SYS_FCHMOD, "fchmodat": unix.SYS_FCHMODAT, "mount": unix.SYS_MOUNT,
		"unshare": unix.SYS_UNSHARE, "setns": unix.SYS_SETNS, "bpf": unix.SYS_BPF, "keyctl": unix.SYS_KEYCTL, "io_uring_setup": unix.SYS_IO_URING_SETUP,
	} {
		got := numbers[name].amd64
		if runtime.GOARCH == "arm64" {
			got = numbers[name].arm64
		}
		if got != want {
			t.Errorf("%s is %d here, %d in the table", name, want, got)
		}
	}
}
