package workspace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"worksite/backend/domain"
	"worksite/backend/workspace/scan"
)

// GatedFile is a file of the folder that is loaded only after trust.
type GatedFile struct {
	Path string      // inside the workspace, slash-separated
	Hash domain.Hash // of its content; zero when it cannot be read
	Kind string      // "instructions", "settings", "skill" or "tools"
}

// gatedTop are the files at the top of a folder that are loaded after trust, in lower case.
var gatedTop = map[string]string{
	"agents.md": "instructions",
	"claude.md": "instructions",
	"gemini.md": "instructions",
	".mcp.json": "tools",
}

// gatedFolder holds settings, skills and tools of this app.
const gatedFolder = ".worksite"

// maxGated bounds how many files of a folder are gated; what is over the bound is
// never loaded.
const maxGated = 500

// Gated lists what would be loaded from the folder after trust, sorted by path.
func (s *Store) Gated(ctx context.Context, id domain.WorkspaceID) ([]GatedFile, error) {
	h, err := s.Handle(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return gated(ctx, h)
}

func gated(ctx context.Context, h *Handle) ([]GatedFile, error) {
	var out []GatedFile
	add := func(rel, kind string) error {
		if len(out) >= maxGated {
			return fs.SkipAll
		}
		g := GatedFile{Path: rel, Kind: kind}
		if _, img, err := h.ReadFile(rel); err == nil {
			g.Hash = img.Hash
		} else if domain.CodeOf(err) == domain.CodeInvalid {
			return nil // a folder or pipe of that name is not loaded
		}
		out = append(out, g)
		return nil
	}
	top, err := h.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, d := range top {
		lower := strings.ToLower(d.Name())
		if kind := gatedTop[lower]; kind != "" && !d.IsDir() {
			if err := add(d.Name(), kind); err != nil {
				break
			}
		}
		if lower != gatedFolder || !d.IsDir() {
			continue
		}
		err := scan.Walk(ctx, h.root, d.Name(), true, func(rel string, d fs.DirEntry) error {
			if d.IsDir() {
				return nil
			}
			return add(rel, gatedKind(rel))
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b GatedFile) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func gatedKind(rel string) string {
	lower := strings.ToLower(rel)
	switch {
	case strings.Contains(lower, "/skills/"):
		return "skill"
	case path.Ext(lower) == ".md":
		return "instructions"
	}
	return "settings"
}

// Trust lets a folder's gated files be loaded exactly as they are now, or takes
// that back. What a sandbox allows is not touched by it.
func (s *Store) Trust(ctx context.Context, id domain.WorkspaceID, yes bool) error {
	if !yes {
		if _, err := s.db.ExecContext(ctx, "DELETE FROM trust WHERE workspace = ?", id); err != nil {
			return fmt.Errorf("take trust back: %w", err)
		}
		return nil
	}
	files, err := s.Gated(ctx, id)
	if err != nil {
		return err
	}
	return s.trust(ctx, id, files)
}

// TrustShown is Trust for exactly the files that the person was shown; when any of
// them has changed since, it is refused.
func (s *Store) TrustShown(ctx context.Context, id domain.WorkspaceID, shown []GatedFile) error {
	now, err := s.Gated(ctx, id)
	if err != nil {
		return err
	}
	if !slices.Equal(now, shown) {
		return domain.Errorf(domain.CodeConflict, "the files to trust have changed since they were shown").WithHint("Look at them again.")
	}
	return s.trust(ctx, id, shown)
}

func (s *Store) trust(ctx context.Context, id domain.WorkspaceID, files []GatedFile) error {
	err := s.db.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM trust WHERE workspace = ?", id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO trust (workspace, at) VALUES (?, ?)", id, s.now().UnixMicro()); err != nil {
			return err
		}
		for _, f := range files {
			if _, err := tx.ExecContext(ctx, "INSERT INTO trusted_file (workspace, path, hash) VALUES (?, ?, ?)", id, f.Path, hashText(f.Hash)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("trust workspace: %w", err)
	}
	return nil
}

// Trusted reports whether the folder is trusted with exactly what is in it now:
// any gated file that was added, changed or removed since asks anew.
func (s *Store) Trusted(ctx context.Context, id domain.WorkspaceID) (bool, error) {
	was, ok, err := s.trustedFiles(ctx, id)
	if err != nil || !ok {
		return false, err
	}
	now, err := s.Gated(ctx, id)
	if err != nil {
		return false, err
	}
	if len(now) != len(was) {
		return false, nil
	}
	for _, f := range now {
		if h, ok := was[f.Path]; !ok || h != f.Hash || h.IsZero() {
			return false, nil
		}
	}
	return true, nil
}

func (s *Store) trustedFiles(ctx context.Context, id domain.WorkspaceID) (map[string]domain.Hash, bool, error) {
	var at int64
	err := s.db.QueryRowContext(ctx, "SELECT at FROM trust WHERE workspace = ?", id).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read trust: %w", err)
	}
	files := map[string]domain.Hash{}
	err = s.db.each(ctx, "SELECT path, hash FROM trusted_file WHERE workspace = ?", []any{id}, func(scan func(...any) error) error {
		var p string
		var h domain.Hash
		if err := scan(&p, scanHash{&h}); err != nil {
			return err
		}
		files[p] = h
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("read trust: %w", err)
	}
	return files, true, nil
}

// ReadTrusted returns a gated file's content if it is the very content that was
// trusted: between the look at the list and the reading nothing can slip in.
func (s *Store) ReadTrusted(ctx context.Context, h *Handle, rel string) ([]byte, error) {
	was, _, err := s.trustedFiles(ctx, h.id)
	if err != nil {
		return nil, err
	}
	b, img, err := h.ReadFile(rel)
	if err != nil {
		return nil, err
	}
	if want, ok := was[rel]; !ok || want != img.Hash {
		return nil, domain.Errorf(domain.CodeForbidden, "%s is not loaded: this content of it was not trusted", rel).
			WithHint("Look at the file and trust the workspace again.")
	}
	return b, nil
}
