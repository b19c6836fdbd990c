package sessions

import (
	"syscall"

	"worksite/backend/domain"
)

// Magic numbers of statfs(2) of file systems that reach another machine: their
// shared memory is not shared, which WAL needs.
var networkFS = map[int64]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x5346414f: "AFS", 0x00c36400: "Ceph",
}

// checkFS refuses a data folder that lies on another machine.
func checkFS(dir string) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return nil //nolint:nilerr // what cannot be asked is no reason to refuse
	}
	if name, bad := networkFS[int64(uint32(st.Type))]; bad {
		return domain.Errorf(domain.CodeUnavailable, "the data folder %s is on a network file system (%s), where a ledger cannot be kept safely", dir, name).
			WithHint("Set WORKSITE_HOME to a folder on a disk of this machine.")
	}
	return nil
}
