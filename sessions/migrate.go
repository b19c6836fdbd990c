package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"worksite/backend/domain"
)

// damage is what [Open] answers by setting the file aside.
type damage struct{ err error }

func (d *damage) Error() string { return d.err.Error() }
func (d *damage) Unwrap() error { return d.err }

// asDamage marks err when the engine says that the file is broken.
func asDamage(err error) error {
	if isDamage(err) {
		return &damage{err: err}
	}
	return err
}

// identify makes a fresh file ours, or proves that an old one is.
func identify(c *conn) error {
	var id, tables int64
	if _, err := c.get("PRAGMA application_id", nil, &id); err != nil {
		return err
	}
	if id == applicationID {
		return nil
	}
	if _, err := c.get("SELECT count(*) FROM sqlite_schema", nil, &tables); err != nil {
		return err
	}
	if id != 0 || tables > 0 {
		return &damage{err: fmt.Errorf("it is not a ledger of Worksite (application id %#x)", id)}
	}
	// Before WAL, so that the identity is in the main file whatever happens next.
	return c.script(fmt.Sprintf("PRAGMA page_size = 4096; PRAGMA application_id = %d", applicationID))
}

// useWAL switches to write-ahead logging; the switch takes a lock that does not
// honour the busy timeout, and two first starts may meet here.
func useWAL(c *conn) error {
	var mode string
	deadline := time.Now().Add(busyTimeout)
	for {
		_, err := c.get("PRAGMA journal_mode = WAL", nil, &mode)
		var lite sqlite3.Error
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return domain.Errorf(domain.CodeUnavailable, "the ledger cannot use write-ahead logging here (journal mode %q)", mode).
				WithHint("Set WORKSITE_HOME to a folder on a disk of this machine.")
		case !errors.As(err, &lite) || lite.Code != sqlite3.ErrBusy || time.Now().After(deadline):
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// migrate brings the schema of the file up to date, step by step, each in its
// own transaction. backup is the copy that was made first, "" when the file was new.
func migrate(ctx context.Context, c *conn, steps fs.FS, path string, now time.Time) (backup string, err error) {
	names, err := fs.Glob(steps, "*.sql")
	if err != nil {
		return "", err
	}
	sort.Strings(names)
	var have int64
	if _, err := c.get("PRAGMA user_version", nil, &have); err != nil {
		return "", err
	}
	switch {
	case have > int64(len(names)):
		return "", domain.Errorf(domain.CodeUnavailable, "the ledger was written by a newer Worksite (format %d, this one knows %d)", have, len(names)).
			WithHint("Install the newer Worksite again, or set WORKSITE_HOME to another folder. Nothing was changed.")
	case have == int64(len(names)):
		return "", nil
	case have > 0:
		if backup, err = backUp(c, path, have, now); err != nil {
			return "", err
		}
	}
	for i := have; i < int64(len(names)); i++ {
		if err := ctx.Err(); err != nil {
			return backup, err
		}
		text, err := fs.ReadFile(steps, names[i])
		if err != nil {
			return backup, err
		}
		if err := step(c, i, names[i], string(text), now); err != nil {
			if backup != "" && i == have { // nothing was changed, and the next start tries again
				err = errors.Join(err, os.Remove(backup))
				backup = ""
			}
			return backup, fmt.Errorf("migration %s: %w", names[i], err)
		}
	}
	return backup, nil
}

// step applies migration number i (from 0) unless another process just did.
func step(c *conn, i int64, name, text string, now time.Time) (err error) {
	if err := c.script(qBegin); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.script(qRollback))
		}
	}()
	var have int64
	if _, err := c.get("PRAGMA user_version", nil, &have); err != nil {
		return err
	}
	if have > i {
		return c.script(qRollback)
	}
	if err := c.script("CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT, WITHOUT ROWID"); err != nil {
		return err
	}
	if err := c.script(text); err != nil {
		return err
	}
	if _, err := c.exec("INSERT INTO migration (name, applied_at) VALUES (?,?)", name, now.UnixMicro()); err != nil {
		return err
	}
	if err := c.script(fmt.Sprintf("PRAGMA user_version = %d", i+1)); err != nil {
		return err
	}
	return c.script(qCommit)
}

// backUp copies the ledger as it is before a migration touches it.
func backUp(c *conn, path string, version int64, now time.Time) (string, error) {
	name := unused(fmt.Sprintf("%s.before-%d-%s", path, version+1, stamp(now)))
	if _, err := c.exec("VACUUM INTO ?", name); err != nil {
		_ = os.Remove(name)
		return "", fmt.Errorf("back up before migration: %w", err)
	}
	return name, errors.Join(os.Chmod(name, 0o600), syncDir(filepath.Dir(name)))
}
