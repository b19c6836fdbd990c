package main

import "syscall"

// leftBehind names the processes that are still there beside this one.
func leftBehind() []string {
	var names []string
	for _, pid := range pids() {
		if pid == "1" {
			continue
		}
		stat := readFile("/proc/" + pid + "/stat")
		end := len(stat) - 1
		for end > 0 && stat[end] != ')' {
			end--
		}
		open := index(string(stat), '(')
		if open < 0 || end <= open || end+2 >= len(stat) || stat[end+2] == 'Z' {
			continue
		}
		names = append(names, string(stat[open+1:end]))
		if len(names) == 64 {
			break
		}
	}
	return names
}

// pids lists /proc.
func pids() []string {
	fd, err := syscall.Open("/proc", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	var out []string
	buf := make([]byte, 8192)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			_ = syscall.Close(fd) // it was only read
			return out
		}
		var names []string
		_, _, names = syscall.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if name[0] >= '0' && name[0] <= '9' {
				out = append(out, name)
			}
		}
	}
}

func readFile(name string) []byte { return read(name, 8192) }

func readAll(name string) []byte { return read(name, 64<<20) }

// read returns at most the first limit bytes of a file; nil when it cannot.
func read(name string, limit int) []byte {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	var out []byte
	buf := make([]byte, 8192)
	for len(out) < limit {
		n, err := syscall.Read(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		out = append(out, buf[:n]...)
	}
	_ = syscall.Close(fd) // it was only read
	return out
}

// probe prints what the self-test compares: the lines of /proc/self/status that tell
// capabilities and the filter, the number of processes, and whether a kernel setting
// could be written or the network reached.
func probe() {
	status := string(readFile("/proc/self/status"))
	for status != "" {
		var line string
		line, status = cut(status, '\n')
		switch k, _ := cut(line, ':'); k {
		case "CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp":
			writeAll(1, []byte(line+"\n"))
		}
	}
	writeAll(1, append(append([]byte("Processes:\t"), decimal(len(pids()))...), '\n'))
	say := func(what string, possible bool) {
		answer := "no"
		if possible {
			answer = "yes"
		}
		writeAll(1, []byte(what+":\t"+answer+"\n"))
	}
	fd, err := syscall.Open("/proc/sys/kernel/core_pattern", syscall.O_WRONLY|syscall.O_APPEND, 0)
	if err == nil {
		_ = syscall.Close(fd)
	}
	say("KernelSettings", err == nil)
	_, _, errno := rawSyscall(syscall.SYS_UNSHARE, syscall.CLONE_NEWUSER, 0, 0)
	say("NewNamespaces", errno == 0)
	say("RootWritable", syscall.Mkdir("/worksite-probe", 0o700) == nil)
	say("Interfaces", len(readFile("/proc/net/dev")) > 0 && extraInterfaces(string(readFile("/proc/net/dev"))))
	syscall.Exit(0)
}

// extraInterfaces reports a network interface other than the loopback.
func extraInterfaces(dev string) bool {
	for dev != "" {
		var line string
		line, dev = cut(dev, '\n')
		name, rest := cut(line, ':')
		for name != "" && name[0] == ' ' {
			name = name[1:]
		}
		if rest != "" && name != "lo" {
			return true
		}
	}
	return false
}
