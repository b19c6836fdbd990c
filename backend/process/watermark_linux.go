package process

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A daemon that forks twice and calls setsid has no visible tie to its origin: its
// parent, group and session are new, and it may have closed every descriptor and
// emptied its environment. Resource limits are what it still inherits. So every
// program gets a limit on real-time CPU of some hundred thousand years, whose exact
// number names the run. No program can tell the difference, and any process of the
// same user can be asked for it.
//
// The limit must be there before the program can fork, and nothing of ours runs between
// fork and exec. So this process takes the number on for the moment of the start. What
// else it starts in that moment carries the number too; it is told apart because it
// descends from this process by another way.

var (
	marks   atomic.Uint64
	marking sync.Mutex
)

// startMarked starts cmd with a limit that no other run has and returns it; 0 when the
// limits do not allow one.
func startMarked(cmd *exec.Cmd) (uint64, error) {
	mark := 1<<62 | uint64(os.Getpid())<<32&(1<<62-1) | marks.Add(1)&(1<<32-1)
	marking.Lock()
	defer marking.Unlock()
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTTIME, &own) != nil || own.Max < mark ||
		unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: own.Max}) != nil {
		return 0, cmd.Start()
	}
	err := cmd.Start()
	_ = unix.Setrlimit(unix.RLIMIT_RTTIME, &own) // to a limit that was allowed before
	return mark, err
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
	all := processes()
	parent := make(map[int]int, len(all))
	for _, p := range all {
		parent[p.pid] = p.parent
	}
	in := map[int]bool{t.pid: true}
	for _, p := range all {
		if p.begin < t.begin {
			continue // older than the program
		}
		if p.group == t.pid || t.marked(p.pid) && !ours(parent, p.pid, t.pid) {
			in[p.pid] = true
		}
	}
	for changed := true; changed; { // children of members are members
		changed = false
		for _, p := range all {
			if !in[p.pid] && in[p.parent] {
				in[p.pid], changed = true, true
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

// ours reports whether pid descends from this process other than through root. An
// orphan does so only where this process takes orphans in, as process 1.
func ours(parent map[int]int, pid, root int) bool {
	self := os.Getpid()
	if self == 1 {
		return false
	}
	for range 1000 { // a bound, since the table is not of one moment
		if pid == root {
			return false
		}
		p, known := parent[pid]
		if p == self {
			return true
		}
		if !known {
			return false
		}
		pid = p
	}
	return false
}

// processes lists what runs, other than this process.
func processes() []proc {
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
		if p, ok := readStat(pid); ok {
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
	return unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &l) == nil && l.Cur == t.mark
}
