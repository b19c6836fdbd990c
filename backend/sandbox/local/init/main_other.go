//go:build !linux

package main

// The helper belongs into a Linux sandbox; elsewhere it has nothing to do.
func main() {}
