// Package sample holds the sample workspace: a small data-cleaning repository
// with its checks, which the first start offers to copy. The practice model's
// recording works on exactly these files; a test of backend/model/practice
// plays it against them.
//
// It imports the standard library only.
package sample

import (
	"embed"
	"io/fs"
)

// Request is the instruction that the practice model knows for this workspace.
const Request = "Make the data-cleaning script accept a region field, run the checks, and send me the result."

// FS holds the workspace below the folder "files".
//
//go:embed all:files
var FS embed.FS

// Files returns the workspace's files, without the folder around them.
func Files() fs.FS {
	sub, err := fs.Sub(FS, "files")
	if err != nil {
		panic("embedded files: " + err.Error()) // the folder is compiled in
	}
	return sub
}
