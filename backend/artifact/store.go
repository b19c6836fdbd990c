package artifact

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
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

// Blobs keeps bytes by their hash. Put returns once they are durable; a reader of
// Open fails at its end when the bytes are not those of the hash.
type Blobs interface {
	Put(ctx context.Context, r io.Reader) (domain.Hash, int64, error)
	Open(h domain.Hash) (io.ReadCloser, error)
}

// Config opens a store.
type Config struct {
	Dir   string // folder of artifacts.db
	Blobs Blobs
	Now   func() time.Time // nil: time.Now
}

// Store keeps artifacts. It is safe for concurrent use, also by several processes.
type Store struct {
	db     *sql.DB
	blobs  Blobs
	now    func() time.Time
	report []string
}

// Open opens or makes the store in c.Dir. A database that is damaged is renamed
// and a new one begun; [Store.Report] says so, and the service rebuilds it from
// the ledger.
func Open(c Config) (*Store, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Store{blobs: c.Blobs, now: c.Now}
	path := filepath.Join(c.Dir, "artifacts.db")
	err := s.open(path)
	if damaged(err) {
		aside := fmt.Sprintf("%s.damaged-%s", path, c.Now().UTC().Format("20060102T150405"))
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if rerr := os.Rename(path+suffix, aside+suffix); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
				return nil, fmt.Errorf("set damaged artifacts aside: %w", rerr)
			}
		}
		s.report = append(s.report, fmt.Sprintf("The list of artifacts was damaged (%v). It was set aside as %s and is rebuilt from the sessions.", err, filepath.Base(aside)))
		err = s.open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open artifacts: %w", err)
	}
	return s, nil
}

func (s *Store) open(path string) (err error) {
	// Every transaction takes the write lock at its beginning: none fails halfway.
	opts := url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_foreign_keys": {"1"},
		"_busy_timeout": {"10000"}, "_txlock": {"immediate"},
	}
	s.db, err = sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+opts.Encode())
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.db.Close())
		}
	}()
	s.db.SetMaxOpenConns(4)
	ctx := context.Background()
	var verdict string
	if err := s.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return damagedError(verdict)
	}
	return s.migrate(ctx)
}

type damagedError string

func (e damagedError) Error() string { return string(e) }

func damaged(err error) bool {
	var d damagedError
	var e sqlite3.Error
	return errors.As(err, &d) || errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB)
}

// migrate brings the schema up, one transaction for each file. user_version counts
// the files that were applied.
func (s *Store) migrate(ctx context.Context) error {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	for i, f := range files {
		text, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			return err
		}
		err = s.tx(ctx, func(tx *sql.Tx) error {
			var version int
			if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
				return err
			}
			if version > len(files) {
				return domain.Errorf(domain.CodeUnavailable, "the artifacts were written by a newer version of Worksite").
					WithHint("Start the newer version, or set artifacts.db aside.")
			}
			if version > i {
				return nil
			}
			_, err := tx.ExecContext(ctx, string(text)+fmt.Sprintf("\nPRAGMA user_version = %d;", i+1))
			return err
		})
		if err != nil {
			return fmt.Errorf("migration %s: %w", f.Name(), err)
		}
	}
	return nil
}

// tx runs f in one transaction.
func (s *Store) tx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Report says, in sentences for the person, what was found damaged at the start.
func (s *Store) Report() []string { return s.report }

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// stamp writes a time so that it sorts as text.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000Z") }

func notFound(id domain.ArtifactID, revision int) error {
	return domain.Errorf(domain.CodeNotFound, "there is no artifact %s revision %d", id, revision)
}

// checkName refuses what could not be a file name.
func checkName(name string) error {
	if name == "" || len(name) > 255 || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return domain.Errorf(domain.CodeInvalid, "%.80q cannot be the name of an artifact", name)
	}
	return nil
}
