//go:build !linux

package local

import (
	"context"
	"runtime"

	"worksite/backend/sandbox"
)

func trustedProgram(string) error { return nil }

func inContainer() bool { return false }

type walk struct{}

func unavailable() sandbox.Status {
	return sandbox.Status{
		Name:   "unsupported_platform",
		Detail: "There is no sandbox for " + runtime.GOOS + " in this version.",
		Hint:   "Run Worksite on Linux, or in WSL 2. Commands can run here only unsandboxed, after your explicit consent.",
		Checks: []string{"✗ sandbox: none for " + runtime.GOOS},
	}
}

// Status says that there is no sandbox for this platform.
func (l *Local) Status(context.Context) sandbox.Status { return unavailable() }

// Run refuses, unless the spec is explicitly unsandboxed.
func (l *Local) Run(ctx context.Context, s sandbox.Spec, c sandbox.Command) (sandbox.Result, error) {
	if s.Unsandboxed {
		return l.unsandboxed(ctx, s, c)
	}
	return sandbox.Result{}, refusal(unavailable())
}

// Sweep has nothing to do: no placeholder is ever made here.
func (l *Local) Sweep() []string { return nil }
