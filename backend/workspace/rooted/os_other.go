//go:build !linux

package rooted

import (
	"errors"
	"os"
	"runtime"
)

const nonblock = 0

// dirsCanSync is false on Windows, which orders names itself.
const dirsCanSync = runtime.GOOS != "windows"

func isQuota(error) bool { return false }

// exchange is not to be had through os.Root here; the caller looks once more and
// renames over, with a small window in between.
func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }

func moveNew(*os.Root, string, string) error { return errors.ErrUnsupported }

// likeness keeps the mode only here.
func likeness(*os.File, *os.Root, os.FileInfo) {}
