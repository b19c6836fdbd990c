package sessions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// bootID identifies this boot of this machine and the process space we are in,
// "" when it cannot be told.
func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid") // "pid:[4026531836]"
	if err != nil {
		return ""
	}
	id := strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", "")
	return fmt.Sprintf("%.12s-%s", id, strings.Trim(space, "pid:[]"))
}

// startOf returns when a process started, in clock ticks since boot; "-" when
// there is no such process or only its remains, "" when it cannot be told.
func startOf(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		return ""
	}
	// The name in parentheses may hold anything; the fields after it start with the state.
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	if s := fields[0][0]; s == 'Z' || s == 'X' {
		return "-"
	}
	return string(fields[19])
}
