package local

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"worksite/backend/domain"
)

// alwaysProtected are paths that are made read-only when they exist, beside what the
// spec protects: tools and agents on the host act on them.
var alwaysProtected = []string{
	"CLAUDE.md", "GEMINI.md", ".cursorrules", ".claude/", ".cursor/", ".devcontainer/", ".husky/", ".githooks/",
}

// DefaultProtected are the paths that a command can neither write nor create. A final
// slash means a folder.
var DefaultProtected = []string{
	".envrc", ".vscode/", ".idea/", ".mcp.json", "AGENTS.md", ".worksite/",
}

// maxModules bounds the mounts that submodules cost; with more of them the folder
// that contains all is made read-only.
const maxModules = 8

// gather finds the facts of a workspace. missing are the protected paths to be held by
// placeholders; facts.Ghosts is filled once they stand.
func gather(workspace string, protected []string) (facts Facts, missing []Ghost, err error) {
	g := &gatherer{ws: workspace}
	if err := g.git(); err != nil {
		return Facts{}, nil, err
	}
	for _, p := range protected {
		if err := g.protect(p, true); err != nil {
			return Facts{}, nil, err
		}
	}
	for _, p := range alwaysProtected {
		if err := g.protect(p, false); err != nil {
			return Facts{}, nil, err
		}
	}
	return g.facts, g.missing, nil
}

type gatherer struct {
	ws      string
	facts   Facts
	missing []Ghost
}

func (g *gatherer) bind(p string, writable bool) {
	for _, b := range g.facts.Binds {
		if b.Path == p && b.Writable == writable {
			return
		}
	}
	g.facts.Binds = append(g.facts.Binds, Bind{p, writable})
}

// covered reports whether p lies in a folder that is read-only already: the last mount
// around it decides. A mount inside would only be a hole.
func (g *gatherer) covered(p string) bool {
	for i := len(g.facts.Binds) - 1; i >= 0; i-- {
		if b := g.facts.Binds[i]; within(p, b.Path) {
			return !b.Writable
		}
	}
	return false
}

func (g *gatherer) ghost(p string, dir bool) {
	for _, m := range g.missing {
		if m.Path == p {
			return
		}
	}
	g.missing = append(g.missing, Ghost{p, dir})
}

// guard makes one control file of Git read-only, or has it held when it is missing. It
// refuses a symbolic link: a mount over it would follow it, and whoever can write the
// folder decides where to.
func (g *gatherer) guard(p string, dir, hold bool) error {
	if g.covered(p) {
		return nil
	}
	info, err := os.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if hold {
			g.ghost(p, dir)
		}
		return nil
	case err != nil:
		return domain.Errorf(domain.CodeForbidden, "look at %s: %w", p, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return refuseLink(p)
	case isGhost(p, info):
		g.ghost(p, info.IsDir()) // left by a crash, or by a command that runs now
		return nil
	}
	g.bind(p, false)
	return nil
}

func refuseLink(p string) error {
	return domain.Errorf(domain.CodeForbidden, "%s is a symbolic link, so it cannot be protected from the command", p).
		WithHint("Replace the link with a real file or folder, or open the folder it leads to.")
}

// protect guards a path relative to the workspace, and gives every folder on the way
// a mount of its own. Links are common here (one rule file for several agents): what
// they lead to is guarded if it lies inside, and the link itself is looked at after
// the command, since nothing can be mounted on a link.
func (g *gatherer) protect(rel string, hold bool) error {
	dir := strings.HasSuffix(rel, "/")
	rel = path.Clean(rel)
	if !filepath.IsLocal(filepath.FromSlash(rel)) || rel == "." {
		return domain.Errorf(domain.CodeInvalid, "protected path %q does not lie inside the workspace", rel)
	}
	parts := strings.Split(rel, "/")
	p := g.ws
	for i, part := range parts {
		p = filepath.Join(p, part)
		if g.covered(p) {
			return nil
		}
		last := i == len(parts)-1
		info, err := os.Lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !last:
			return nil // reported after the command, by Tripwire
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			g.facts.Links = appendNew(g.facts.Links, p)
			target, err := filepath.EvalSymlinks(p)
			if err != nil || target == g.ws || !within(target, g.ws) || within(target, filepath.Join(g.ws, ".git")) {
				return nil
			}
			to, err := filepath.Rel(g.ws, target)
			if err != nil {
				return nil
			}
			return g.protect(path.Join(append([]string{filepath.ToSlash(to)}, parts[i+1:]...)...), false)
		case last:
			return g.guard(p, dir, hold)
		case err != nil:
			return domain.Errorf(domain.CodeForbidden, "look at %s: %w", p, err)
		}
		g.bind(p, true)
	}
	return nil
}

// git finds the repository of the workspace and guards what Git on the host obeys.
func (g *gatherer) git() error {
	dotgit := filepath.Join(g.ws, ".git")
	info, err := os.Lstat(dotgit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return domain.Errorf(domain.CodeForbidden, "look at %s: %w", dotgit, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return refuseLink(dotgit)
	case info.IsDir():
		return g.repository(dotgit)
	}
	// A worktree or a submodule: the repository lies elsewhere. The command can
	// write this file's folder, so what it names is believed only when the other
	// side names the workspace too.
	g.bind(dotgit, false)
	gitdir, ok := readPointer(dotgit, "gitdir:")
	if !ok {
		return nil
	}
	if !filepath.IsAbs(gitdir) {
		gitdir = filepath.Join(g.ws, gitdir)
	}
	if gitdir, err = filepath.EvalSymlinks(gitdir); err != nil {
		return nil
	}
	if common, ok := worktreeOf(gitdir, dotgit); ok {
		if err := g.repository(common); err != nil {
			return err
		}
		g.bind(gitdir, true)
		ownSettings := readSettings(filepath.Join(common, "config")).worktreeConfig
		for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
			if err := g.guard(filepath.Join(gitdir, name), false, ownSettings && name == "config.worktree"); err != nil {
				return err
			}
		}
		return nil
	}
	if submoduleOf(gitdir, g.ws) {
		return g.repository(gitdir)
	}
	return nil // Git does not work inside then; its files are safe
}

// repository guards the control files of one Git directory.
func (g *gatherer) repository(dir string) error {
	g.bind(dir, true)
	commondir := filepath.Join(dir, "commondir")
	if _, err := os.Lstat(commondir); err == nil {
		return domain.Errorf(domain.CodeForbidden, "%s exists; in the main folder of a repository it makes Git obey another one's settings", commondir).
			WithHint("Look where it leads to and remove it.")
	}
	g.facts.Absent = append(g.facts.Absent, commondir)
	settings := readSettings(filepath.Join(dir, "config"))
	for _, c := range []struct {
		name string
		dir  bool
		hold bool
	}{
		{"config", false, true},
		{"hooks", true, true},
		{"config.worktree", false, settings.worktreeConfig}, // without the extension Git ignores it
	} {
		if err := g.guard(filepath.Join(dir, c.name), c.dir, c.hold); err != nil {
			return err
		}
	}
	if worktrees := filepath.Join(dir, "worktrees"); isDir(worktrees) {
		g.bind(worktrees, false)
	}
	for _, p := range settings.paths {
		if err := g.configured(dir, p); err != nil {
			return err
		}
	}
	return g.modules(filepath.Join(dir, "modules"))
}

// configured guards a file or folder inside the workspace that Git's settings name:
// core.hooksPath, or an included file.
func (g *gatherer) configured(gitdir string, c configuredPath) error {
	p := c.path
	if !filepath.IsAbs(p) {
		base := g.ws // hooksPath is relative to where the hooks run
		if !c.hooks {
			base = gitdir
		}
		p = filepath.Join(base, p)
	}
	rel, err := filepath.Rel(g.ws, p)
	if err != nil || !filepath.IsLocal(rel) || rel == "." || strings.HasPrefix(rel+"/", ".git/") {
		return nil
	}
	rel = filepath.ToSlash(rel)
	if c.hooks {
		rel += "/"
	}
	return g.protect(rel, true)
}

// modules guards the repositories of submodules.
func (g *gatherer) modules(dir string) error {
	if !isDir(dir) {
		return nil
	}
	found := repositoriesBelow(dir, 3, maxModules+1)
	if len(found) > maxModules {
		g.bind(dir, false)
		return nil
	}
	g.bind(dir, true)
	for _, m := range found {
		for p := filepath.Dir(m); p != dir; p = filepath.Dir(p) {
			g.bind(p, true)
		}
		g.bind(m, true)
		if err := g.guard(filepath.Join(m, "config"), false, true); err != nil {
			return err
		}
		if err := g.guard(filepath.Join(m, "hooks"), true, true); err != nil {
			return err
		}
	}
	return nil
}

func repositoriesBelow(dir string, depth, limit int) []string {
	entries, err := os.ReadDir(dir)
	if err != nil || depth == 0 {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() || len(out) >= limit {
			continue
		}
		p := filepath.Join(dir, e.Name())
		if _, err := os.Lstat(filepath.Join(p, "HEAD")); err == nil {
			out = append(out, p)
		} else {
			out = append(out, repositoriesBelow(p, depth-1, limit-len(out))...)
		}
	}
	return out
}

// worktreeOf returns the common directory of a worktree whose own directory is
// gitdir, if each side names the other.
func worktreeOf(gitdir, dotgit string) (string, bool) {
	worktrees := filepath.Dir(gitdir)
	common := filepath.Dir(worktrees)
	if filepath.Base(worktrees) != "worktrees" || !isRepository(common) {
		return "", false
	}
	said, ok := readPointer(filepath.Join(gitdir, "commondir"), "")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(said) {
		said = filepath.Join(gitdir, said)
	}
	if filepath.Clean(said) != common {
		return "", false
	}
	back, ok := readPointer(filepath.Join(gitdir, "gitdir"), "")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(back) {
		back = filepath.Join(gitdir, back)
	}
	return common, same(back, dotgit)
}

// submoduleOf reports whether gitdir belongs to a submodule checked out at ws: it
// lies below a folder "modules", and its settings name ws.
func submoduleOf(gitdir, ws string) bool {
	if !strings.Contains(filepath.ToSlash(gitdir), "/modules/") || !isRepository(gitdir) {
		return false
	}
	worktree := readSettings(filepath.Join(gitdir, "config")).worktree
	if worktree == "" {
		return false
	}
	if !filepath.IsAbs(worktree) {
		worktree = filepath.Join(gitdir, worktree)
	}
	return same(worktree, ws)
}

func isRepository(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && !head.IsDir() && isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

func isDir(p string) bool {
	info, err := os.Lstat(p)
	return err == nil && info.IsDir()
}

func same(a, b string) bool {
	x, err := os.Lstat(a)
	if err != nil {
		return false
	}
	y, err := os.Lstat(b)
	return err == nil && os.SameFile(x, y)
}

// readPointer reads a one-line file of Git that names a path.
func readPointer(file, prefix string) (string, bool) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return "", false
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	s, ok := strings.CutPrefix(string(b), prefix)
	if !ok {
		return "", false
	}
	if prefix != "" {
		s = strings.TrimLeft(s, " ")
	}
	s = strings.TrimRight(s, "\r\n")
	return s, s != "" && !strings.ContainsAny(s, "\n\x00")
}
