//go:build !unix

package artifact

// syncDir does nothing: a folder cannot be synced here, and renames are durable
// with the file system's own journal.
func syncDir(string) error { return nil }
