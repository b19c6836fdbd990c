package git

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
)

// Status is what a person wants to know of a repository at a glance.
type Status struct {
	Branch   string // "" when detached
	Commit   string // "" when unborn
	Changed  int    // files that differ from the last commit, new ones included
	Detached bool
	Unborn   bool // no commit yet
	Upstream string
	Ahead    int
	Behind   int
	Conflict int    // files of Changed with merge conflicts
	UnderWay string // "a merge", "a rebase", … begun and not ended
}

// Status looks at the repository of a folder; nil without error when there is none
// or git is not installed.
func (g *Git) Status(ctx context.Context, folder string) (*Status, error) {
	r, err := g.Find(folder)
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := g.binary(r); err != nil {
		return nil, nil //nolint:nilerr // without git there is no status
	}
	off, _, err := g.filters(ctx, r, false)
	if err != nil {
		return nil, err
	}
	raw, err := g.must(ctx, call{repo: r, extra: off, args: []string{
		"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames", "--", r.folder,
	}})
	if err != nil {
		return nil, err
	}
	st := parseStatus(raw)
	st.UnderWay = r.underWay()
	return st, nil
}

func parseStatus(raw []byte) *Status {
	st := &Status{}
	for rec := range bytes.SplitSeq(raw, []byte{0}) {
		s := string(rec)
		switch {
		case s == "":
		case strings.HasPrefix(s, "# branch.oid "):
			if st.Commit = s[len("# branch.oid "):]; st.Commit == "(initial)" {
				st.Commit, st.Unborn = "", true
			}
		case strings.HasPrefix(s, "# branch.head "):
			if st.Branch = s[len("# branch.head "):]; st.Branch == "(detached)" {
				st.Branch, st.Detached = "", true
			}
		case strings.HasPrefix(s, "# branch.upstream "):
			st.Upstream = s[len("# branch.upstream "):]
		case strings.HasPrefix(s, "# branch.ab "):
			if f := strings.Fields(s[len("# branch.ab "):]); len(f) == 2 {
				st.Ahead, _ = strconv.Atoi(f[0])
				st.Behind, _ = strconv.Atoi(strings.TrimPrefix(f[1], "-"))
			}
		case s[0] == 'u':
			st.Changed++
			st.Conflict++
		case s[0] == '1', s[0] == '2', s[0] == '?':
			st.Changed++
		}
	}
	return st
}

// Origin returns what tells a repository from others wherever it lies: its first
// commit and the address it was cloned from, without credentials. Both are "" when
// there is no repository, or git takes too long.
func (g *Git) Origin(ctx context.Context, folder string) (first, remote string) {
	r, err := g.Find(folder)
	if err != nil {
		return "", ""
	}
	if r.top != folder {
		return "", "" // a folder inside a repository is told apart by what it holds
	}
	if _, commit := r.Head(); commit != "" {
		out, err := g.exec(ctx, call{repo: r, args: []string{"rev-list", "--max-parents=0", "HEAD", "--"}})
		if err == nil && out.code == 0 {
			// The oldest comes last: a history joined in later does not change it.
			lines := strings.Fields(string(out.stdout))
			if len(lines) > 0 {
				first = lines[len(lines)-1]
			}
		}
	}
	out, err := g.exec(ctx, call{repo: r, args: []string{"config", "--get", "remote.origin.url"}})
	if err == nil && out.code == 0 {
		remote = stripCredentials(strings.TrimSpace(string(out.stdout)))
	}
	return first, remote
}

// stripCredentials takes user and password out of an address.
func stripCredentials(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	return scheme + "://" + host + "/" + path
}
