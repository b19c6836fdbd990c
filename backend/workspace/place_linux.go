package workspace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// placeOf identifies a folder, not following a link.
func placeOf(path string) (place, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if err != nil {
		return place{}, fmt.Errorf("look at %s: %w", path, err)
	}
	p := place{dev: int64(unix.Mkdev(st.Dev_major, st.Dev_minor)), ino: int64(st.Ino)}
	if st.Mask&unix.STATX_BTIME != 0 {
		p.born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return p, nil
}
