package seccomp

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/bpf"
)

// What the kernel does with a call.
const (
	retKill  = 0x80000000 // the whole process
	retErrno = 0x00050000 // plus the error number
	retAllow = 0x7fff0000
)

const (
	eperm        = 1
	enosys       = 38
	eafnosupport = 97
)

// Offsets in struct seccomp_data. Both supported architectures are little-endian,
// so the low half of an argument comes first.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// Options vary the filter.
type Options struct {
	// NoUnixSockets refuses socket(AF_UNIX); socketpair stays.
	NoUnixSockets bool
}

// refused calls answer "operation not permitted".
var refused = []string{
	// other processes and their memory
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
	// key rings, which are not namespaced
	"keyctl", "add_key", "request_key",
	// parts of the kernel with a long record of holes
	"bpf", "userfaultfd", "perf_event_open", "fanotify_init", "lookup_dcookie", "nfsservctl",
	// file systems and other namespaces
	"mount", "umount2", "pivot_root", "chroot", "setns", "open_by_handle_at", "quotactl", "quotactl_fd",
	// the machine
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff", "reboot",
	"syslog", "acct", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname",
	"vhangup", "iopl", "ioperm", "modify_ldt", "uselib",
}

// hidden calls answer "not implemented".
var hidden = []string{
	"clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "open_tree_attr", "move_mount", "mount_setattr",
}

const (
	newNamespaces = 0x7e020000 // CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
	newTime       = 0x80       // CLONE_NEWTIME; for clone these bits are the exit signal
	setID         = 0o6000
	creates       = 0o100 | 0o20000000 // O_CREAT, and what O_TMPFILE has beside O_DIRECTORY
)

// modes lists calls that take file permissions: the argument with the mode, and the
// one with the open flags (-1: none).
var modes = []struct {
	name        string
	mode, flags int
}{
	{"chmod", 1, -1},
	{"fchmod", 1, -1},
	{"fchmodat", 2, -1},
	{"fchmodat2", 2, -1},
	{"creat", 1, -1},
	{"mknod", 1, -1},
	{"mknodat", 2, -1},
	{"open", 2, 1},
	{"openat", 3, 2},
}

// Program returns the filter for a GOARCH as instructions.
func Program(arch string, o Options) ([]bpf.Instruction, error) {
	b := &builder{}
	switch arch {
	case "amd64":
		b.audit, b.pick = 0xc000003e, func(n number) int { return n.amd64 }
	case "arm64":
		b.audit, b.pick = 0xc00000b7, func(n number) int { return n.arm64 }
	default:
		return nil, fmt.Errorf("no system call table for %s", arch)
	}
	b.add(
		load(offArch), jump(bpf.JumpEqual, b.audit, 1, 0), ret(retKill),
		load(offNumber),
	)
	if arch == "amd64" {
		b.add(jump(bpf.JumpGreaterOrEqual, 0x40000000, 0, 1), ret(retKill)) // x32
	}
	for _, name := range refused {
		b.call(name, ret(retErrno|eperm))
	}
	for _, name := range hidden {
		b.call(name, ret(retErrno|enosys))
	}
	b.call("clone", load(arg(0)), jump(bpf.JumpBitsSet, newNamespaces, 0, 1), ret(retErrno|eperm), ret(retAllow))
	b.call("unshare", load(arg(0)), jump(bpf.JumpBitsSet, newNamespaces|newTime, 0, 1), ret(retErrno|eperm), ret(retAllow))
	b.call("ioctl", oneOf(arg(1), retErrno|eperm, retAllow, 0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, 0x5423 /* TIOCSETD */)...)
	b.call("personality", oneOf(arg(0), retAllow, retErrno|eperm, 0, 0x8, 0x20000, 0x20008, 0xffffffff)...)
	for _, m := range modes {
		check := []bpf.Instruction{load(arg(m.mode)), jump(bpf.JumpBitsSet, setID, 0, 1), ret(retErrno | eperm), ret(retAllow)}
		if m.flags >= 0 {
			check = append([]bpf.Instruction{load(arg(m.flags)), jump(bpf.JumpBitsSet, creates, 1, 0), ret(retAllow)}, check...)
		}
		b.call(m.name, check...)
	}
	b.socket(o)
	b.add(ret(retAllow))
	return b.program, nil
}

// Assemble returns the filter as the kernel's array of struct sock_filter.
func Assemble(arch string, o Options) ([]byte, error) {
	program, err := Program(arch, o)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("assemble system call filter: %w", err)
	}
	out := make([]byte, 0, 8*len(raw))
	for _, r := range raw {
		out = binary.LittleEndian.AppendUint16(out, r.Op)
		out = append(out, r.Jt, r.Jf)
		out = binary.LittleEndian.AppendUint32(out, r.K)
	}
	return out, nil
}

type builder struct {
	audit   uint32
	pick    func(number) int
	program []bpf.Instruction
}

func (b *builder) add(in ...bpf.Instruction) { b.program = append(b.program, in...) }

// call adds a block for one system call, which must end in a return.
func (b *builder) call(name string, block ...bpf.Instruction) {
	n, ok := numbers[name]
	if !ok {
		panic("system call " + name + " is not in the table")
	}
	nr := b.pick(n)
	if nr < 0 {
		return
	}
	b.add(jump(bpf.JumpEqual, uint32(nr), 0, uint8(len(block))))
	b.add(block...)
}

const (
	afUnix, afInet, afInet6, afNetlink = 1, 2, 10, 16
	sockRaw, sockPacket                = 3, 10
)

// socket lets through UNIX, INET and INET6 (without raw sockets) and the netlink
// protocol that lists interfaces. AF_VSOCK matters most of what is left out: it is
// in no network namespace.
func (b *builder) socket(o Options) {
	unix := uint32(retAllow)
	if o.NoUnixSockets {
		unix = retErrno | eperm
	}
	b.call("socketpair",
		load(arg(0)), jump(bpf.JumpEqual, afUnix, 0, 1), ret(retAllow), ret(retErrno|eafnosupport))
	b.call("socket",
		load(arg(0)),
		jump(bpf.JumpEqual, afUnix, 0, 1), ret(unix),
		jump(bpf.JumpEqual, afNetlink, 0, 4),
		load(arg(2)), jump(bpf.JumpEqual, 0, 0, 1), ret(retAllow), ret(retErrno|eafnosupport),
		jump(bpf.JumpEqual, afInet, 2, 0),
		jump(bpf.JumpEqual, afInet6, 1, 0),
		ret(retErrno|eafnosupport),
		load(arg(1)), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf},
		jump(bpf.JumpEqual, sockRaw, 1, 0),
		jump(bpf.JumpEqual, sockPacket, 0, 1), ret(retErrno|eperm),
		ret(retAllow),
	)
}

func arg(i int) uint32                { return offArgs + 8*uint32(i) }
func load(off uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: off, Size: 4} }
func ret(v uint32) bpf.Instruction    { return bpf.RetConstant{Val: v} }
func jump(c bpf.JumpTest, v uint32, t, f uint8) bpf.Instruction {
	return bpf.JumpIf{Cond: c, Val: v, SkipTrue: t, SkipFalse: f}
}

// oneOf returns match when the low half of an argument is one of values, else other.
func oneOf(off, match, other uint32, values ...uint32) []bpf.Instruction {
	out := []bpf.Instruction{load(off)}
	for i, v := range values {
		out = append(out, jump(bpf.JumpEqual, v, uint8(len(values)-i), 0))
	}
	return append(out, ret(other), ret(match))
}
