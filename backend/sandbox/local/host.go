package local

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"worksite/backend/process"
)

// machine is what host discovery may look at; tests give their own.
type machine struct {
	home, path string
	data       string // Worksite's own folder
	getenv     func(string) string
	readable   func(string) bool
}

// alwaysHidden are files of the system that everybody may read and that still say more
// than a command needs: who this machine is, credentials of mounts and proxies.
var alwaysHidden = []string{"/etc/machine-id", "/etc/fstab", "/etc/environment"}

// maxHidden bounds the single files to be hidden in one folder; with more the folder
// goes.
const maxHidden = 3

// homeTools are places in a home folder that hold programs and nothing personal: the
// beginning of a PATH entry, and what to show for it. Everything else in the home
// folder stays unseen, above all the folders around these (".cargo" has a token).
var homeTools = []struct {
	prefix string
	show   []string
	env    string // variable that names the first shown
}{
	{".cargo/bin", []string{".rustup", ".cargo/bin"}, "RUSTUP_HOME"},
	{".pyenv", []string{".pyenv"}, "PYENV_ROOT"},
	{".nvm/versions", []string{".nvm/versions"}, ""},
	{".volta", []string{".volta"}, "VOLTA_HOME"},
	{".asdf", []string{".asdf"}, "ASDF_DATA_DIR"},
	{".rbenv", []string{".rbenv"}, "RBENV_ROOT"},
	{".nodenv", []string{".nodenv"}, "NODENV_ROOT"},
	{".goenv", []string{".goenv"}, "GOENV_ROOT"},
	{".jenv", []string{".jenv"}, ""},
	{".sdkman/candidates", []string{".sdkman/candidates"}, ""},
	{".local/share/mise", []string{".local/share/mise"}, "MISE_DATA_DIR"},
	{".local/share/fnm", []string{".local/share/fnm"}, ""},
	{".local/share/pnpm", []string{".local/share/pnpm"}, ""},
	{".local/bin", []string{".local/bin", ".local/share/uv", ".local/share/pipx", ".local/pipx"}, ""},
	{".deno/bin", []string{".deno/bin"}, ""},
	{".bun/bin", []string{".bun/bin"}, ""},
	{".ghcup", []string{".ghcup"}, ""},
	{".juliaup", []string{".juliaup", ".julia/juliaup"}, ""},
	{".dotnet", []string{".dotnet"}, "DOTNET_ROOT"},
	{"go/bin", []string{"go/bin"}, ""},
	{"sdk", []string{"sdk"}, ""},
	{"miniconda3", []string{"miniconda3"}, ""},
	{"miniforge3", []string{"miniforge3"}, ""},
	{"mambaforge", []string{"mambaforge"}, ""},
	{"anaconda3", []string{"anaconda3"}, ""},
}

// knownTools are looked up in the PATH, and shown with the folder they are installed
// in, wherever that is.
var knownTools = []string{"go", "node", "python3", "cargo", "java", "ruby", "deno", "bun", "dotnet", "zig", "julia", "php", "uv"}

// never are places that a PATH may name and that are not shown: what is mounted
// there has another owner or another life.
var never = []string{"/tmp", "/var/tmp", "/run", "/proc", "/sys", "/dev", "/mnt", "/media"}

// findHost finds what this machine offers.
func findHost(m machine) Host {
	h := Host{Home: m.home, Env: map[string]string{}}
	if h.Home == "/" || h.Home == "" {
		h.Home = "/home/user"
	}
	var shown []string
	root := func(p string) {
		info, err := os.Lstat(p)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if to, err := os.Readlink(p); err == nil {
				h.Root = append(h.Root, Mount{Path: p, Link: to})
				shown = append(shown, p)
			}
		case info.IsDir():
			h.Root = append(h.Root, Mount{Path: p})
			shown = append(shown, p)
		}
	}
	for _, p := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store"} {
		root(p)
	}
	h.Hidden = hidden(m, "/etc", "/opt")

	t := &tools{m: m, host: &h, shown: shown}
	var own []string
	for _, name := range knownTools {
		own = append(own, t.program(name)...)
	}
	for _, dir := range filepath.SplitList(m.path) {
		if filepath.IsAbs(dir) && t.pathEntry(filepath.Clean(dir)) {
			h.Path = appendNew(h.Path, filepath.Clean(dir))
		}
	}
	for _, dir := range append(own, "/usr/local/bin", "/usr/bin", "/bin") {
		h.Path = appendNew(h.Path, dir)
	}
	h.Tools = outermost(h.Tools)
	for _, dir := range goModules(m) {
		if isDir(dir) {
			h.GoModules = dir
			break
		}
	}
	return h
}

// hidden finds what this user may read and not everybody may: for root all secrets of
// the system, for others what a group membership opens. What this user cannot read
// stays closed inside as well, since it has the same rights there.
func hidden(m machine, roots ...string) []string {
	var out []string
	for _, root := range roots {
		var visit func(dir string, depth int)
		visit = func(dir string, depth int) {
			entries, err := os.ReadDir(dir)
			if err != nil || depth > 6 {
				return
			}
			var private, folders []string
			for _, e := range entries {
				p := filepath.Join(dir, e.Name())
				if e.Type()&fs.ModeSymlink != 0 {
					continue
				}
				info, err := e.Info()
				switch {
				case err != nil:
				case info.IsDir() && info.Mode()&0o001 != 0: // everybody may pass through
					folders = append(folders, p)
				case info.Mode()&0o004 == 0 && info.IsDir() && m.readable(p):
					out = append(out, p+"/")
				case info.Mode()&0o004 == 0 && info.Mode().IsRegular() && info.Size() > 0 && m.readable(p):
					private = append(private, p)
				}
			}
			if len(private) > maxHidden && dir != root {
				out = append(out, dir+"/")
				return
			}
			out = append(out, private...)
			if root == "/opt" && depth > 1 {
				return // programs, often many
			}
			for _, f := range folders {
				visit(f, depth+1)
			}
		}
		visit(root, 0)
	}
	for _, f := range alwaysHidden {
		if info, err := os.Lstat(f); err == nil && info.Mode().IsRegular() && !slices.Contains(out, f) && m.readable(f) {
			out = append(out, f)
		}
	}
	return out
}

type tools struct {
	m     machine
	host  *Host
	shown []string
}

func (t *tools) isShown(p string) bool {
	for _, s := range t.shown {
		if within(p, s) {
			return true
		}
	}
	return false
}

func (t *tools) show(p string) {
	t.host.Tools = appendNew(t.host.Tools, p)
	t.shown = append(t.shown, p)
}

// pathEntry makes a directory of the PATH visible, if it may be, and reports whether
// it is.
func (t *tools) pathEntry(dir string) bool {
	if !isDir(resolve(dir)) {
		return false
	}
	if t.isShown(dir) {
		return true
	}
	if within(dir, t.m.home) {
		return t.homeTool(dir)
	}
	if isNever(dir) || t.personal(t.prefix(dir)) || filepath.Dir(dir) == "/" {
		return false
	}
	if resolved := resolve(dir); resolved != dir && !t.isShown(resolved) {
		return false // shown under its own name only
	}
	t.show(t.prefix(dir))
	return true
}

// prefix returns the folder that a program directory outside the home is installed
// in: the parent of a "bin", unless that contains more than an installation.
func (t *tools) prefix(dir string) string {
	parent := filepath.Dir(dir)
	switch filepath.Base(dir) {
	case "bin", "sbin":
		if parent != "/" && filepath.Dir(parent) != "/" && !t.personal(parent) {
			return parent
		}
	}
	return dir
}

func (t *tools) homeTool(dir string) bool {
	for _, h := range homeTools {
		if !within(dir, filepath.Join(t.m.home, h.prefix)) {
			continue
		}
		for i, s := range h.show {
			p := filepath.Join(t.m.home, s)
			if isDir(p) {
				t.show(p)
				if i == 0 && h.env != "" {
					t.host.Env[h.env] = p
				}
			}
		}
		return t.isShown(dir)
	}
	return false
}

// program makes one known program usable: the link that the PATH finds may lead into
// a folder of its own. It returns the directory that the PATH needs for it.
func (t *tools) program(name string) []string {
	found, err := process.LookPath(name, t.m.path)
	if err != nil {
		return nil
	}
	dir := filepath.Dir(resolve(found))
	prefix := filepath.Dir(dir)
	switch {
	case t.isShown(dir):
	case filepath.Base(dir) != "bin" || !isInstallation(prefix) || t.personal(prefix):
		return nil
	case !within(prefix, t.m.home) && isNever(prefix):
		return nil
	default:
		t.show(prefix)
	}
	return []string{dir}
}

// personal reports a folder that holds more than an installation: the home folder,
// what contains it or the data folder, and the hidden folders right in the home.
func (t *tools) personal(dir string) bool {
	if within(t.m.home, dir) || t.m.data != "" && within(t.m.data, dir) {
		return true
	}
	return filepath.Dir(dir) == t.m.home && strings.HasPrefix(filepath.Base(dir), ".")
}

func isNever(p string) bool {
	return slices.ContainsFunc(never, func(n string) bool { return within(p, n) })
}

// isInstallation recognises the folder of a toolchain by what only such has.
func isInstallation(dir string) bool {
	for _, mark := range []string{"VERSION", "release", "include/node", "lib/node_modules", "pyvenv.cfg", "lib/rustlib", "lib/ruby"} {
		if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
			return true
		}
	}
	python, _ := filepath.Glob(filepath.Join(dir, "lib", "python3*"))
	return len(python) > 0
}

func goModules(m machine) []string {
	var out []string
	if dir := m.getenv("GOMODCACHE"); filepath.IsAbs(dir) {
		out = append(out, dir)
	}
	for _, dir := range filepath.SplitList(m.getenv("GOPATH")) {
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Join(dir, "pkg", "mod"))
		}
	}
	return append(out, filepath.Join(m.home, "go", "pkg", "mod"))
}

func resolve(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return p
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// outermost sorts paths and leaves out those that lie in another of them.
func outermost(paths []string) []string {
	sort.Strings(paths)
	var out []string
	for _, p := range paths {
		inside := false
		for _, o := range out {
			inside = inside || within(p, o)
		}
		if !inside {
			out = append(out, p)
		}
	}
	return out
}
