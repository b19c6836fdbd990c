package blob

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFS flushes the whole file system that holds dir.
func syncFS(dir string) (bool, error) {
	f, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return true, unix.Syncfs(int(f.Fd()))
}
