package local

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"worksite/backend/process"
)

var update = flag.Bool("update", false, "write the golden files")

// testHelper is process 1 as the tests use it: the embedded one may be missing or old.
var testHelper []byte

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "worksite-helper")
	if err != nil {
		panic(err)
	}
	if runtime.GOOS == "linux" {
		if err := buildHelper(dir); err != nil {
			fmt.Fprintln(os.Stderr, "build the helper:", err)
			os.Exit(1)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func buildHelper(dir string) error {
	out := filepath.Join(dir, "init")
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	r, err := process.Run(ctx(), process.Spec{
		Argv: []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "./init"},
		Dir:  wd, Env: append(os.Environ(), "CGO_ENABLED=0"), Timeout: 5 * time.Minute,
	})
	if err != nil {
		return err
	}
	if r.Code != 0 {
		return fmt.Errorf("code %d: %s", r.Code, r.Text())
	}
	testHelper, err = os.ReadFile(out)
	return err
}
