package scan

import "time"

// stat is what must be equal for a file to count as unchanged. Where the system
// has no inode or ctime they are 0.
type stat struct {
	dev, ino           uint64
	size, mtime, ctime int64 // bytes, ns since 1970
}

// clockSlack is more than the coarsest tick with which a kernel stamps files that
// have fractions of a second; coarseSlack is for file systems that do not.
const (
	clockSlack  = int64(20 * time.Millisecond)
	coarseSlack = int64(2 * time.Second)
)

// settled reports whether a file with this stat, hashed at checked, cannot have
// been changed afterwards without its stat showing it.
func (s stat) settled(checked int64) bool {
	slack := clockSlack
	if s.mtime%int64(time.Second) == 0 && s.ctime%int64(time.Second) == 0 {
		slack = coarseSlack
	}
	return max(s.mtime, s.ctime)+slack < checked
}
