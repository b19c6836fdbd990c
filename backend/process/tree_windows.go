package process

import (
	"errors"
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

var executableExts = []string{"", ".exe", ".com", ".bat", ".cmd"}

// tree is a job object that ends everything in it when its handle closes. The
// program is put into it right after its start; a child that it had by then is
// outside. This has been compiled but never run.
type tree struct {
	cmd *exec.Cmd
	job windows.Handle
}

func newTree(cmd *exec.Cmd, _ *Spec) *tree {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return &tree{cmd: cmd}
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, _ = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return &tree{cmd: cmd, job: job}
}

func (t *tree) start() error {
	if err := t.cmd.Start(); err != nil {
		return err
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(t.cmd.Process.Pid))
	if err != nil {
		return nil // it runs; only its descendants will not be found
	}
	defer windows.CloseHandle(h)
	_ = windows.AssignProcessToJobObject(t.job, h)
	return nil
}

func (t *tree) await()     { _ = t.cmd.Wait() }
func (t *tree) terminate() {} // there is no request to end that a console program must see

func (t *tree) kill() {
	if t.job == 0 || windows.TerminateJobObject(t.job, 1) != nil {
		_ = t.cmd.Process.Kill()
	}
}

func (t *tree) killLeft() []string {
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, 1)
	}
	return nil
}

func (t *tree) close() {
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
	}
}

func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a file")
	}
	return nil
}

func exitOf(ps *os.ProcessState) (int, string) { return ps.ExitCode(), "" }

// SignalName is empty: there are no signals here.
func SignalName(int) string { return "" }

func maxRSS(*os.ProcessState) int64 { return 0 }
