package seccomp

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/net/bpf"
)

// verdict runs the program on one call. The VM's packets are big-endian and the
// kernel's data is in host order, so each half is written in the VM's order.
func verdict(t *testing.T, arch string, o Options, audit uint32, nr uint32, args ...uint64) uint32 {
	t.Helper()
	program, err := Program(arch, o)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offNumber:], nr)
	binary.BigEndian.PutUint32(data[offArch:], audit)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offArgs+8*i+4:], uint32(a>>32))
	}
	// The VM returns the constant as a signed number of bytes.
	n, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

const (
	denied  = retErrno | eperm
	unknown = retErrno | enosys
	family  = retErrno | eafnosupport
	high    = uint64(1) << 32
)

// R79
func TestVerdicts(t *testing.T) {
	audits := map[string]uint32{"amd64": 0xc000003e, "arm64": 0xc00000b7}
	cases := []struct {
		call string
		args []uint64
		want uint32
	}{
		{"clone", []uint64{0x00010f00 | 17}, retAllow}, // a thread
		{"clone", []uint64{17}, retAllow},
		{"clone", []uint64{0x10000000 | 17}, denied}, // CLONE_NEWUSER
		{"clone", []uint64{0x40000000}, denied},
		{"clone", []uint64{0x00020000}, denied},
		{"clone", []uint64{0x10000000 | high}, denied},
		{"unshare", []uint64{0x400}, retAllow}, // CLONE_FILES
		{"unshare", []uint64{0x10000000}, denied},
		{"unshare", []uint64{0x80}, denied}, // CLONE_NEWTIME
		{"clone3", nil, unknown},
		{"openat2", nil, unknown},
		{"io_uring_setup", nil, unknown},
		{"move_mount", nil, unknown},
		{"ioctl", []uint64{0, 0x5401}, retAllow}, // TCGETS
		{"ioctl", []uint64{0, 0x5412}, denied},
		{"ioctl", []uint64{0, 0x5412 | high}, denied}, // the kernel drops the upper half
		{"ioctl", []uint64{0, 0x541c}, denied},
		{"ioctl", []uint64{0, 0x5423}, denied},
		{"personality", []uint64{0}, retAllow},
		{"personality", []uint64{0xffffffff}, retAllow},
		{"personality", []uint64{0x20008}, retAllow},
		{"personality", []uint64{0x0400000}, denied}, // READ_IMPLIES_EXEC
		{"fchmod", []uint64{3, 0o755}, retAllow},
		{"fchmod", []uint64{3, 0o4755}, denied},
		{"fchmod", []uint64{3, 0o2755}, denied},
		{"fchmod", []uint64{3, 0o4755 | high}, denied},
		{"fchmodat", []uint64{0, 0, 0o6755}, denied},
		{"fchmodat2", []uint64{0, 0, 0o4755}, denied},
		{"mknodat", []uint64{0, 0, 0o104755}, denied},
		{"mknodat", []uint64{0, 0, 0o10644}, retAllow},  // a FIFO
		{"openat", []uint64{0, 0, 0, 0o4755}, retAllow}, // creates nothing: the mode is garbage
		{"openat", []uint64{0, 0, 0o101, 0o644}, retAllow},
		{"openat", []uint64{0, 0, 0o101, 0o4755}, denied},
		{"openat", []uint64{0, 0, 0o20200001, 0o4755}, denied}, // O_TMPFILE
		{"socket", []uint64{1, 1, 0}, retAllow},
		{"socket", []uint64{2, 1 | 0o2000000, 0}, retAllow}, // SOCK_STREAM|SOCK_CLOEXEC
		{"socket", []uint64{10, 2, 0}, retAllow},
		{"socket", []uint64{2, 3, 1}, denied},             // raw
		{"socket", []uint64{2, 3 | 0o2000000, 1}, denied}, // raw with flags
		{"socket", []uint64{10, 3, 58}, denied},           // raw
		{"socket", []uint64{2, 10, 0}, denied},            // SOCK_PACKET
		{"socket", []uint64{16, 3, 0}, retAllow},          // NETLINK_ROUTE
		{"socket", []uint64{16, 3, 12}, family},           // NETLINK_NETFILTER
		{"socket", []uint64{17, 3, 0x300}, family},        // AF_PACKET
		{"socket", []uint64{40, 1, 0}, family},            // AF_VSOCK
		{"socket", []uint64{38, 5, 0}, family},            // AF_ALG
		{"socket", []uint64{44, 3, 0}, family},            // AF_XDP
		{"socket", []uint64{40 | high, 1, 0}, family},     // the kernel drops the upper half
		{"socketpair", []uint64{1, 1, 0}, retAllow},
		{"socketpair", []uint64{30, 1, 0}, family}, // AF_TIPC
		{"ptrace", []uint64{16, 1}, denied},
		{"mount", nil, denied},
		{"keyctl", nil, denied},
		{"bpf", nil, denied},
		{"setns", nil, denied},
		{"reboot", nil, denied},
		{"process_vm_writev", nil, denied},
	}
	for arch, audit := range audits {
		for _, c := range cases {
			n := numbers[c.call].amd64
			if arch == "arm64" {
				n = numbers[c.call].arm64
			}
			if n < 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s%#x", arch, c.call, c.args), func(t *testing.T) {
				if got := verdict(t, arch, Options{}, audit, uint32(n), c.args...); got != c.want {
					t.Errorf("verdict %#x, want %#x", got, c.want)
				}
			})
		}
	}
}

func TestOnlyAmd64Calls(t *testing.T) {
	for call, args := range map[string][]uint64{
		"chmod": {0, 0o4755}, "creat": {0, 0o4755}, "mknod": {0, 0o104755}, "open": {0, 0o101, 0o4755}, "iopl": nil, "modify_ldt": nil,
	} {
		if got := verdict(t, "amd64", Options{}, 0xc000003e, uint32(numbers[call].amd64), args...); got != denied {
			t.Errorf("%s: verdict %#x", call, got)
		}
	}
}

func TestForeignArchitecturesAreKilled(t *testing.T) {
	for name, c := range map[string]struct {
		arch  string
		audit uint32
		nr    uint32
	}{
		"i386 on amd64":    {"amd64", 0x40000003, 4},
		"x32":              {"amd64", 0xc000003e, 0x40000000 | 39},
		"x32 beyond":       {"amd64", 0xc000003e, 0x7fffffff},
		"minus one":        {"amd64", 0xc000003e, 0xffffffff},
		"arm on arm64":     {"arm64", 0x40000028, 4},
		"amd64 on arm64":   {"arm64", 0xc000003e, 0},
		"no architecture":  {"amd64", 0, 0},
		"big-endian arm64": {"arm64", 0x800000b7, 0},
	} {
		if got := verdict(t, c.arch, Options{}, c.audit, c.nr); got != retKill {
			t.Errorf("%s: verdict %#x", name, got)
		}
	}
}

func TestNoUnixSockets(t *testing.T) {
	o := Options{NoUnixSockets: true}
	if got := verdict(t, "amd64", o, 0xc000003e, 41, 1, 1, 0); got != denied {
		t.Errorf("socket(AF_UNIX): %#x", got)
	}
	if got := verdict(t, "amd64", o, 0xc000003e, 53, 1, 1, 0); got != retAllow {
		t.Errorf("socketpair: %#x", got)
	}
}

func TestEverythingElseIsAllowed(t *testing.T) {
	listed := map[int]bool{}
	for _, n := range numbers {
		listed[n.amd64] = true
	}
	for nr := range 470 {
		if !listed[nr] {
			if got := verdict(t, "amd64", Options{}, 0xc000003e, uint32(nr)); got != retAllow {
				t.Errorf("call %d: %#x", nr, got)
			}
		}
	}
}

func TestAssemble(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		b, err := Assemble(arch, Options{})
		if err != nil || len(b)%8 != 0 || len(b)/8 > 4096 {
			t.Errorf("%s: %d bytes, %v", arch, len(b), err)
		}
	}
	if _, err := Assemble("riscv64", Options{}); err == nil {
		t.Error("a filter for an architecture without a table")
	}
}
