//go:build unix

package git

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs reports whether a file belongs to this person; root trusts its own only.
func ownedByUs(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// sameOwner reports whether two folders belong to one person.
func sameOwner(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	if err != nil {
		return false
	}
	sx, ok1 := x.Sys().(*syscall.Stat_t)
	sy, ok2 := y.Sys().(*syscall.Stat_t)
	return ok1 && ok2 && sx.Uid == sy.Uid
}
