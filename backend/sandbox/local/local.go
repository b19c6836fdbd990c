package local

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"worksite/backend/domain"
	"worksite/backend/sandbox"
)

// Config says where a Local keeps its things and what it may assume. Every empty
// field is found out.
type Config struct {
	// DataDir is the data folder of Worksite: caches per workspace, the helper and
	// the list of placeholders live in it. It is never visible inside.
	DataDir string
	// Home and Path are the person's home folder and PATH.
	Home, Path string
	// User is the name inside.
	User string
	// Bwrap is the bubblewrap program; empty is a search in the system's folders.
	Bwrap string
	// Helper is process 1 as an executable's bytes; nil is the embedded one.
	Helper []byte
}

// Local runs commands in sandboxes on this machine. It is safe for concurrent use.
type Local struct {
	cfg Config

	hostMu    sync.Mutex
	host      Host
	hostFound time.Time
	noUserns  bool // bubblewrap cannot forbid user namespaces here

	statusMu sync.Mutex
	status   *sandbox.Status
	probed   time.Time
	bwrap    string // the program that the status is about

	walkMu sync.Mutex
	walks  map[string]walk

	// trusted checks that nobody but the system can replace a program; tests with
	// programs of their own replace it.
	trusted      func(file string) error
	inContainer  func() bool
	sysctl       string
	probeTimeout time.Duration
}

// New returns a Local. It looks at nothing yet: the first Status or Run does.
func New(cfg Config) (*Local, error) {
	if !filepath.IsAbs(cfg.DataDir) {
		return nil, domain.Errorf(domain.CodeInvalid, "data folder %q is not absolute", cfg.DataDir)
	}
	if cfg.Home == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, domain.Errorf(domain.CodeUnavailable, "find the home folder: %w", err).
				WithHint("Set the HOME variable.")
		}
		cfg.Home = home
	}
	if cfg.Path == "" {
		cfg.Path = os.Getenv("PATH")
	}
	if cfg.User == "" {
		if cfg.User = os.Getenv("USER"); cfg.User == "" {
			cfg.User = "user"
		}
	}
	if cfg.Helper == nil {
		cfg.Helper = embeddedHelper()
	}
	for _, p := range []*string{&cfg.DataDir, &cfg.Home} {
		if resolved, err := filepath.EvalSymlinks(*p); err == nil {
			*p = resolved
		}
	}
	return &Local{cfg: cfg, walks: map[string]walk{}, trusted: trustedProgram, inContainer: inContainer, sysctl: "/proc/sys", probeTimeout: 5 * time.Second}, nil
}

// Spec returns the default spec of a workspace: no network, the protected paths, and
// for coding tasks caches of the language tools, one set per workspace.
func (l *Local) Spec(workspace string, kind ...domain.TaskKind) (sandbox.Spec, error) {
	resolved, err := l.workspace(workspace)
	if err != nil {
		return sandbox.Spec{}, err
	}
	s := sandbox.Spec{
		Workspace: resolved,
		Protected: append([]string(nil), DefaultProtected...),
		Network:   sandbox.NetworkNone,
		Env:       map[string]string{},
	}
	for _, k := range kind {
		if k == domain.TaskGeneral {
			return s, nil
		}
	}
	cache := filepath.Join(l.cfg.DataDir, "cache", key(resolved))
	s.Writable = []string{cache}
	for name, dir := range map[string]string{
		"GOCACHE":          "go-build",
		"PIP_CACHE_DIR":    "pip",
		"npm_config_cache": "npm",
		"CARGO_HOME":       "cargo",
		"XDG_CACHE_HOME":   "xdg",
	} {
		s.Env[name] = filepath.Join(cache, dir)
	}
	return s, nil
}

// workspace resolves a folder and refuses those that hold more than a workspace.
func (l *Local) workspace(p string) (string, error) {
	if !filepath.IsAbs(p) {
		return "", domain.Errorf(domain.CodeInvalid, "workspace %q is not absolute", p)
	}
	resolved, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", domain.Errorf(domain.CodeNotFound, "workspace %s: %w", p, err)
	}
	if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
		return "", domain.Errorf(domain.CodeInvalid, "workspace %s is not a folder", p)
	}
	for what, dir := range map[string]string{"your home folder": l.cfg.Home, "Worksite's data folder": l.cfg.DataDir} {
		if within(dir, resolved) {
			return "", domain.Errorf(domain.CodeForbidden, "%s contains %s, which commands must not see", p, what).
				WithHint("Open the folder of one project.")
		}
	}
	for _, dir := range systemFolders {
		if resolved == dir || dir != "/" && within(resolved, dir) {
			return "", domain.Errorf(domain.CodeForbidden, "%s belongs to the system", p).
				WithHint("Open the folder of one project.")
		}
	}
	return resolved, nil
}

var systemFolders = []string{"/", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/run", "/nix/store"}

// within reports whether p is dir or lies in it.
func within(p, dir string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// key names a workspace's files in the data folder.
func key(workspace string) string {
	h := domain.HashBytes([]byte(workspace))
	return hex.EncodeToString(h[:10])
}

// check refuses specs that no sandbox can keep.
func (l *Local) check(s sandbox.Spec, c sandbox.Command) (dir string, err error) {
	resolved, err := l.workspace(s.Workspace)
	if err != nil {
		return "", err
	}
	if resolved != filepath.Clean(s.Workspace) {
		return "", domain.Errorf(domain.CodeConflict, "workspace %s now leads to %s", s.Workspace, resolved).
			WithHint("Open the folder again.")
	}
	if s.Network != sandbox.NetworkNone && !s.Unsandboxed {
		return "", domain.Errorf(domain.CodeInvalid, "network %q is not known; a sandbox has none", s.Network)
	}
	for _, list := range [][]string{s.ReadOnly, s.Writable} {
		for _, p := range list {
			if !filepath.IsAbs(p) || filepath.Clean(p) != p {
				return "", domain.Errorf(domain.CodeInvalid, "path %q is not absolute and clean", p)
			}
			if within(l.cfg.Home, p) || within(l.cfg.DataDir, p) {
				return "", domain.Errorf(domain.CodeForbidden, "%s contains what commands must not see", p)
			}
		}
	}
	for k, v := range s.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(v, 0) {
			return "", domain.Errorf(domain.CodeInvalid, "environment variable %q cannot be set", k)
		}
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", domain.Errorf(domain.CodeInvalid, "no program was named")
	}
	dir = c.Dir
	if dir == "" {
		dir = s.Workspace
	}
	if !filepath.IsAbs(dir) {
		return "", domain.Errorf(domain.CodeInvalid, "working directory %q is not absolute", dir)
	}
	if !s.Unsandboxed && !within(dir, s.Workspace) {
		return "", domain.Errorf(domain.CodeForbidden, "working directory %s lies outside the workspace", dir)
	}
	return dir, nil
}

// refusal turns a failed status into the error of a Run.
func refusal(s sandbox.Status) error {
	return domain.Errorf(domain.CodeUnavailable, "no sandbox: %s", s.Detail).WithHint("%s", s.Hint)
}
