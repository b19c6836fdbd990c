//go:build !unix

package hands

const nonblock = 0 // there are no pipes among the files of a folder here
