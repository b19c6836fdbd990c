//go:build !unix

package scan

const nonblock = 0
