//go:build !linux

package sessions_test

import "os"

func datasync(f *os.File) error { return f.Sync() }
