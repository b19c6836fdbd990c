package local

import (
	"os"
	"path/filepath"
	"testing"

	"worksite/backend/process"
	"worksite/backend/sandbox"
)

// Three costs of the same `true`: as a plain child, in the smallest bubblewrap, and in
// the whole sandbox with its plan, placeholders, filter, helper and report.
func BenchmarkTrue(b *testing.B) {
	ws := b.TempDir()
	initRepository(b, ws)
	run := func(name string, argv ...string) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, err := process.Run(b.Context(), process.Spec{Argv: argv, Dir: ws, Contained: true})
				if err != nil || r.Code != 0 {
					b.Fatal(r.Text(), err)
				}
			}
		})
	}
	run("plain", "/usr/bin/true")
	l := newLocal(b)
	run("bubblewrap", l.program(), "--unshare-all", "--ro-bind", "/", "/", "/usr/bin/true")
	spec, err := l.Spec(ws)
	if err != nil {
		b.Fatal(err)
	}
	whole := func(name string, spec sandbox.Spec) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, err := l.Run(b.Context(), spec, sandbox.Command{Argv: []string{"/usr/bin/true"}})
				if err != nil || r.Code != 0 {
					b.Fatal(r.Text(), err)
				}
			}
		})
	}
	whole("sandbox", spec)
	unprotected := spec
	unprotected.Protected = nil
	whole("sandbox-without-placeholders", unprotected)
}

// The parts of the sandbox's cost that are not bubblewrap's.
func BenchmarkPrepare(b *testing.B) {
	ws := b.TempDir()
	initRepository(b, ws)
	l := newLocal(b)
	spec, err := l.Spec(ws)
	if err != nil {
		b.Fatal(err)
	}
	host, err := l.machine()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := l.enter(spec)
		if err != nil {
			b.Fatal(err)
		}
		ch, err := l.channels(NewPlan(spec, host, p.facts))
		if err != nil {
			b.Fatal(err)
		}
		ch.close()
		p.leave()
	}
}

func BenchmarkHelperStart(b *testing.B) {
	file := filepath.Join(b.TempDir(), "init")
	if err := os.WriteFile(file, testHelper, 0o700); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := process.Run(b.Context(), process.Spec{Argv: []string{file}, Dir: "/", Contained: true})
		if err != nil || r.Code != 125 {
			b.Fatal(r, err)
		}
	}
}
