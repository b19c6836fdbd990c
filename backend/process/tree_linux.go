package process

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tree is the program and everything that descends from it.
type tree struct {
	cmd       *exec.Cmd
	pid       int // also the process group
	mark      uint64
	begin     uint64 // start of the program in clock ticks since boot
	contained bool
}

func newTree(cmd *exec.Cmd, s *Spec) *tree {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return &tree{cmd: cmd, contained: s.Contained}
}

func (t *tree) start() error {
	if t.contained {
		err := t.cmd.Start()
		if err == nil {
			t.pid = t.cmd.Process.Pid
		}
		return err
	}
	mark, err := startMarked(t.cmd)
	if err != nil {
		return err
	}
	t.pid, t.mark = t.cmd.Process.Pid, mark
	if p, ok := readStat(t.pid); ok {
		t.begin = p.begin
	}
	return nil
}

// await returns when the program has ended. It does not reap it, so that its
// number, and with it that of the process group, cannot be given to another yet.
func (t *tree) await() {
	for {
		err := unix.Waitid(unix.P_PID, t.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (t *tree) terminate() {
	t.signal(unix.SIGTERM)
	t.signal(unix.SIGCONT) // a stopped process acts on nothing else
}

func (t *tree) signal(sig unix.Signal) {
	_ = unix.Kill(-t.pid, sig)
	if t.contained {
		return
	}
	for _, p := range t.members() {
		if p.group != t.pid {
			_ = unix.Kill(p.pid, sig)
		}
	}
}

func (t *tree) kill() { t.signal(unix.SIGKILL) }

// killLeft kills what the ended program has left behind and returns its names. It
// looks again until nothing is left, since a process may fork while it is looked at.
func (t *tree) killLeft() []string {
	if t.contained {
		return nil
	}
	var names []string
	seen := map[int]bool{}
	for end := time.Now().Add(killTime); ; {
		left := t.members()
		if len(left) == 0 {
			return names
		}
		_ = unix.Kill(-t.pid, unix.SIGKILL)
		for _, p := range left {
			_ = unix.Kill(p.pid, unix.SIGKILL)
			if !seen[p.pid] {
				seen[p.pid] = true
				names = append(names, p.name)
			}
		}
		if time.Now().After(end) { // stuck in the kernel, or not ours to kill
			return names
		}
		time.Sleep(time.Millisecond) // the kernel ends them; nothing announces it for what is not our child
	}
}

func (t *tree) close() {}
