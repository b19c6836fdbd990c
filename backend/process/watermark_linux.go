package process

import (
	"bytes"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A daemon that forks twice and calls setsid has no visible tie to its origin: its
// parent, group and session are new, and it may have closed every descriptor and
// emptied its environment. Resource limits are what it still inherits. So every
// program gets a limit on real-time CPU of some hundred thousand years, whose exact
// number names the run. No program can tell the difference, and any process of the
// same user can read it in /proc/PID/limits.

var marks atomic.Uint64

// watermark gives pid a limit that no other run has and returns it; 0 when it cannot.
func watermark(pid int) uint64 {
	mark := 1<<62 | uint64(os.Getpid())<<32&(1<<62-1) | marks.Add(1)&(1<<32-1)
	if unix.Prlimit(pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: mark}, nil) != nil {
		return 0
	}
	return mark
}

type proc struct {
	pid, parent, group int
	state              byte
	begin              uint64
	name               string
}

// readStat reads /proc/PID/stat, whose second field may contain anything.
func readStat(pid int) (proc, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open || end+2 > len(b) {
		return proc{}, false
	}
	f := bytes.Fields(b[end+1:])
	if len(f) < 20 {
		return proc{}, false
	}
	p := proc{pid: pid, state: f[0][0], name: string(b[open+1 : end])}
	p.parent, _ = strconv.Atoi(string(f[1]))
	p.group, _ = strconv.Atoi(string(f[2]))
	p.begin, _ = strconv.ParseUint(string(f[19]), 10, 64)
	return p, true
}

// members returns the living processes of the tree other than the program itself.
func (t *tree) members() []proc {
	all := newer(t.begin)
	in := map[int]bool{t.pid: true}
	for i := range all {
		if all[i].group == t.pid || t.marked(all[i].pid) {
			in[all[i].pid] = true
		}
	}
	for changed := true; changed; { // children of members are members
		changed = false
		for i := range all {
			if !in[all[i].pid] && in[all[i].parent] {
				in[all[i].pid], changed = true, true
			}
		}
	}
	var out []proc
	for _, p := range all {
		if in[p.pid] && p.pid != t.pid && p.state != 'Z' && p.state != 'X' {
			out = append(out, p)
		}
	}
	return out
}

// newer lists the processes that began at or after the tick begin.
func newer(begin uint64) []proc {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	self := os.Getpid()
	var out []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		if p, ok := readStat(pid); ok && p.begin >= begin {
			out = append(out, p)
		}
	}
	return out
}

func (t *tree) marked(pid int) bool {
	if t.mark == 0 {
		return false
	}
	var l unix.Rlimit
	return unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &l) == nil && l.Max == t.mark
}
