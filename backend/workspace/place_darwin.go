package workspace

import (
	"fmt"
	"os"
	"syscall"
)

// placeOf identifies a folder, not following a link.
func placeOf(path string) (place, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return place{}, fmt.Errorf("look at %s: %w", path, err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return place{}, fmt.Errorf("look at %s: no stat", path)
	}
	return place{dev: int64(st.Dev), ino: int64(st.Ino), born: st.Birthtimespec.Nano()}, nil
}
