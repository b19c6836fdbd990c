//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// tree is the program's process group. A process that leaves the group is not
// found here; this has been compiled but never run.
type tree struct {
	cmd *exec.Cmd
	pid int
}

func newTree(cmd *exec.Cmd, _ *Spec) *tree {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &tree{cmd: cmd}
}

func (t *tree) start() error {
	err := t.cmd.Start()
	if err == nil {
		t.pid = t.cmd.Process.Pid
	}
	return err
}

func (t *tree) await()     { _ = t.cmd.Wait() }
func (t *tree) terminate() { t.signal(syscall.SIGTERM); t.signal(syscall.SIGCONT) }
func (t *tree) kill()      { t.signal(syscall.SIGKILL) }

func (t *tree) signal(sig syscall.Signal) { _ = syscall.Kill(-t.pid, sig) }

func (t *tree) killLeft() []string {
	if syscall.Kill(-t.pid, syscall.SIGKILL) == nil {
		return []string{"process group of " + t.cmd.Args[0]}
	}
	return nil
}

func (t *tree) close() {}
