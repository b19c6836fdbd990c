package sessions

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"worksite/backend/domain"
)

// Holder names this process as the holder of leases: its cell, the machine's
// boot and process space, the process and when it started.
func Holder(cell domain.CellID) string {
	pid := os.Getpid()
	return fmt.Sprintf("%s@%s/%d/%s", cell, bootID(), pid, startOf(pid))
}

// HolderDead reports whether the process that [Holder] named is certainly gone.
// It is false whenever that cannot be known, e.g. for another machine.
func HolderDead(holder string) bool {
	_, rest, ok := strings.Cut(holder, "@")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || parts[0] == "" || parts[0] != bootID() || parts[2] == "" {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil {
		return false
	}
	start := startOf(pid)
	return start != "" && start != parts[2]
}
