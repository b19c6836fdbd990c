package workspace

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"

	"worksite/backend/domain"
)

//go:embed migrations/*.sql
var migrations embed.FS

// database is workspaces.db. Its statements stand beside the code that needs them.
type database struct {
	*sql.DB
	notices []string
}

func openDatabase(path string, now func() time.Time) (*database, error) {
	db, err := tryDatabase(path)
	if !isDamaged(err) {
		return db, err
	}
	aside := path + ".damaged-" + now().UTC().Format("20060102T150405")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if rerr := os.Rename(path+suffix, aside+suffix); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			return nil, fmt.Errorf("set damaged database aside: %w", rerr)
		}
	}
	if db, err = tryDatabase(path); err != nil {
		return nil, err
	}
	saved := db.salvage(aside)
	db.notices = append(db.notices, fmt.Sprintf(
		"The list of workspaces was damaged and set aside as %s. %d rows of it could be read and were taken over; your folders are untouched.", filepath.Base(aside), saved))
	return db, nil
}

func tryDatabase(path string) (*database, error) {
	sdb, err := sql.Open("sqlite3", dsn(path, "_journal_mode=WAL&_synchronous=FULL&_busy_timeout=10000&_foreign_keys=1&_txlock=immediate"))
	if err != nil {
		return nil, err
	}
	sdb.SetMaxOpenConns(4)
	db := &database{DB: sdb}
	if err := db.migrate(); err != nil {
		return nil, errors.Join(err, sdb.Close())
	}
	return db, nil
}

func dsn(path, query string) string {
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query}).String()
}

func isDamaged(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB)
}

// migrate runs the migrations that the database has not seen, each in a transaction.
func (db *database) migrate() error {
	var ok string
	ctx := context.Background()
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&ok); err != nil {
		return fmt.Errorf("check database: %w", err)
	} else if ok != "ok" {
		return fmt.Errorf("check database: %s: %w", ok, sqlite3.Error{Code: sqlite3.ErrCorrupt})
	}
	return db.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY) STRICT"); err != nil {
			return err
		}
		entries, err := migrations.ReadDir("migrations")
		if err != nil {
			return err
		}
		for _, e := range entries {
			res, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO migration (name) VALUES (?)", e.Name())
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				if err != nil {
					return err
				}
				continue
			}
			text, err := migrations.ReadFile("migrations/" + e.Name())
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, string(text)); err != nil {
				return fmt.Errorf("migrate %s: %w", e.Name(), err)
			}
		}
		return nil
	})
}

// write runs fn in one transaction.
func (db *database) write(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// salvage copies what can still be read of a damaged database, row by row, and
// returns how many rows.
func (db *database) salvage(path string) (rows int) {
	old, err := sql.Open("sqlite3", dsn(path, "mode=ro&_busy_timeout=1000"))
	if err != nil {
		return 0
	}
	defer old.Close()
	for _, table := range []string{"workspace", "snapshot", "session_base", "review_base", "review_answer", "image", "trust", "trusted_file"} {
		rows += db.salvageTable(old, table)
	}
	return rows
}

func (db *database) salvageTable(old *sql.DB, table string) (n int) {
	rs, err := old.QueryContext(context.Background(), "SELECT * FROM "+table)
	if err != nil {
		return 0
	}
	defer rs.Close()
	cols, err := rs.Columns()
	if err != nil {
		return 0
	}
	insert := "INSERT OR IGNORE INTO " + table + " (" + strings.Join(cols, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(cols)-1) + ")"
	for rs.Next() {
		vals, ptrs := make([]any, len(cols)), make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if rs.Scan(ptrs...) != nil {
			break
		}
		if res, err := db.ExecContext(context.Background(), insert, vals...); err == nil {
			if k, err := res.RowsAffected(); err == nil {
				n += int(k)
			}
		}
	}
	if rs.Err() != nil {
		return n // the rest of the table is lost
	}
	return n
}

// hashText stores the zero hash as "".
func hashText(h domain.Hash) string {
	if h.IsZero() {
		return ""
	}
	return h.String()
}

// scanHash reads what hashText wrote.
type scanHash struct{ h *domain.Hash }

// Scan implements sql.Scanner.
func (s scanHash) Scan(v any) error {
	switch v := v.(type) {
	case string:
		return s.h.UnmarshalText([]byte(v))
	case []byte:
		return s.h.UnmarshalText(v)
	}
	return fmt.Errorf("hash stored as %T", v)
}

// referenced returns the blobs that rows name, and those that hold snapshots.
func (db *database) referenced(ctx context.Context) (keep map[domain.Hash]bool, trees []domain.Hash, err error) {
	keep = map[domain.Hash]bool{}
	err = db.each(ctx, "SELECT pre FROM image UNION SELECT post FROM image UNION SELECT hash FROM review_base", nil, func(scan func(...any) error) error {
		var h domain.Hash
		if err := scan(scanHash{&h}); err != nil {
			return err
		}
		keep[h] = true
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	err = db.each(ctx, "SELECT DISTINCT tree FROM snapshot", nil, func(scan func(...any) error) error {
		var h domain.Hash
		if err := scan(scanHash{&h}); err != nil {
			return err
		}
		trees = append(trees, h)
		return nil
	})
	return keep, trees, err
}

func (db *database) ids(ctx context.Context) (ids []domain.WorkspaceID, err error) {
	err = db.each(ctx, "SELECT id FROM workspace", nil, func(scan func(...any) error) error {
		var id domain.WorkspaceID
		if err := scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// each calls fn for every row of a query.
func (db *database) each(ctx context.Context, query string, args []any, fn func(scan func(...any) error) error) error {
	return each(ctx, db, query, args, fn)
}

func each(ctx context.Context, q querier, query string, args []any, fn func(scan func(...any) error) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
