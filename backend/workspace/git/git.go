package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/process"
)

// Runner starts a program; process.Run is the one in use.
type Runner func(ctx context.Context, s process.Spec) (process.Result, error)

// Config says how git is run. The zero value is right for a person's machine.
type Config struct {
	Run     Runner        // nil: process.Run
	Path    string        // where git is looked for, as a PATH; "" takes this process's
	Home    string        // the person's home, for their own settings when committing; "" asks the system
	Timeout time.Duration // of one git; 0: 30 s
}

// Git runs git. It is safe for concurrent use.
type Git struct {
	run     Runner
	path    string
	home    string
	timeout time.Duration
}

// New makes a Git.
func New(c Config) *Git {
	g := &Git{run: c.Run, path: c.Path, home: c.Home, timeout: c.Timeout}
	if g.run == nil {
		g.run = process.Run
	}
	if g.path == "" {
		g.path = os.Getenv("PATH")
	}
	if g.home == "" {
		g.home, _ = os.UserHomeDir() // none: then there are no settings of theirs
	}
	if g.timeout == 0 {
		g.timeout = 30 * time.Second
	}
	return g
}

// maxOutput is how much of git's output is read, bytes.
const maxOutput = 64 << 20

// safeConfig overrides what a repository's own configuration could start. What
// stands on the command line comes last and wins.
var safeConfig = []string{
	"core.hooksPath=" + os.DevNull,
	"core.fsmonitor=false",
	"core.untrackedCache=false",
	"core.pager=cat",
	"core.editor=false",
	"core.askPass=",
	"core.sshCommand=false",
	"core.gitProxy=",
	"core.attributesFile=" + os.DevNull,
	"credential.helper=",
	"diff.external=",
	"gpg.program=false",
	"gpg.ssh.program=false",
	"gpg.x509.program=false",
	"commit.gpgSign=false",
	"tag.gpgSign=false",
	"gc.auto=0",
	"gc.autoDetach=false",
	"maintenance.auto=false",
	"submodule.recurse=false",
	"status.submoduleSummary=false",
	"fetch.recurseSubmodules=false",
	"protocol.allow=never",
	"protocol.ext.allow=never",
	"i18n.commitEncoding=UTF-8",
	"advice.addIgnoredFile=false",
}

// call is one git command.
type call struct {
	repo  *Repo // nil: none is needed
	args  []string
	env   []string // beside the scrubbed ones
	stdin io.Reader
	own   bool // with the person's own settings; otherwise the repository's only
	extra []string
	plain bool // the command takes no literal pathspecs
}

// output is what a git said.
type output struct {
	code   int
	stdout []byte
	stderr string
}

// exec runs one git. An exit code other than 0 is no error here.
func (g *Git) exec(ctx context.Context, c call) (output, error) {
	bin, err := g.binary(c.repo)
	if err != nil {
		return output{}, err
	}
	argv := []string{bin, "--no-pager"}
	if !c.plain {
		argv = append(argv, "--literal-pathspecs")
	}
	for _, kv := range append(safeConfig, c.extra...) {
		argv = append(argv, "-c", kv)
	}
	argv = append(argv, c.args...)
	env := []string{
		"PATH=" + g.safePath(c.repo), "LC_ALL=C", "LANGUAGE=C", "TERM=dumb",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_PAGER=cat",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_SSH_COMMAND=false",
	}
	dir := string(filepath.Separator)
	if c.own && g.home != "" {
		env = append(env, "HOME="+g.home)
		if x := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(x) {
			env = append(env, "XDG_CONFIG_HOME="+x)
		}
	} else {
		env = append(env, "HOME="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ATTR_NOSYSTEM=1")
	}
	if c.repo != nil {
		dir = c.repo.folder
		env = append(env, "GIT_DIR="+c.repo.dir, "GIT_WORK_TREE="+c.repo.top)
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	res, err := g.run(ctx, process.Spec{
		Argv: argv, Dir: dir, Env: append(env, c.env...), Stdin: c.stdin, Split: true,
		Head: maxOutput, Tail: 1 << 10, OutputMax: maxOutput, Timeout: g.timeout,
	})
	switch {
	case err != nil:
		return output{}, domain.Errorf(domain.CodeUnavailable, "git could not be started: %w", err)
	case res.Cancelled && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return output{}, ctx.Err()
	case res.TimedOut || res.Cancelled:
		return output{}, domain.Errorf(domain.CodeUnavailable, "git %s took longer than %s and was stopped", c.args[0], g.timeout).
			WithHint("The repository may lie on a slow disk, or its configuration may be broken.")
	case res.Report.KilledBy == "output" || res.Dropped > 0:
		return output{}, domain.Errorf(domain.CodeTooLarge, "git %s says more than %d bytes", c.args[0], maxOutput)
	}
	return output{res.Code, res.Stdout, strings.TrimSpace(string(res.Stderr))}, nil
}

// must is exec that takes an exit code other than 0 for an error.
func (g *Git) must(ctx context.Context, c call) ([]byte, error) {
	out, err := g.exec(ctx, c)
	if err != nil {
		return nil, err
	}
	if out.code != 0 {
		return nil, said(c.args[0], out)
	}
	return out.stdout, nil
}

// said is an error in git's own words.
func said(verb string, out output) error {
	msg := process.Clean([]byte(out.stderr))
	if msg == "" {
		msg = "no reason given"
	}
	return domain.Errorf(domain.CodeConflict, "git %s: %s", verb, msg)
}

// binary finds git, never inside the repository.
func (g *Git) binary(r *Repo) (string, error) {
	bin, err := process.LookPath("git", g.safePath(r))
	if err != nil {
		return "", domain.Errorf(domain.CodeUnavailable, "git is not installed").
			WithHint("Install git to commit from here; everything else works without it.")
	}
	return bin, nil
}

// safePath is the PATH without relative folders and those of the repository.
func (g *Git) safePath(r *Repo) string {
	var out []string
	for _, d := range filepath.SplitList(g.path) {
		if !filepath.IsAbs(d) || r != nil && (within(r.top, d) || within(r.folder, d)) {
			continue
		}
		out = append(out, d)
	}
	return strings.Join(out, string(filepath.ListSeparator))
}

func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// filters returns settings that switch off every content filter that is configured,
// and their names. Listing the configuration starts nothing.
func (g *Git) filters(ctx context.Context, r *Repo, own bool) (off []string, names []string, err error) {
	out, err := g.exec(ctx, call{repo: r, own: own, args: []string{"config", "-z", "--name-only", "--get-regexp", `^filter\.`}})
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for key := range bytes.SplitSeq(out.stdout, []byte{0}) {
		k := string(key)
		i, j := strings.IndexByte(k, '.'), strings.LastIndexByte(k, '.')
		if i < 0 || j <= i {
			continue
		}
		name := k[i+1 : j]
		if seen[name] {
			continue
		}
		seen[name] = true
		names = append(names, name)
		if strings.ContainsAny(name, "=\n") {
			return nil, nil, domain.Errorf(domain.CodeForbidden, "the repository configures a content filter with the name %q, which cannot be switched off", name)
		}
		p := "filter." + name
		off = append(off, p+".clean=", p+".smudge=", p+".process=", p+".required=false")
	}
	return off, names, nil
}
