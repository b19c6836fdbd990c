package workspace

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"worksite/backend/blob"
	"worksite/backend/domain"
	"worksite/backend/workspace/rooted"
	"worksite/backend/workspace/scan"
)

// Image is a version of a file: hash, size, mode, and the target of a symlink.
type Image = rooted.Image

// MaxRead is how much of a file is read at once, bytes.
const MaxRead = 16 << 20

// Handle is an open workspace. All reading and writing of its files goes through
// it and cannot leave the folder. It stays with the folder; when the folder is
// moved or replaced, what would write is refused. Close it when it is not needed.
type Handle struct {
	id    domain.WorkspaceID
	root  *rooted.Root
	blobs *blob.Store
	data  string // the app's data folder, when it lies inside; it cannot, unless it was moved there
}

// Handle opens a workspace whose folder is where it should be.
func (s *Store) Handle(ctx context.Context, id domain.WorkspaceID) (*Handle, error) {
	w, err := s.row(ctx, id)
	if err != nil {
		return nil, err
	}
	if loc := s.locate(ctx, w); loc.State != StatePresent {
		code := domain.CodeNotFound
		if loc.State == StateReplaced {
			code = domain.CodeConflict
		}
		return nil, domain.Errorf(code, "the folder of workspace %q is not there: %s", w.Name, loc.Detail).
			WithHint("Link the workspace to its folder again; the sessions can be read in the meantime.")
	}
	root, err := rooted.Open(w.Path)
	if err != nil {
		return nil, err
	}
	h := &Handle{id: id, root: root, blobs: s.blobs}
	if rel, err := filepath.Rel(w.Path, s.dir); err == nil && filepath.IsLocal(rel) {
		h.data = filepath.ToSlash(rel)
	}
	if marks := marksOf(w.Path); !slices.Equal(marks, w.print.marks) { // what it is known by grows with it
		w.print.marks = marks
		if _, err := s.db.ExecContext(ctx, "UPDATE workspace SET marks = ? WHERE id = ?", encodeMarks(marks), id); err != nil {
			_ = root.Close()
			return nil, err
		}
	}
	return h, nil
}

// Close releases the folder.
func (h *Handle) Close() error { return h.root.Close() }

// Root is the folder's absolute path.
func (h *Handle) Root() string { return h.root.Path() }

// ID names the workspace.
func (h *Handle) ID() domain.WorkspaceID { return h.id }

// Check reports whether the folder that is open is still the one at its path.
func (h *Handle) Check() error {
	open, err := h.root.FS().Stat(".")
	if err == nil {
		var named fs.FileInfo
		if named, err = os.Lstat(h.root.Path()); err == nil && os.SameFile(open, named) {
			return nil
		}
	}
	return domain.Errorf(domain.CodeConflict, "the folder %s was moved, removed or replaced", h.root.Path()).
		WithHint("Put it back, or link the workspace to where it is now.")
}

// Resolve turns a path as a model or person writes it (relative to the folder, or
// absolute inside it) into the slash-separated path of the file it means, with
// links that stay inside resolved. What leads outside is CodeForbidden.
func (h *Handle) Resolve(path string) (string, error) {
	rel, err := h.root.Local(path)
	if err != nil {
		return "", err
	}
	return h.root.Real(rel)
}

// ReadFile returns a file of at most [MaxRead] bytes.
func (h *Handle) ReadFile(rel string) ([]byte, Image, error) {
	real, err := h.Resolve(rel)
	if err != nil {
		return nil, Image{}, err
	}
	return h.root.Read(real, MaxRead)
}

// ReadDir lists a folder, sorted by name.
func (h *Handle) ReadDir(rel string) ([]fs.DirEntry, error) {
	real, err := h.Resolve(rel)
	if err != nil {
		return nil, err
	}
	f, err := h.root.FS().Open(filepath.FromSlash(real))
	if err != nil {
		return nil, rooted.Explain("list", rel, err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, rooted.Explain("list", rel, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Walk calls fn for everything below rel, folders before their content, in lexical
// order. .git is left out, and what .gitignore excludes unless ignored. fn may
// return fs.SkipDir or fs.SkipAll.
func (h *Handle) Walk(ctx context.Context, rel string, ignored bool, fn func(rel string, d fs.DirEntry) error) error {
	real, err := h.Resolve(rel)
	if err != nil {
		return err
	}
	return scan.Walk(ctx, h.root, real, ignored, fn)
}

// WriteFile writes one file: pre-image durable first, atomic, flushed, its mode
// kept (mode is for a new file, 0644 when 0). expect is the version to replace, as
// it was read; zero when there must be none. Another version is CodeConflict and
// carries a [rooted.Changed] with the fresh hash. Missing folders are created.
func (h *Handle) WriteFile(ctx context.Context, rel string, expect domain.Hash, content []byte, mode fs.FileMode) (domain.FileImage, error) {
	real, err := h.writable(rel)
	if err != nil {
		return domain.FileImage{}, err
	}
	// The new version is kept too: a later restore tells by it what the person changed
	// since. Nothing depends on its order, so both are flushed at once.
	// Should only this fail, the write stands: the version is in the folder itself.
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = h.blobs.PutBytes(ctx, content) })
	pre, post, err := h.root.Put(ctx, real, rooted.Put{Expect: expect, Content: content, Mode: mode, Keep: h.keep})
	wg.Wait()
	if err != nil {
		return domain.FileImage{}, err
	}
	return imageOf(real, pre, post), nil
}

// Remove removes one file, whose version must be expect; its bytes stay in the
// pre-image store.
func (h *Handle) Remove(ctx context.Context, rel string, expect domain.Hash) (domain.FileImage, error) {
	real, err := h.writable(rel)
	if err != nil {
		return domain.FileImage{}, err
	}
	pre, err := h.root.Remove(ctx, real, expect, h.keep, nil)
	if err != nil {
		return domain.FileImage{}, err
	}
	return imageOf(real, pre, Image{}), nil
}

// writable resolves a path to write, and refuses what is protected by either name.
func (h *Handle) writable(rel string) (string, error) {
	if err := h.Check(); err != nil {
		return "", err
	}
	local, err := h.root.Local(rel)
	if err != nil {
		return "", err
	}
	real, err := h.root.Real(local)
	if err != nil {
		return "", err
	}
	for _, p := range []string{local, real} {
		if yes, why := h.Protected(p); yes {
			return "", domain.Errorf(domain.CodeForbidden, "%s is protected: %s", p, why)
		}
	}
	return real, nil
}

// keep stores a version durably before it is replaced.
func (h *Handle) keep(ctx context.Context, img Image, content io.Reader) error {
	if ok, err := h.blobs.Renew(img.Hash, img.Size); ok || err != nil {
		return err
	}
	got, _, err := h.blobs.Put(ctx, content)
	if err == nil && got != img.Hash {
		return domain.Errorf(domain.CodeConflict, "the file changed while it was kept").WithHint("Try again; nothing was written.")
	}
	return err
}

// protectedTop are paths, in lower case, that tools on this machine act on without
// asking; a final slash means everything below a folder.
var protectedTop = map[string]string{
	".envrc":     "a shell runs it when somebody enters the folder",
	".mcp.json":  "it names programs that are started as tools",
	".vscode/":   "an editor runs its tasks and settings",
	".idea/":     "an editor runs its tasks and settings",
	".husky/":    "Git runs it as a hook",
	".githooks/": "Git may run it as a hook",
	".worksite/": "it holds this app's own rules and settings for the folder",
}

// Protected reports paths that hands never write, and why. A person may still
// review what a command did to them.
func (h *Handle) Protected(rel string) (bool, string) {
	if scan.InGit(rel) {
		return true, "it is Git's own data; use git for that"
	}
	lower := strings.ToLower(rel)
	top, _, below := strings.Cut(lower, "/")
	if why := protectedTop[top]; why != "" && !below {
		return true, why
	}
	if why := protectedTop[top+"/"]; why != "" {
		return true, why
	}
	if h.data != "" && (rel == h.data || strings.HasPrefix(rel, h.data+"/")) {
		return true, "it is this app's own data"
	}
	return false, ""
}

// imageOf is the ledger's form of a version before and after.
func imageOf(rel string, pre, post Image) domain.FileImage {
	return domain.FileImage{Path: rel, Pre: pre.Hash, Post: post.Hash, PreMode: pre.UnixMode(), PostMode: post.UnixMode()}
}
