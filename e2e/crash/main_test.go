// Package crash kills the real binary in the middle of real runs and looks at
// what is left. The short form runs with the other tests; WORKSITE_SOAK=1 makes
// it a storm.
package crash_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the command line, built with the tag failpoints.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "worksite-crash-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "worksite")
		build := exec.Command("go", "build", "-tags", "failpoints", "-o", binary, "worksite/backend/cmd/worksite")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}
