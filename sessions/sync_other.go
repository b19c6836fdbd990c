//go:build !unix

package sessions

// syncDir is not possible here: a directory cannot be flushed by name, the file
// system orders renames by itself.
func syncDir(string) error { return nil }
