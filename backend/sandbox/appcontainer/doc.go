// Package appcontainer turns a sandbox spec into the launch of a command on Windows:
// an AppContainer (a token without capabilities, so without network and without the
// person's files) inside a job object (everything in it ends together, and has limits).
//
// It is a pure function and is tested by golden files everywhere. It has never been
// run, and nothing here calls Windows: the launch is data for the code that will.
// Until that exists and has passed the attempts of sandboxtest on Windows, the local
// sandbox answers CodeUnavailable there.
//
// Import rule: domain, sandbox and the standard library.
package appcontainer
