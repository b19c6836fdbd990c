//go:build !linux

package sessions

// checkFS knows no way to tell a network file system here.
func checkFS(string) error { return nil }
