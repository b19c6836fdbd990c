package local

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

// place is a workspace made ready for one command: facts found, placeholders made.
type place struct {
	spec    sandbox.Spec
	facts   Facts
	lock    *os.File
	guarded []guarded // read-only paths and what they were before
	unheld  []Ghost   // protected, missing, and not to be held by a placeholder
	hadGit  bool
}

type guarded struct {
	path string
	info fs.FileInfo
}

// enter finds the facts and makes the placeholders. They are written down before they
// are made, in a file whose lock says that commands are running, so that the last
// command to end, or the next start after a crash, removes them.
func (l *Local) enter(s sandbox.Spec) (p *place, err error) {
	p = &place{spec: s}
	facts, missing, err := gather(s.Workspace, s.Protected)
	if err != nil {
		return nil, err
	}
	p.facts = facts
	p.hadGit = exists(filepath.Join(s.Workspace, ".git"))
	if len(missing) > 0 {
		if p.lock, err = l.lock(s.Workspace); err != nil {
			return nil, err
		}
		if err := writeDown(p.lock, missing); err != nil {
			_ = p.lock.Close() // the failure to write is what counts
			return nil, err
		}
		var hidden []string
		for _, g := range missing {
			switch {
			case makeGhost(g):
				p.facts.Ghosts = append(p.facts.Ghosts, g)
				if rel, err := filepath.Rel(s.Workspace, g.Path); err == nil && filepath.IsLocal(rel) && !strings.HasPrefix(rel, ".git/") {
					hidden = append(hidden, "/"+filepath.ToSlash(rel))
				}
			case exists(g.Path): // a person made it this very moment
				p.facts.Binds = append(p.facts.Binds, Bind{g.Path, false})
			default:
				p.unheld = append(p.unheld, g)
			}
		}
		if len(hidden) > 0 && p.hadGit {
			if p.facts.Exclude, err = l.exclude(hidden); err != nil {
				p.leave()
				return nil, err
			}
		}
	}
	p.facts.Sockets = l.sockets(s.Workspace)
	for _, link := range p.facts.Links {
		if info, err := os.Lstat(link); err == nil {
			p.guarded = append(p.guarded, guarded{link, info})
		}
	}
	for _, b := range p.facts.Binds {
		if info, err := os.Lstat(b.Path); err == nil && !b.Writable {
			p.guarded = append(p.guarded, guarded{b.Path, info})
		}
	}
	return p, nil
}

// leave removes the placeholders if no other command in this workspace runs.
func (p *place) leave() {
	if p.lock == nil {
		return
	}
	defer p.lock.Close()
	if unix.Flock(int(p.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		removeWritten(p.lock)
	}
}

// planted lists what the command left at the paths that are looked after here.
func (p *place) planted() []string {
	var out []string
	say := func(path, why string) {
		if rel, err := filepath.Rel(p.spec.Workspace, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.ToSlash(rel)
		}
		out = append(out, path+": "+why)
	}
	for _, a := range p.facts.Absent {
		if !exists(a) {
			continue
		}
		aside := a + ".worksite-removed"
		if err := os.Rename(a, aside); err != nil {
			say(a, "Git on the host takes its settings from it; it could not be removed: "+err.Error())
			continue
		}
		say(a, "Git on the host would have taken its settings from it; it was renamed to "+filepath.Base(aside))
	}
	for _, g := range p.unheld {
		if exists(g.Path) {
			say(g.Path, "it is protected and was created")
		}
	}
	for _, g := range p.guarded {
		if !g.unchanged() {
			say(g.path, "it is protected, but it is not what it was before the command")
		}
	}
	if git := filepath.Join(p.spec.Workspace, ".git"); !p.hadGit && exists(git) {
		say(git, "Git on the host takes its settings and hooks from it")
	}
	return out
}

// unchanged compares more than the inode, whose number is given again at once. A
// folder's time is left out: what is below it is no matter of its own.
func (g guarded) unchanged() bool {
	now, err := os.Lstat(g.path)
	if err != nil || !os.SameFile(g.info, now) || g.info.Mode().Type() != now.Mode().Type() {
		return false
	}
	return now.IsDir() || now.Size() == g.info.Size() && now.ModTime().Equal(g.info.ModTime())
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

func (l *Local) dir(name string) (string, error) {
	dir := filepath.Join(l.cfg.DataDir, "sandbox", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", domain.Errorf(domain.CodeUnavailable, "make %s: %w", dir, err)
	}
	return dir, nil
}

// lock opens a workspace's list of placeholders and marks a command as running.
func (l *Local) lock(workspace string) (*os.File, error) {
	dir, err := l.dir("ghosts")
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, key(workspace)), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_SH)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EINTR) {
			_ = f.Close() // nothing was written
			return nil, err
		}
	}
}

// writeDown adds what is not in the list yet.
func writeDown(f *os.File, ghosts []Ghost) error {
	have, err := read(f)
	if err != nil {
		return err
	}
	var add bytes.Buffer
	for _, g := range ghosts {
		if !have[g.Path] {
			add.WriteString(g.Path)
			add.WriteByte(0)
		}
	}
	if add.Len() == 0 {
		return nil
	}
	_, err = f.Write(add.Bytes())
	return err
}

func read(f *os.File) (map[string]bool, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, info.Size())
	n, err := f.ReadAt(b, 0)
	if err != nil && n < len(b) {
		return nil, err
	}
	have := map[string]bool{}
	for _, p := range strings.Split(string(b), "\x00") {
		if p != "" {
			have[p] = true
		}
	}
	return have, nil
}

func removeWritten(f *os.File) (removed []string) {
	have, err := read(f)
	if err != nil {
		return nil
	}
	for p := range have {
		if ghostAt(p) && removeGhost(p) == nil {
			removed = append(removed, p)
		}
	}
	return removed
}

// Sweep removes placeholders that a crash left in any workspace and returns their
// paths. Those of commands that run now, in this process or another, stay.
func (l *Local) Sweep() []string {
	dir := filepath.Join(l.cfg.DataDir, "sandbox", "ghosts")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var removed []string
	for _, e := range entries {
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			removed = append(removed, removeWritten(f)...)
		}
		_ = f.Close() // gives the lock back in any case
	}
	return removed
}

// exclude returns the name of a file, beside the helper, that hides the placeholders
// from Git inside, together with what the person's own ignore file hides. There is
// one per set of names.
func (l *Local) exclude(names []string) (string, error) {
	own, _ := os.ReadFile(filepath.Join(l.cfg.Home, ".config", "git", "ignore"))
	text := append([]byte(strings.Join(names, "\n")+"\n"), own...)
	dir, err := l.dir("inside")
	if err != nil {
		return "", err
	}
	name := "exclude-" + domain.HashBytes(text).String()[:20]
	if exists(filepath.Join(dir, name)) {
		return name, nil
	}
	return name, writeFile(filepath.Join(dir, name), text, 0o400)
}

// writeFile writes a file whole or not at all.
func writeFile(name string, b []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
