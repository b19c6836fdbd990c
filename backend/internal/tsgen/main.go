// Command tsgen writes the TypeScript types of what crosses to the page: the
// events of backend/domain, told apart by their kind, the views of
// backend/service/views.go, and what these refer to. Run it with `make generate`.
//
// It reads the sources and imports none of ours, so it works while the rest does
// not compile. Whatever it does not understand is an error, never a silent `any`.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// outFile is where the page's typed client finds them, from the module's root.
const outFile = "frontend/src/lib/api/types.gen.ts"

// inputs are what is read, from the module's root, in the order of the output.
var inputs = []input{
	{pkg: "domain", glob: "backend/domain/payload*.go"},
	{pkg: "domain", glob: "backend/domain/*.go"},
	{pkg: "stream", glob: "backend/stream/*.go"},
	{pkg: "service", glob: "backend/service/views.go", roots: true},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tsgen:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	src, err := load(root, inputs)
	if err != nil {
		return err
	}
	out, err := src.write()
	if err != nil {
		return err
	}
	path := filepath.Join(root, outFile)
	if old, err := os.ReadFile(path); err == nil && string(old) == string(out) {
		return nil // keep its time, so that nothing is built again
	}
	return os.WriteFile(path, out, 0o644)
}

// moduleRoot is the nearest folder above with a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("find the module: no go.mod above")
		}
		dir = up
	}
}
