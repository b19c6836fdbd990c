package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"worksite/backend/domain"
	"worksite/backend/workspace/scan"
)

// State says what has become of a workspace's folder.
type State string

// The values of State.
const (
	StatePresent  State = "present"
	StateMissing  State = "missing"  // nothing is at its path, and it was not found nearby
	StateMoved    State = "moved"    // nothing is at its path; it was found under another name
	StateReplaced State = "replaced" // another folder is at its path
)

// place identifies a folder on this machine. Born is its creation time, 0 where the
// file system does not say; with it a reused inode is not taken for the old folder.
type place struct{ dev, ino, born int64 }

// is reports whether two places are the same folder. The device may differ: its
// number changes with a remount.
func (p place) is(q place) bool {
	if p.ino != q.ino {
		return false
	}
	if p.born != 0 && q.born != 0 {
		return p.born == q.born
	}
	return p.dev == q.dev
}

// fingerprint tells a workspace's root from others: its place, and by what it is
// known again elsewhere.
type fingerprint struct {
	place
	gitRoot   string   // first commit, "" without Git
	gitRemote string   // of origin
	marks     []string // some names at the top, sorted
}

// maxMarks bounds the names that a fingerprint remembers.
const maxMarks = 64

// gitPatience bounds how long Git may take to find the first commit.
const gitPatience = 3 * time.Second

func (s *Store) fingerprint(ctx context.Context, path string) (fingerprint, error) {
	p, err := placeOf(path)
	if err != nil {
		return fingerprint{}, err
	}
	f := fingerprint{place: p, marks: marksOf(path)}
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	f.gitRoot, f.gitRemote = s.git.Origin(ctx, path)
	return f, nil
}

// marksOf lists the first names in a folder. No file of ours is put there to know
// it again.
func marksOf(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(4096) // some are better than none
	names = slices.DeleteFunc(names, func(n string) bool { return scan.IsGit(n) || !validName(n) })
	slices.Sort(names)
	return names[:min(len(names), maxMarks)]
}

// alike compares what two folders hold: how many of was's names are still there.
func alike(was, now []string) bool {
	common := 0
	for _, n := range was {
		if _, ok := slices.BinarySearch(now, n); ok {
			common++
		}
	}
	return common > 0 && 2*common >= len(was)
}

// fits reports whether now can be the workspace with fingerprint was, and if not,
// what differs.
func (was fingerprint) fits(now fingerprint) (bool, string) {
	switch {
	case was.is(now.place):
		return true, ""
	case was.gitRoot != "" && now.gitRoot == "":
		return false, fmt.Sprintf("the workspace is a Git repository beginning with commit %.12s, this folder is none with commits", was.gitRoot)
	case was.gitRoot != now.gitRoot:
		return false, fmt.Sprintf("its repository begins with commit %s, the workspace's with %s", short(now.gitRoot), short(was.gitRoot))
	case was.gitRoot != "":
		if was.gitRemote != "" && now.gitRemote != "" && was.gitRemote != now.gitRemote {
			return false, fmt.Sprintf("it is cloned from %s, the workspace from %s", now.gitRemote, was.gitRemote)
		}
		return true, ""
	case !alike(was.marks, now.marks):
		return false, fmt.Sprintf("of the %d names remembered of the workspace (%s) fewer than half are in it", len(was.marks), strings.Join(was.marks[:min(3, len(was.marks))], ", "))
	}
	return true, ""
}

func short(commit string) string {
	if commit == "" {
		return "none"
	}
	return fmt.Sprintf("%.12s", commit)
}

func encodeMarks(m []string) string {
	b, err := json.Marshal(m)
	if err != nil {
		return "[]"
	}
	return string(b)
}

// Location is where a workspace's folder is.
type Location struct {
	State  State
	Path   string // where it is, or was last
	Detail string // in words, when it is not present
}

// State says what has become of a workspace's folder.
func (s *Store) State(ctx context.Context, id domain.WorkspaceID) (State, error) {
	loc, err := s.Locate(ctx, id)
	return loc.State, err
}

// Locate is State with the words and, for a folder that was moved, its new path.
func (s *Store) Locate(ctx context.Context, id domain.WorkspaceID) (Location, error) {
	w, err := s.row(ctx, id)
	if err != nil {
		return Location{}, err
	}
	return s.locate(ctx, w), nil
}

func (s *Store) locate(ctx context.Context, w row) Location {
	fi, err := os.Lstat(w.Path)
	switch {
	case err == nil && fi.IsDir():
		p, err := placeOf(w.Path)
		if err == nil && w.print.is(p) {
			return Location{State: StatePresent, Path: w.Path}
		}
		if at := s.nearby(w); at != "" {
			return Location{StateMoved, at, fmt.Sprintf("another folder is at %s now; the workspace's own was moved to %s", w.Path, at)}
		}
		detail := fmt.Sprintf("another folder is at %s now", w.Path)
		if now, err := s.fingerprint(ctx, w.Path); err == nil {
			if ok, why := w.print.fits(now); ok {
				detail += ", a copy or a new clone of the workspace, as it seems; link it again to go on with it"
			} else {
				detail += ": " + why
			}
		}
		return Location{StateReplaced, w.Path, detail}
	case err == nil:
		return Location{StateReplaced, w.Path, w.Path + " is no folder any more"}
	}
	if at := s.nearby(w); at != "" {
		return Location{StateMoved, at, "it was moved to " + at}
	}
	if errors.Is(err, fs.ErrPermission) {
		return Location{StateMissing, w.Path, w.Path + " cannot be looked at with your permissions"}
	}
	return Location{StateMissing, w.Path, "nothing is at " + w.Path}
}

// nearby looks for a folder that was renamed within its parent.
func (s *Store) nearby(w row) string {
	parent := filepath.Dir(w.Path)
	f, err := os.Open(parent)
	if err != nil {
		return ""
	}
	defer f.Close()
	names, _ := f.Readdirnames(10_000) // a few missed names only cost the hint
	for _, n := range names {
		at := filepath.Join(parent, n)
		if at == w.Path {
			continue
		}
		if fi, err := os.Lstat(at); err != nil || !fi.IsDir() {
			continue
		}
		if p, err := placeOf(at); err == nil && w.print.is(p) {
			return at
		}
	}
	return ""
}

// canonical returns the one path by which a folder is known: absolute, without
// links, in the case the disk has.
func canonical(path string) (string, error) {
	if path == "" {
		return "", domain.Errorf(domain.CodeInvalid, "the path is empty")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "path %s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", domain.Errorf(domain.CodeNotFound, "there is no folder %s", path)
	}
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "%s cannot be opened: %w", path, err)
	}
	fi, err := os.Stat(real)
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "%s cannot be opened: %w", path, err)
	}
	if !fi.IsDir() {
		return "", domain.Errorf(domain.CodeInvalid, "%s is a file, not a folder", path).WithHint("Open the folder that contains it.")
	}
	return trueCase(real), nil
}

// trueCase spells each element as its folder lists it, where the file system folds case.
func trueCase(path string) string {
	vol := filepath.VolumeName(path)
	out := vol + string(filepath.Separator)
	for el := range strings.SplitSeq(strings.Trim(path[len(vol):], string(filepath.Separator)), string(filepath.Separator)) {
		if el == "" {
			continue
		}
		out = filepath.Join(out, spelled(out, el))
	}
	return out
}

func spelled(dir, el string) string {
	other := strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, el)
	if other == el {
		return el
	}
	here, err := os.Lstat(filepath.Join(dir, el))
	if err != nil {
		return el
	}
	if there, err := os.Lstat(filepath.Join(dir, other)); err != nil || !os.SameFile(here, there) {
		return el // case matters here
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return el
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), el) {
			if fi, err := e.Info(); err == nil && os.SameFile(fi, here) {
				return e.Name()
			}
		}
	}
	return el
}

// systemFolders are never workspaces, whoever runs us.
var systemFolders = []string{"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/var", "/Users", "/System", "/Library"}

// guard refuses folders in which an agent could reach everything, or this app's own
// data. path is canonical.
func (s *Store) guard(path string) error {
	refuse := func(why string) error {
		return domain.Errorf(domain.CodeForbidden, "%s cannot be a workspace: %s", path, why).
			WithHint("Choose the folder of one project, or make a new one.")
	}
	if filepath.Dir(path) == path {
		return refuse("it is the whole disk")
	}
	home := s.home
	if home != "" {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		switch {
		case path == home:
			return refuse("it is your home folder")
		case contains(path, home):
			return refuse("your home folder is in it")
		}
	}
	if slices.Contains(systemFolders, path) || contains("/proc", path) || contains("/sys", path) || contains("/dev", path) && !contains("/dev/shm", path) {
		return refuse("it belongs to the system")
	}
	switch {
	case path == s.dir, contains(path, s.dir):
		return refuse("this app's own data is in it")
	case contains(s.dir, path) && !contains(filepath.Join(s.dir, "tasks"), path) && !contains(filepath.Join(s.dir, "samples"), path):
		return refuse("it belongs to this app's own data")
	}
	return nil
}

// contains reports whether path lies below dir.
func contains(dir, path string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
