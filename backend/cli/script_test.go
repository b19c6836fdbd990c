package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"worksite/backend/cli"
	"worksite/backend/service/sample"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"worksite": func() {
			os.Exit(cli.Main(cli.Env{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: "test"}))
		},
	})
}

// R168: the command line as scripts may rely on it, with its exit codes.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("WORKSITE_HOME", filepath.Join(env.WorkDir, "data"))
			env.Setenv("WORKSITE_ALLOW_ROOT", "1")
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TASK", sample.Request)
			if err := os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o700); err != nil {
				return err
			}
			return os.CopyFS(filepath.Join(env.WorkDir, "sample"), sample.Files())
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "capture": capture},
	})
}

// code N PROGRAM ARGS… runs a program that must end with exactly that exit code.
// Its output is in the files stdout and stderr.
func code(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout"), []byte(ts.ReadFile("stdout")), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("stderr"), []byte(ts.ReadFile("stderr")), 0o600))
	if got != want {
		ts.Fatalf("%s ended with %d, want %d\n%s%s", strings.Join(args[1:], " "), got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// capture NAME FIELD sets the variable NAME to the first value of the JSON field
// in the last standard output.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	_, rest, ok := strings.Cut(ts.ReadFile("stdout"), `"`+args[1]+`":"`)
	value, _, ended := strings.Cut(rest, `"`)
	if !ok || !ended {
		ts.Fatalf("no field %s in %q", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], value)
}
