package sandbox

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Names that tools on the host act on by themselves once they stand in a folder.
var (
	plantedFiles = map[string]string{
		".envrc":                  "direnv runs it when a shell enters the folder",
		".autoenv.zsh":            "autoenv runs it when a shell enters the folder",
		".mise.toml":              "mise sets up the environment from it",
		"mise.toml":               "mise sets up the environment from it",
		".gitattributes":          "Git may run filters by it",
		".gitmodules":             "Git takes submodules from it",
		".lldbinit":               "the debugger runs it",
		".gdbinit":                "the debugger runs it",
		".npmrc":                  "npm takes settings and scripts from it",
		".yarnrc.yml":             "yarn runs the program it names",
		".pnpmfile.cjs":           "pnpm runs it",
		".pre-commit-config.yaml": "pre-commit runs its hooks",
		"lefthook.yml":            "lefthook runs its hooks",
		".mcp.json":               "agents start the servers it names",
		"AGENTS.md":               "agents follow it",
		"CLAUDE.md":               "agents follow it",
		"GEMINI.md":               "agents follow it",
		".cursorrules":            "agents follow it",
		"conftest.py":             "pytest runs it",
		"sitecustomize.py":        "Python runs it at every start",
		"usercustomize.py":        "Python runs it at every start",
		"Makefile":                "make runs it",
		"package.json":            "npm runs its scripts",
		".desktop":                "the desktop may start it",
	}
	plantedFolders = map[string]string{
		".vscode":       "the editor runs its tasks",
		".idea":         "the editor runs its configurations",
		".fleet":        "the editor runs its configurations",
		".zed":          "the editor runs its tasks",
		".devcontainer": "the editor runs its commands",
		".husky":        "Git runs it as hooks",
		".githooks":     "Git may run it as hooks",
		".worksite":     "this workbench reads it",
		".claude":       "agents take hooks and settings from it",
		".cursor":       "agents follow it",
		".github":       "the forge runs its workflows",
		".direnv":       "direnv loads it",
	}
)

// Tripwire picks those of the changed paths that would run on the host later, or
// steer an agent, and says why: "sub/.git/config: …". It looks at names only, and
// for absolute paths at the set-id bits as well. It finds what is known to matter;
// it cannot know everything, and a review of the diff stays necessary.
func Tripwire(paths []string) []string {
	var out []string
	for _, p := range paths {
		if why := planted(p); why != "" {
			out = append(out, p+": "+why)
		}
	}
	return out
}

func planted(p string) string {
	slashed := filepath.ToSlash(p)
	parts := strings.Split(slashed, "/")
	for i, part := range parts {
		lower := strings.ToLower(part)
		if lower == ".git" {
			return plantedGit(parts[i+1:])
		}
		if why, ok := plantedFolders[lower]; ok {
			return why
		}
	}
	base := path.Base(slashed)
	for name, why := range plantedFiles {
		if strings.EqualFold(base, name) || name == ".desktop" && strings.HasSuffix(base, name) {
			return why
		}
	}
	if filepath.IsAbs(p) {
		if info, err := os.Lstat(p); err == nil && info.Mode().IsRegular() && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			return "it runs with the rights of its owner (set-id)"
		}
	}
	return ""
}

// plantedGit judges what changed below (or at) a .git.
func plantedGit(rest []string) string {
	if len(rest) == 0 || rest[0] == "" {
		return "Git on the host takes its settings from it"
	}
	switch rest[0] {
	case "hooks":
		if strings.HasSuffix(rest[len(rest)-1], ".sample") {
			return ""
		}
		return "Git on the host runs it"
	case "config", "config.worktree", "commondir", "gitdir":
		return "Git on the host takes its settings from it"
	case "info":
		if len(rest) > 1 && rest[1] == "attributes" {
			return "Git may run filters by it"
		}
	case "modules", "worktrees":
		for i := range rest[1:] {
			if i > 0 {
				if why := plantedGit(rest[1+i:]); why != "" {
					return why
				}
			}
		}
	}
	return ""
}
