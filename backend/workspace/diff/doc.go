// Package diff compares two versions of a file line by line, cuts the difference
// into hunks that can each be taken or dropped alone, and merges three versions.
// Start with [Compare] and [Merge].
//
// Everything is byte-exact: a line keeps its terminator ("\n", "\r\n", or none at
// the end), and whatever hunks are taken, each byte of the result comes from one
// of the two versions. UTF-16 with a byte order mark is cut at its own line ends;
// other content with NUL bytes is binary and has no hunks.
//
// It does no I/O; it imports go-udiff and the standard library.
package diff
