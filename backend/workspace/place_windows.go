package workspace

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// placeOf identifies a folder, not following a link.
func placeOf(path string) (place, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return place{}, fmt.Errorf("look at %s: %w", path, err)
	}
	h, err := windows.CreateFile(name, 0, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return place{}, fmt.Errorf("look at %s: %w", path, err)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return place{}, fmt.Errorf("look at %s: %w", path, err)
	}
	return place{
		dev:  int64(info.VolumeSerialNumber),
		ino:  int64(info.FileIndexHigh)<<32 | int64(info.FileIndexLow),
		born: info.CreationTime.Nanoseconds(),
	}, nil
}
