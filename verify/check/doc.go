// Package check proves an audit export of Worksite (FILE.worksite.tar) from its
// bytes alone: no database, no network, nothing written. Start with [File], whose
// steps are in the order in which the first thing that does not hold is named.
//
// Every JSON text has to be byte for byte what its content encodes to, and every
// byte of the archive around the members what it must be, so that two verifiers
// cannot read a file differently. docs/audit.md has the whole format;
// python/worksite_verify.py is a second implementation that shares no code.
//
// It imports the standard library and the log and note packages of x/mod only.
package check
