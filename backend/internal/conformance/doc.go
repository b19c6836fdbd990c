// Package conformance keeps docs/conformance.md true: the table of the product's
// numbered promises, how far each is kept, and the tests that prove it. It has
// tests only.
//
// A test names the promises it proves in a comment right above it, `// R64, R65`,
// in Go and in TypeScript; a script of the command line in its first lines, `# R59`.
// The tests column is written from these comments by
//
//	go test ./backend/internal/conformance -update
//
// the statuses are written by people. The tests here fail when the two disagree.
package conformance
