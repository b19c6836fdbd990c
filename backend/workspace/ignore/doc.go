// Package ignore decides, as Git does, which files of a folder are ignored:
// patterns of .gitignore files from the root down and of .git/info/exclude, the
// last match winning. Start with [Matcher.Enter].
//
// The person's global excludes file is not read: what a session sees must not
// depend on it. The package does no I/O; it imports the standard library only.
package ignore
