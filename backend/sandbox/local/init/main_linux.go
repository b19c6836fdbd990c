package main

import (
	"errors" // package syscall links it already; AsType needs no reflection
	"runtime"
	"syscall"
	"unsafe"
)

// Numbers that package syscall lacks; they are the same on every architecture that
// has a system call filter.
const (
	sysCloseRange                    = 436
	sysLandlockCreateRuleset         = 444
	sysLandlockRestrictSelf          = 446
	closeRangeCloexec                = 4
	prSetDumpable                    = 4
	landlockScopes                   = 3 // abstract sockets, signals
	landlockABIWithScopes            = 6
	pollIn                           = 1
	sysPidfdOpen                     = 434
	exitUsage                        = 125
	exitNotExecutable                = 126
	exitNotFound                     = 127
	sigIgn                   uintptr = 1
)

type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

var (
	reportFD  int
	controlFD int
)

// The Landlock scope belongs to a thread, and the command must be forked from it.
func init() { runtime.LockOSThread() }

func main() {
	argv, envv := arguments()
	if len(argv) == 2 && argv[1] == "probe" {
		probe()
	}
	if len(argv) < 6 {
		fail("usage: it is started by Worksite only")
	}
	reportFD, controlFD = number(argv[1]), number(argv[2])

	prctl(prSetDumpable, 0)
	_, _, _ = rawSyscall(sysCloseRange, 3, ^uintptr(0)>>33, closeRangeCloexec)
	if !ignoreSignals() {
		fail("signals cannot be ignored")
	}
	if !setLimits(argv[3]) {
		fail("resource limits cannot be set")
	}
	scope := landlockScope()
	if !writeAll(reportFD, append(append([]byte(`{"ready":true,"landlock":`), decimal(scope)...), "}\n"...)) {
		syscall.Exit(exitUsage) // nobody waits any more
	}

	command := argv[5:]
	if errno := chdir(argv[4]); errno != 0 {
		refuse("chdir", argv[4], errno, exitNotExecutable)
	}
	file, errno := find(command[0], envv)
	if errno != 0 {
		refuse("exec", command[0], errno, exitNotFound)
	}
	pid, err := syscall.ForkExec(file, command, &syscall.ProcAttr{
		Env: envv, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		errno, _ := errors.AsType[syscall.Errno](err)
		refuse("exec", command[0], errno, exitNotExecutable)
	}
	wait(pid)
}

// wait waits for the command, a request to end it, or the loss of whoever waits, in
// one thread, since another would cost its start with every command. Orphans are taken
// in along the way, at least once a second.
func wait(child int) {
	handle, _, errno := rawSyscall(sysPidfdOpen, uintptr(child), 0, 0)
	if errno != 0 {
		fail("lost the command")
	}
	fds := []pollFD{{fd: int32(handle), events: pollIn}, {fd: int32(controlFD), events: pollIn}}
	var status syscall.WaitStatus
	for {
		second := syscall.Timespec{Sec: 1}
		for i := range fds {
			fds[i].revents = 0
		}
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)), uintptr(unsafe.Pointer(&second)), 0, 0, 0)
		if errno != 0 && errno != syscall.EINTR {
			fail("cannot wait")
		}
		if fds[1].revents != 0 {
			control()
		}
		if reap(child, &status) {
			break
		}
	}
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru)
	code, signal := status.ExitStatus(), 0
	if status.Signaled() {
		signal = int(status.Signal())
		code = 128 + signal
	}
	left := leftBehind()
	b := append([]byte(nil), `{"ended":true,"code":`...)
	b = append(b, decimal(code)...)
	b = append(append(b, `,"signal":`...), decimal(signal)...)
	b = append(append(b, `,"userUs":`...), decimal(int(ru.Utime.Sec)*1e6+int(ru.Utime.Usec))...)
	b = append(append(b, `,"systemUs":`...), decimal(int(ru.Stime.Sec)*1e6+int(ru.Stime.Usec))...)
	b = append(append(b, `,"maxRssKib":`...), decimal(int(ru.Maxrss))...)
	b = append(b, `,"left":[`...)
	for i, name := range left {
		if i > 0 {
			b = append(b, ',')
		}
		b = quote(b, name)
	}
	b = append(b, "]}\n"...)
	writeAll(reportFD, b)
	syscall.Exit(code)
}

// reap takes in every process that has ended and reports whether the command has.
func reap(child int, status *syscall.WaitStatus) bool {
	for {
		var st syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &st, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil || pid <= 0:
			return false
		case pid == child:
			*status = st
			return true
		}
	}
}

// control ends the command when it is asked to, and everything when nobody is there
// to ask.
func control() {
	var b [1]byte
	n, err := syscall.Read(controlFD, b[:])
	switch {
	case err == syscall.EINTR:
	case n == 1:
		_ = syscall.Kill(-1, syscall.SIGTERM)
		_ = syscall.Kill(-1, syscall.SIGCONT)
	default:
		syscall.Exit(exitUsage)
	}
}

// refuse reports that the command could not be started inside a sandbox that stands.
func refuse(stage, what string, errno syscall.Errno, code int) {
	b := append([]byte(nil), `{"refused":"`...)
	b = append(append(b, stage...), `","errno":`...)
	b = append(b, decimal(int(errno))...)
	b = append(append(b, `,"code":`...), decimal(code)...)
	writeAll(reportFD, append(b, "}\n"...))
	text := append(append([]byte("worksite: "), what...), ": "...)
	writeAll(2, append(append(text, errno.Error()...), '\n'))
	syscall.Exit(code)
}

func fail(why string) {
	writeAll(2, append(append([]byte("worksite-init: "), why...), '\n'))
	syscall.Exit(exitUsage)
}

// ignoreSignals makes process 1 deaf: the kernel delivers to it from inside only what
// it handles, and the Go runtime handles almost everything, so that a "kill -TERM 1"
// would end the sandbox without a report. ForkExec resets what the runtime handles
// before it starts the command.
func ignoreSignals() bool {
	act := struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}{handler: sigIgn}
	for sig := uintptr(1); sig <= 64; sig++ {
		if s := syscall.Signal(sig); s == syscall.SIGKILL || s == syscall.SIGSTOP || s == syscall.SIGCHLD {
			continue
		}
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0); errno != 0 {
			return false
		}
	}
	return true
}

// setLimits sets each resource=value, hard and soft alike.
func setLimits(list string) bool {
	for list != "" {
		var item string
		item, list = cut(list, ',')
		k, v := cut(item, '=')
		resource, value := number(k), uint64(number(v))
		var old syscall.Rlimit
		if syscall.Getrlimit(resource, &old) != nil {
			return false
		}
		if old.Max < value {
			value = old.Max // never more than there was
		}
		// The one of package syscall, since the runtime would restore its own number
		// of open files in every child otherwise.
		if syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}) != nil {
			return false
		}
	}
	return true
}

// landlockScope cuts this thread, and so the command, off from abstract sockets and
// processes outside, a second time after the namespaces. It returns the kernel's
// Landlock version; 0 is none.
func landlockScope() int {
	abi, _, errno := rawSyscall(sysLandlockCreateRuleset, 0, 0, 1)
	if errno != 0 {
		return 0
	}
	if abi < landlockABIWithScopes {
		return int(abi)
	}
	attr := struct{ fs, net, scoped uint64 }{scoped: landlockScopes}
	fd, _, errno := rawSyscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return 0
	}
	_, _, errno = rawSyscall(sysLandlockRestrictSelf, fd, 0, 0)
	_ = syscall.Close(int(fd))
	if errno != 0 {
		return 0
	}
	return int(abi)
}

func chdir(dir string) syscall.Errno {
	errno, _ := errors.AsType[syscall.Errno](syscall.Chdir(dir))
	return errno
}

// find looks name up in the PATH of env.
func find(name string, env []string) (string, syscall.Errno) {
	if index(name, '/') >= 0 {
		return name, 0 // exec itself says what is wrong with it
	}
	if name == "" {
		return "", syscall.ENOENT
	}
	var path string
	for _, e := range env {
		if k, v := cut(e, '='); k == "PATH" {
			path = v
		}
	}
	found := syscall.ENOENT
	for path != "" {
		var dir string
		dir, path = cut(path, ':')
		if dir == "" || dir[0] != '/' {
			continue
		}
		file := dir + "/" + name
		var st syscall.Stat_t
		if syscall.Stat(file, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
			continue
		}
		if syscall.Access(file, 1) == nil {
			return file, 0
		}
		found = syscall.EACCES
	}
	return "", found
}

func prctl(option, value uintptr) { _, _, _ = rawSyscall(syscall.SYS_PRCTL, option, value, 0) }

func rawSyscall(nr, a, b, c uintptr) (uintptr, uintptr, syscall.Errno) {
	return syscall.RawSyscall(nr, a, b, c)
}

func writeAll(fd int, b []byte) bool {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return false
		}
		b = b[n:]
	}
	return true
}
