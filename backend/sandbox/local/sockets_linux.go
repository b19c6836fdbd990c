package local

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A socket of a host program inside the workspace is a way out: a read-only mount
// does not stop a connection. The kernel's table names every bound socket of this
// network namespace, which is cheap to read for every command. What it cannot name
// (bound by a relative path, or in a container) is found by a walk that is bounded in
// files and time and kept for a while.
const (
	walkFiles = 20000
	walkTime  = 20 * time.Millisecond
	walkAge   = 2 * time.Minute
)

type walk struct {
	at      time.Time
	sockets []string
}

func (l *Local) sockets(workspace string) []string {
	found := boundSockets("/proc/net/unix", workspace)
	l.walkMu.Lock()
	w, ok := l.walks[workspace]
	if !ok || time.Since(w.at) > walkAge {
		w = walk{at: time.Now(), sockets: walkSockets(workspace)}
		l.walks[workspace] = w
	}
	l.walkMu.Unlock()
	var out []string
	for _, p := range append(found, w.sockets...) {
		// Seen through a link the mount would land elsewhere.
		if info, err := os.Lstat(p); err == nil && info.Mode()&fs.ModeSocket != 0 && resolve(filepath.Dir(p)) == filepath.Dir(p) {
			out = appendNew(out, p)
		}
	}
	return out
}

func boundSockets(table, workspace string) []string {
	b, err := os.ReadFile(table)
	if err != nil {
		return nil
	}
	prefix := []byte(" " + workspace + "/")
	var out []string
	for {
		i := bytes.Index(b, prefix)
		if i < 0 {
			return out
		}
		line := b[i+1:]
		end := bytes.IndexByte(line, '\n')
		if end < 0 {
			end = len(line)
		}
		out = append(out, string(line[:end]))
		b = line[end:]
	}
}

func walkSockets(workspace string) []string {
	var out []string
	files, end := 0, time.Now().Add(walkTime)
	_ = filepath.WalkDir(workspace, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if files++; files > walkFiles || files%256 == 0 && time.Now().After(end) {
			return fs.SkipAll
		}
		if d.IsDir() {
			switch d.Name() {
			case "node_modules", ".git", ".venv", "venv", "target", "__pycache__":
				return fs.SkipDir
			}
			if strings.Count(p[len(workspace):], "/") > 12 {
				return fs.SkipDir
			}
		}
		if d.Type()&fs.ModeSocket != 0 && len(out) < 256 {
			out = append(out, p)
		}
		return nil
	})
	return out
}
