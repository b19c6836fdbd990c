// Package cli is the command line, headless mode included. Each command is a thin
// face over backend/service; [Main] parses, runs and returns the exit code.
//
// It imports service, server and domain, and no store.
package cli
