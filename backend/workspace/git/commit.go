package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"worksite/backend/domain"
)

// Commit is what to commit.
type Commit struct {
	Paths   []string // relative to the folder, slash-separated; deleted files too
	Message string
	Branch  string // a new branch to make and go to; "" stays on the current one
}

// Commit records exactly the given paths as they are on the disk, under the
// person's own name, and returns the commit. Nothing else that is staged goes in,
// no hook runs and nothing is signed. On an error nothing was committed; the paths
// may be staged.
func (g *Git) Commit(ctx context.Context, folder string, c Commit) (string, error) {
	r, err := g.Find(folder)
	if errors.Is(err, ErrNone) {
		return "", domain.Errorf(domain.CodeNotFound, "%s is in no Git repository", folder).WithHint("Accept the changes without committing, or make it a repository with git init.")
	}
	if err != nil {
		return "", err
	}
	if err := g.checkCommit(ctx, r, &c); err != nil {
		return "", err
	}
	who, err := g.identity(ctx, r)
	if err != nil {
		return "", err
	}
	if err := g.refuseIgnored(ctx, r, c.Paths); err != nil {
		return "", err
	}
	off, err := g.refuseFilters(ctx, r, c.Paths)
	if err != nil {
		return "", err
	}
	k := committer{g: g, r: r, off: off, who: who}
	return k.commit(ctx, c)
}

func (g *Git) checkCommit(ctx context.Context, r *Repo, c *Commit) error {
	switch {
	case len(c.Paths) == 0:
		return domain.Errorf(domain.CodeInvalid, "no files were named to commit")
	case strings.TrimSpace(c.Message) == "":
		return domain.Errorf(domain.CodeInvalid, "the commit message is empty").WithHint("Say in a line what the change does.")
	case !r.pointsBack():
		return domain.Errorf(domain.CodeForbidden, "the .git file of %s points to a repository that does not know this folder", r.top).
			WithHint("Repair it with git worktree repair, or commit by yourself.")
	}
	for _, p := range c.Paths {
		if p == "" || strings.ContainsRune(p, 0) || !filepath.IsLocal(filepath.FromSlash(p)) {
			return domain.Errorf(domain.CodeInvalid, "%q is no path inside the folder", p)
		}
	}
	if what := r.underWay(); what != "" {
		return domain.Errorf(domain.CodeConflict, "%s is under way in the repository", what).WithHint("Finish or abort it with git first, then commit from here.")
	}
	if c.Branch != "" {
		out, err := g.exec(ctx, call{repo: r, args: []string{"check-ref-format", "--branch", c.Branch}})
		if err != nil {
			return err
		}
		if out.code != 0 || strings.TrimSpace(string(out.stdout)) != c.Branch {
			return domain.Errorf(domain.CodeInvalid, "%q is not a name for a branch", c.Branch)
		}
	}
	return nil
}

// identity reads the person's name and address as git would, and nothing else of
// their settings.
func (g *Git) identity(ctx context.Context, r *Repo) ([]string, error) {
	get := func(key string) (string, error) {
		out, err := g.exec(ctx, call{repo: r, own: true, args: []string{"config", "--get", key}})
		return strings.TrimSpace(string(out.stdout)), err
	}
	name, err := get("user.name")
	if err != nil {
		return nil, err
	}
	mail, err := get("user.email")
	if err != nil {
		return nil, err
	}
	if name == "" || mail == "" {
		return nil, domain.Errorf(domain.CodeUnavailable, "git does not know your name and e-mail address").
			WithHint(`Tell it once: git config --global user.name "Your Name", git config --global user.email you@example.org`)
	}
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail}, nil
}

// refuseIgnored keeps files out that the person told git to leave alone; tracked
// ones count as theirs.
func (g *Git) refuseIgnored(ctx context.Context, r *Repo, paths []string) error {
	dotted := make([]string, len(paths))
	for i, p := range paths {
		dotted[i] = "./" + p // so that a leading ":" means nothing
	}
	out, err := g.exec(ctx, call{repo: r, own: true, plain: true, stdin: zeroTerminated(dotted), args: []string{"check-ignore", "-z", "--stdin"}})
	switch {
	case err != nil:
		return err
	case out.code == 0:
		first, _, _ := bytes.Cut(out.stdout, []byte{0})
		return domain.Errorf(domain.CodeForbidden, "%s is ignored by git", bytes.TrimPrefix(first, []byte("./"))).WithHint("Leave it out, or add it with git add --force yourself.")
	case out.code > 1:
		return said("check-ignore", out)
	}
	return nil
}

// refuseFilters switches all filters off and refuses paths that would need one:
// what it makes of the content cannot be known without running it.
func (g *Git) refuseFilters(ctx context.Context, r *Repo, paths []string) ([]string, error) {
	off, names, err := g.filters(ctx, r, true)
	if err != nil {
		return nil, err
	}
	raw, err := g.must(ctx, call{repo: r, own: true, extra: off, stdin: zeroTerminated(paths), args: []string{"check-attr", "-z", "--stdin", "filter"}})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	fields := bytes.Split(raw, []byte{0})
	for i := 0; i+2 < len(fields); i += 3 {
		if v := string(fields[i+2]); known[v] || v == "lfs" {
			return nil, domain.Errorf(domain.CodeForbidden, "%s goes through the content filter %q, which is not run from here", fields[i], v).
				WithHint("Commit this file with git yourself.")
		}
	}
	return off, nil
}

func zeroTerminated(paths []string) *strings.Reader {
	return strings.NewReader(strings.Join(paths, "\x00") + "\x00")
}

// committer builds one commit with an index of its own.
type committer struct {
	g   *Git
	r   *Repo
	off []string
	who []string
}

func (k *committer) git(ctx context.Context, env []string, stdin *strings.Reader, args ...string) (string, error) {
	c := call{repo: k.r, own: true, extra: k.off, env: env, args: args}
	if stdin != nil {
		c.stdin = stdin
	}
	raw, err := k.g.must(ctx, c)
	return strings.TrimSpace(string(raw)), err
}

func (k *committer) commit(ctx context.Context, c Commit) (string, error) {
	head, err := k.g.exec(ctx, call{repo: k.r, args: []string{"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}})
	if err != nil {
		return "", err
	}
	parent := strings.TrimSpace(string(head.stdout))
	if head.code != 0 {
		parent = ""
	}
	tmp, err := os.MkdirTemp(k.r.dir, "worksite-index-")
	if err != nil {
		return "", domain.Errorf(domain.CodeForbidden, "the repository cannot be written to: %w", err).WithHint("Check the permissions of its .git folder.")
	}
	defer os.RemoveAll(tmp)
	own := []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}
	if parent != "" {
		if _, err := k.git(ctx, own, nil, "read-tree", parent); err != nil {
			return "", err
		}
	}
	if _, err := k.git(ctx, own, zeroTerminated(c.Paths), "update-index", "-z", "--add", "--remove", "--stdin"); err != nil {
		return "", err
	}
	tree, err := k.git(ctx, own, nil, "write-tree")
	if err != nil {
		return "", err
	}
	if err := k.anything(ctx, parent, tree); err != nil {
		return "", err
	}
	// The person's own index comes before the commit: should we be killed in between,
	// the files are staged, which harms nothing.
	if err := k.stage(ctx, c.Paths); err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree, "-F", "-"}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	id, err := k.git(ctx, k.who, strings.NewReader(strings.TrimRight(c.Message, "\n\r\t ")+"\n"), args...)
	if err != nil {
		return "", err
	}
	return id, k.move(ctx, c, parent, id)
}

// anything refuses an empty commit.
func (k *committer) anything(ctx context.Context, parent, tree string) error {
	was := ""
	if parent != "" {
		t, err := k.git(ctx, nil, nil, "rev-parse", "--verify", parent+"^{tree}")
		if err != nil {
			return err
		}
		was = t
	} else if t, err := k.git(ctx, nil, strings.NewReader(""), "mktree"); err == nil {
		was = t
	}
	if was == tree {
		return domain.Errorf(domain.CodeConflict, "there is nothing to commit: the files are as in the last commit")
	}
	return nil
}

// lockPatience is how long another git may hold the index.
const lockPatience = 3 * time.Second

// stage puts the paths into the person's index, waiting for a git that is at work.
func (k *committer) stage(ctx context.Context, paths []string) error {
	lock := filepath.Join(k.r.dir, "index.lock")
	for deadline := time.Now().Add(lockPatience); ; {
		_, err := k.git(ctx, nil, zeroTerminated(paths), "update-index", "-z", "--add", "--remove", "--stdin")
		if err == nil {
			return nil
		}
		if _, lerr := os.Lstat(lock); lerr != nil {
			return err
		}
		if time.Now().After(deadline) {
			return domain.Errorf(domain.CodeConflict, "another git holds %s", lock).WithHint("Wait for it to end. If none runs, remove that file.")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// move makes the branch point to the new commit, if it still is where it was.
func (k *committer) move(ctx context.Context, c Commit, parent, id string) error {
	old := parent
	if old == "" {
		old = strings.Repeat("0", len(id))
	}
	subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	note := "commit: " + subject
	if c.Branch == "" {
		_, err := k.git(ctx, k.who, nil, "update-ref", "-m", note, "HEAD", id, old)
		return err
	}
	ref := "refs/heads/" + c.Branch
	if _, err := k.git(ctx, k.who, nil, "update-ref", "-m", note, ref, id, strings.Repeat("0", len(id))); err != nil {
		return domain.Errorf(domain.CodeConflict, "the branch %s exists already: %w", c.Branch, err).WithHint("Choose another name.")
	}
	_, err := k.git(ctx, k.who, nil, "symbolic-ref", "-m", "checkout: moving to "+c.Branch, "HEAD", ref)
	return err
}

// Init makes a folder a repository with everything in it as its first commit, under
// the given name: for folders that this app itself has made.
func (g *Git) Init(ctx context.Context, folder, name, mail, message string) error {
	if _, err := g.Find(folder); err == nil {
		return domain.Errorf(domain.CodeConflict, "%s is in a Git repository already", folder)
	}
	r := &Repo{folder: folder, top: folder, dir: filepath.Join(folder, ".git"), common: filepath.Join(folder, ".git")}
	who := []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail}
	for _, c := range []call{
		{repo: r, args: []string{"init", "-q", "--template=", "--initial-branch=main"}},
		{repo: r, args: []string{"add", "-A"}},
		{repo: r, env: who, args: []string{"commit", "-q", "--no-verify", "--no-gpg-sign", "-F", "-"}, stdin: strings.NewReader(message + "\n")},
	} {
		if _, err := g.must(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
