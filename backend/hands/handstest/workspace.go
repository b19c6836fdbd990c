// Package handstest has a workspace for the tests of hands: a real folder that
// keeps the contract of hands.Workspace in the simplest way that is right.
// It is imported from tests only.
package handstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"worksite/backend/capability"
	"worksite/backend/domain"
	"worksite/backend/hands"
)

// Workspace is a folder that a test made. Ignored lists path prefixes that Walk
// leaves out unless asked for. Guarded lists protected paths.
type Workspace struct {
	Dir     string
	Ignored []string
	Guarded []string
	Pre     map[string][]byte // pre-images by hash
	Bases   int
	MaxRead int64
	based   map[domain.SessionID]bool
	root    *os.Root
}

// New makes a workspace with files, given as path and content.
func New(t testing.TB, files map[string]string) *Workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	w := &Workspace{Dir: dir, Pre: map[string][]byte{}, based: map[domain.SessionID]bool{}, root: root, MaxRead: 8 << 20}
	for name, content := range files {
		w.Put(t, name, content)
	}
	return w
}

// Put writes a file behind the hands' back.
func (w *Workspace) Put(t testing.TB, rel, content string) {
	t.Helper()
	full := filepath.Join(w.Dir, filepath.FromSlash(rel))
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// Get reads a file, "" when it is not there.
func (w *Workspace) Get(rel string) string {
	b, _ := os.ReadFile(filepath.Join(w.Dir, filepath.FromSlash(rel)))
	return string(b)
}

// Remove deletes a file behind the hands' back.
func (w *Workspace) Remove(rel string) error { return w.root.Remove(rel) }

// Open is a hands.OpenFunc.
func (w *Workspace) Open(_ context.Context, id domain.WorkspaceID) (hands.Workspace, error) {
	if id != w.ID() {
		return nil, domain.Errorf(domain.CodeNotFound, "no workspace %s", id)
	}
	return w, nil
}

// ID implements hands.Workspace.
func (w *Workspace) ID() domain.WorkspaceID { return "wsp_test" }

// Root implements hands.Reader.
func (w *Workspace) Root() string { return w.Dir }

// Resolve implements hands.Reader.
func (w *Workspace) Resolve(p string) (string, error) {
	if !filepath.IsAbs(p) {
		p = filepath.Join(w.Dir, p)
	}
	rel, err := filepath.Rel(w.Dir, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", domain.Errorf(domain.CodeForbidden, "%s is outside of the workspace", p)
	}
	return filepath.ToSlash(rel), nil
}

// ReadFile implements hands.Reader.
func (w *Workspace) ReadFile(rel string) ([]byte, hands.Image, error) {
	info, err := w.root.Stat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hands.Image{}, domain.Errorf(domain.CodeNotFound, "there is no %s", rel)
	}
	if err != nil {
		return nil, hands.Image{}, err
	}
	if info.Size() > w.MaxRead {
		return nil, hands.Image{}, domain.Errorf(domain.CodeTooLarge, "%s is too large", rel)
	}
	b, err := w.root.ReadFile(rel)
	return b, hands.Image{Hash: domain.HashBytes(b), Size: info.Size(), Mode: info.Mode()}, err
}

// ReadDir implements hands.Reader.
func (w *Workspace) ReadDir(rel string) ([]fs.DirEntry, error) { return fs.ReadDir(w.root.FS(), rel) }

// Walk implements hands.Reader.
func (w *Workspace) Walk(ctx context.Context, rel string, ignored bool, fn func(string, fs.DirEntry) error) error {
	return fs.WalkDir(w.root.FS(), rel, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if !ignored && slices.ContainsFunc(w.Ignored, func(i string) bool { return p == i || strings.HasPrefix(p, i+"/") }) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if p == rel {
			return nil
		}
		return fn(p, d)
	})
}

// WriteFile implements hands.Writer.
func (w *Workspace) WriteFile(_ context.Context, rel string, expect domain.Hash, content []byte, mode fs.FileMode) (domain.FileImage, error) {
	var now domain.Hash
	b, err := w.root.ReadFile(rel)
	if err == nil {
		now = domain.HashBytes(b)
	}
	if now != expect {
		return domain.FileImage{}, domain.Errorf(domain.CodeConflict, "%s is no longer as expected", rel)
	}
	w.Pre[now.String()] = b
	if dir := path.Dir(rel); dir != "." {
		if err := w.root.MkdirAll(dir, 0o755); err != nil {
			return domain.FileImage{}, err
		}
	}
	if err := w.root.WriteFile(rel, content, mode.Perm()); err != nil {
		return domain.FileImage{}, err
	}
	return domain.FileImage{Path: rel, Pre: now, Post: domain.HashBytes(content)}, nil
}

// Protected implements hands.Writer.
func (w *Workspace) Protected(rel string) (bool, string) {
	if slices.Contains(w.Guarded, rel) {
		return true, "the test says so"
	}
	return false, ""
}

// Base implements hands.Observer.
func (w *Workspace) Base(_ context.Context, session domain.SessionID) (domain.WorkspaceBased, bool, error) {
	fresh := !w.based[session]
	if fresh {
		w.Bases++
	}
	w.based[session] = true
	return domain.WorkspaceBased{V: 1, Snapshot: "snap"}, fresh, nil
}

// Scan implements hands.Observer.
func (w *Workspace) Scan(ctx context.Context) (hands.Tree, error) {
	t := Tree{}
	err := w.Walk(ctx, ".", false, func(rel string, d fs.DirEntry) error {
		if d.Type().IsRegular() {
			b, err := w.root.ReadFile(rel)
			if err != nil {
				return err
			}
			t[rel] = domain.HashBytes(b)
		}
		return nil
	})
	return t, err
}

// Tree maps paths to hashes.
type Tree map[string]domain.Hash

// Hash implements hands.Tree.
func (t Tree) Hash() domain.Hash {
	var b bytes.Buffer
	for _, p := range slices.Sorted(maps.Keys(t)) {
		b.WriteString(p + "\x00" + t[p].String() + "\n")
	}
	return domain.HashBytes(b.Bytes())
}

// Changes implements hands.Tree.
func (t Tree) Changes(after hands.Tree) []domain.FileImage {
	a := after.(Tree)
	both := maps.Clone(t)
	maps.Copy(both, a)
	var out []domain.FileImage
	for _, p := range slices.Sorted(maps.Keys(both)) {
		if t[p] != a[p] {
			out = append(out, domain.FileImage{Path: p, Pre: t[p], Post: a[p]})
		}
	}
	return out
}

// Caller calls one hand through a registry, as the harness does.
type Caller struct {
	Registry    *capability.Registry
	Name        string
	Session     domain.SessionID
	Workspace   domain.WorkspaceID // "": that of New
	Unsandboxed bool
	Live        bytes.Buffer
}

// NewCaller registers h.
func NewCaller(h capability.Hand) *Caller {
	r := capability.New()
	r.Register(h)
	return &Caller{Registry: r, Name: h.Spec().Name, Session: "ses_test"}
}

// Call makes a domain.HandCall from name and value pairs.
func (c *Caller) Call(args map[string]any) domain.HandCall {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	id := c.Workspace
	if id == "" {
		id = "wsp_test"
	}
	return domain.HandCall{
		Session: c.Session, Run: "run_test", CallID: domain.NewCallID(), Attempt: 1, Workspace: id,
		Input: raw, Unsandboxed: c.Unsandboxed,
	}
}

// Prepare prepares a call.
func (c *Caller) Prepare(ctx context.Context, args map[string]any) (*domain.PreparedCall, error) {
	return c.Registry.Prepare(ctx, c.Name, c.Call(args))
}

// Execute executes a prepared call.
func (c *Caller) Execute(ctx context.Context, p *domain.PreparedCall) (domain.HandResult, error) {
	return c.Registry.Execute(ctx, c.Name, p, func(b []byte) { c.Live.Write(b) })
}

// Do prepares and executes.
func (c *Caller) Do(ctx context.Context, args map[string]any) (domain.HandResult, error) {
	p, err := c.Prepare(ctx, args)
	if err != nil {
		return domain.HandResult{}, err
	}
	return c.Execute(ctx, p)
}
