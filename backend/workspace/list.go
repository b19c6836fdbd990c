package workspace

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"worksite/backend/domain"
	"worksite/backend/workspace/rooted"
	"worksite/backend/workspace/scan"
)

// Workspace is a folder that sessions can work on.
type Workspace struct {
	ID        domain.WorkspaceID
	Name      string
	Path      string // where it was last; an attribute, not the identity
	TaskKind  domain.TaskKind
	CreatedAt time.Time
}

// row is a Workspace with its fingerprint.
type row struct {
	Workspace
	print     fingerprint
	forgotten bool
}

const rowColumns = "id, name, path, task_kind, dev, ino, born, git_root, git_remote, marks, created_at, forgotten_at IS NOT NULL"

func readRow(scan func(...any) error) (row, error) {
	var w row
	var marks string
	var at int64
	err := scan(&w.ID, &w.Name, &w.Path, &w.TaskKind, &w.print.dev, &w.print.ino, &w.print.born, &w.print.gitRoot, &w.print.gitRemote, &marks, &at, &w.forgotten)
	if err != nil {
		return w, err
	}
	w.CreatedAt = time.UnixMicro(at).UTC()
	return w, json.Unmarshal([]byte(marks), &w.print.marks)
}

// row finds a workspace, also one that was forgotten: its sessions stay readable.
func (s *Store) row(ctx context.Context, id domain.WorkspaceID) (row, error) {
	w, err := readRow(s.db.QueryRowContext(ctx, "SELECT "+rowColumns+" FROM workspace WHERE id = ?", id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return w, domain.Errorf(domain.CodeNotFound, "there is no workspace %s", id)
	}
	if err != nil {
		return w, fmt.Errorf("read workspace: %w", err)
	}
	return w, nil
}

// Get returns one workspace.
func (s *Store) Get(ctx context.Context, id domain.WorkspaceID) (Workspace, error) {
	w, err := s.row(ctx, id)
	if err == nil && w.forgotten {
		err = domain.Errorf(domain.CodeNotFound, "workspace %s (%s) was removed from the list", id, w.Path).WithHint("Open its folder again to go on with it.")
	}
	return w.Workspace, err
}

// List returns all workspaces, the newest first.
func (s *Store) List(ctx context.Context) ([]Workspace, error) {
	rows, err := readRows(ctx, s.db, "WHERE forgotten_at IS NULL ORDER BY created_at DESC, id DESC")
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	out := make([]Workspace, len(rows))
	for i, w := range rows {
		out[i] = w.Workspace
	}
	return out, nil
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func readRows(ctx context.Context, q querier, where string, args ...any) ([]row, error) {
	var out []row
	err := each(ctx, q, "SELECT "+rowColumns+" FROM workspace "+where, args, func(scan func(...any) error) error {
		w, err := readRow(scan)
		if err == nil {
			out = append(out, w)
		}
		return err
	})
	return out, err
}

// Add makes a folder a workspace. A folder that is one already, under whatever
// name, is found again with its id.
func (s *Store) Add(ctx context.Context, path string, kind domain.TaskKind) (Workspace, error) {
	real, err := canonical(path)
	if err != nil {
		return Workspace{}, err
	}
	if err := s.guard(real); err != nil {
		return Workspace{}, err
	}
	return s.add(ctx, real, filepath.Base(real), kind)
}

func (s *Store) add(ctx context.Context, path, name string, kind domain.TaskKind) (Workspace, error) {
	if kind == "" {
		kind = domain.TaskCoding
	}
	print, err := s.fingerprint(ctx, path)
	if err != nil {
		return Workspace{}, domain.Errorf(domain.CodeUnavailable, "the folder cannot be opened: %w", err)
	}
	var w row
	err = s.db.write(ctx, func(tx *sql.Tx) error {
		known, err := readRows(ctx, tx, "WHERE ino = ? ORDER BY forgotten_at IS NOT NULL, created_at DESC", print.ino)
		if err != nil {
			return err
		}
		for _, k := range known {
			if k.print.is(print.place) {
				w = k
				w.Path, w.print = path, print
				return placeRow(ctx, tx, w)
			}
		}
		w = row{Workspace: Workspace{ID: domain.NewWorkspaceID(), Name: name, Path: path, TaskKind: kind, CreatedAt: s.now().UTC().Truncate(time.Microsecond)}, print: print}
		_, err = tx.ExecContext(ctx, `INSERT INTO workspace (id, name, path, task_kind, dev, ino, born, git_root, git_remote, marks, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			w.ID, w.Name, w.Path, w.TaskKind, print.dev, print.ino, print.born, print.gitRoot, print.gitRemote, encodeMarks(print.marks), w.CreatedAt.UnixMicro())
		return err
	})
	if err != nil {
		return Workspace{}, fmt.Errorf("add workspace: %w", err)
	}
	return w.Workspace, nil
}

// placeRow stores where a workspace is and how it is known again, and lists it.
func placeRow(ctx context.Context, q querier, w row) error {
	_, err := q.ExecContext(ctx, `UPDATE workspace SET path = ?, name = ?, dev = ?, ino = ?, born = ?, git_root = ?, git_remote = ?, marks = ?, forgotten_at = NULL WHERE id = ?`,
		w.Path, w.Name, w.print.dev, w.print.ino, w.print.born, w.print.gitRoot, w.print.gitRemote, encodeMarks(w.print.marks), w.ID)
	return err
}

// Relink says where the folder of a workspace is now. The id stays when the folder
// fits the fingerprint; otherwise the error says what differs.
func (s *Store) Relink(ctx context.Context, id domain.WorkspaceID, path string) error {
	w, err := s.row(ctx, id)
	if err != nil {
		return err
	}
	real, err := canonical(path)
	if err != nil {
		return err
	}
	if err := s.guard(real); err != nil {
		return err
	}
	now, err := s.fingerprint(ctx, real)
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "the folder cannot be opened: %w", err)
	}
	if ok, why := w.print.fits(now); !ok {
		return domain.Errorf(domain.CodeConflict, "%s is not the workspace %q: %s", real, w.Name, why).
			WithHint("Link the folder that it was moved to, or open this one as a workspace of its own.")
	}
	others, err := readRows(ctx, s.db, "WHERE forgotten_at IS NULL AND id <> ?", id)
	if err != nil {
		return fmt.Errorf("relink workspace: %w", err)
	}
	for _, o := range others {
		if o.Path == real || o.print.is(now.place) {
			return domain.Errorf(domain.CodeConflict, "%s is the workspace %q already", real, o.Name).
				WithHint("Remove that one from the list first, if it should become this one.")
		}
	}
	w.Path, w.print = real, now
	if err := placeRow(ctx, s.db, w); err != nil {
		return fmt.Errorf("relink workspace: %w", err)
	}
	return nil
}

// Forget takes a workspace off the list. The folder, and what sessions know of it, stay.
func (s *Store) Forget(ctx context.Context, id domain.WorkspaceID) error {
	res, err := s.db.ExecContext(ctx, "UPDATE workspace SET forgotten_at = ? WHERE id = ? AND forgotten_at IS NULL", s.now().UnixMicro(), id)
	if err != nil {
		return fmt.Errorf("forget workspace: %w", err)
	}
	if n, err := res.RowsAffected(); err == nil && n == 0 {
		return domain.Errorf(domain.CodeNotFound, "there is no workspace %s", id)
	}
	return nil
}

// NewTask makes an empty folder in the data folder, for a task with loose files.
func (s *Store) NewTask(ctx context.Context, name string) (Workspace, error) {
	title := strings.TrimSpace(name)
	if title == "" {
		title = "Task"
	}
	base := filepath.Join(s.dir, "tasks")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return Workspace{}, fmt.Errorf("make task folder: %w", err)
	}
	for n := 1; ; n++ {
		dir := filepath.Join(base, numbered(fileName(title), n))
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return Workspace{}, domain.Errorf(domain.CodeUnavailable, "the task folder cannot be made: %w", err)
		}
		return s.add(ctx, dir, title, domain.TaskGeneral)
	}
}

// maxName bounds the file names that we make, bytes.
const maxName = 200

// fileName makes text a file name that this system takes, keeping spaces, letters of
// any script and percent signs.
func fileName(text string) string {
	text = strings.ToValidUTF8(text, "_")
	reserved := "/"
	if runtime.GOOS == "windows" {
		reserved = `/\:*?"<>|`
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(reserved, r) {
			return '_'
		}
		return r
	}, text)
	for len(text) > maxName {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	if runtime.GOOS == "windows" {
		text = strings.TrimRight(text, ". ")
	}
	if text == "" || text == "." || text == ".." || rooted.IsTemp(text) || scan.IsGit(text) {
		return "_" + strings.TrimLeft(text, ". ")
	}
	return text
}

// numbered puts a number before the extension, from the second name on.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	ext := filepath.Ext(name)
	if ext == name {
		ext = ""
	}
	return fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, ext), n, ext)
}

func validName(n string) bool { return utf8.ValidString(n) }
