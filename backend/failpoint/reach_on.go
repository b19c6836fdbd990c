//go:build failpoints

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

var (
	mu    sync.Mutex
	count = map[Name]int{}
)

// Reach kills the process when it was asked to die here, and never returns then.
func Reach(n Name) {
	mu.Lock()
	defer mu.Unlock()
	count[n]++
	if path := os.Getenv("WORKSITE_FAILPOINT_LOG"); path != "" {
		note(path, n)
	}
	name, nth, _ := strings.Cut(os.Getenv("WORKSITE_FAILPOINT"), ":")
	if name != string(n) {
		return
	}
	at := 1
	if nth != "" {
		at, _ = strconv.Atoi(nth) // not a number: never
	}
	if count[n] != at {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // the kill is on its way
}

// note appends a name in one write, so that a kill never leaves half of it.
func note(path string, n Name) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(string(n) + "\n"); err != nil {
		panic(err)
	}
}
