package sessions

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/migrations"
)

// OpenReport says what [Open] found: nothing of note when it is zero apart from
// Took and Events.
type OpenReport struct {
	Events int64         `json:"events"` // positions in the ledger
	Took   time.Duration `json:"took"`   // nanoseconds

	SetAside string     `json:"setAside,omitempty"` // the damaged file, whole, under its new name
	Damage   string     `json:"damage,omitempty"`   // what was wrong with it
	Rescued  *RescueSum `json:"rescued,omitempty"`  // what could be read of it and is in the new ledger

	Missing     int64  `json:"missing,omitempty"`     // events that a signed head outside the file vouches for and that are not there
	KeySetAside string `json:"keySetAside,omitempty"` // a cell key that could not be read; a new identity began
	Backup      string `json:"backup,omitempty"`      // the copy made before a migration
	Rebuilt     bool   `json:"rebuilt,omitempty"`     // lists could not be read and were derived from the events again
	Frozen      string `json:"frozen,omitempty"`      // why nothing can be written: the ledger is open for reading only
}

// RescueSum counts what was rescued from a damaged ledger.
type RescueSum struct {
	Sessions int   `json:"sessions"` // that are there again, whole as far as can be told
	Cut      int   `json:"cut"`      // that end early
	Events   int64 `json:"events"`
	Lost     int64 `json:"lost"` // events that were read but do not follow from what is left, at least
}

// Words tells a person what happened, one sentence each; nil when all was well.
func (r OpenReport) Words() []string {
	var out []string
	if r.SetAside != "" {
		out = append(out, fmt.Sprintf("The ledger file was damaged (%s). It was set aside whole as %s, and a new one was begun.", r.Damage, filepath.Base(r.SetAside)))
		if n := r.Rescued; n != nil && n.Sessions+n.Cut > 0 {
			out = append(out, fmt.Sprintf("%d events of %d sessions could be read and are here again; %d of these sessions end earlier than they did.", n.Events, n.Sessions+n.Cut, n.Cut))
		} else {
			out = append(out, "Nothing of it could be read.")
		}
	}
	if r.Missing > 0 {
		out = append(out, fmt.Sprintf("The last %d events that this ledger had are missing: a signed head kept outside the file vouches for them.", r.Missing))
	}
	if r.KeySetAside != "" {
		out = append(out, fmt.Sprintf("The key of this installation could not be read. It was set aside as %s, and a new identity began; old events stay verifiable.", filepath.Base(r.KeySetAside)))
	}
	if r.Frozen != "" {
		out = append(out, "Everything can be read, but nothing can be written: "+r.Frozen)
	}
	if r.Rebuilt {
		out = append(out, "The lists of sessions could not be read; they were derived from the events again. Nothing is lost.")
	}
	if r.Backup != "" {
		out = append(out, fmt.Sprintf("The ledger's format was brought up to date; the state before is in %s.", filepath.Base(r.Backup)))
	}
	return out
}

// Open opens the ledger in a folder, or begins one. A damaged file never stops
// it: the file is set aside whole and what can be read of it is rescued, see
// [Store.Opened]. A file of a newer Worksite is refused, untouched.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	return open(ctx, cfg, migrations.Files)
}

func open(ctx context.Context, cfg Config, steps fs.FS) (*Store, error) {
	began := time.Now()
	s := &Store{dir: cfg.Dir, now: cfg.Now, key: cfg.Key}
	if s.now == nil {
		s.now = time.Now
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil || cfg.Dir == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "a ledger needs a folder")
	}
	s.dir, s.path = dir, filepath.Join(dir, dbFile)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fileError("open ledger", err, dir)
	}
	if err := checkFS(dir); err != nil {
		return nil, err
	}
	if s.key == nil {
		if s.key, s.opened.KeySetAside, err = loadKey(dir, s.now()); err != nil {
			return nil, fileError("open ledger", err, dir)
		}
	}
	if len(s.key) != ed25519.PrivateKeySize {
		return nil, domain.Errorf(domain.CodeInvalid, "the cell key has %d bytes, want %d", len(s.key), ed25519.PrivateKeySize)
	}
	s.cell = cellOf(s.key)
	how := toRead
	done := newTurn(s.path).take()
	c, err := s.openFile(ctx, steps)
	done()
	if cannotWrite(err) {
		s.frozen = s.explain("append event", err)
		how, err = s.openFrozen(ctx, steps, err)
		s.opened.Frozen = s.frozen.Error()
	}
	if err != nil {
		return nil, s.explain("open ledger", err)
	}
	poll, err := openConn(ctx, s.path, how)
	if err != nil {
		if c != nil {
			err = errors.Join(err, c.close())
		}
		return nil, s.explain("open ledger", err)
	}
	s.read = sql.OpenDB(newConnector(s.path, how))
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	s.start(c, poll)
	s.last.Store(s.opened.Events)
	s.opened.Took = time.Since(began)
	return s, nil
}

// openFrozen finds a way to at least read a whole ledger whose folder cannot be
// written; cause is why it cannot.
func (s *Store) openFrozen(ctx context.Context, steps fs.FS, cause error) (access, error) {
	known, err := fs.Glob(steps, "*.sql")
	if err != nil {
		return 0, err
	}
	for _, how := range []access{toRead, toReadFrozen} {
		if wal, err := os.Stat(s.path + "-wal"); how == toReadFrozen && err == nil && wal.Size() > 0 {
			break // it may hold acknowledged events that would not be seen
		}
		c, err := openConn(ctx, s.path, how)
		if err != nil {
			continue
		}
		var id, version int64
		_, idErr := c.get("PRAGMA application_id", nil, &id)
		_, versionErr := c.get("PRAGMA user_version", nil, &version)
		readErr := s.firstReads(ctx, c)
		if errors.Join(idErr, versionErr, readErr, c.close()) == nil && id == applicationID && version == int64(len(known)) {
			return how, nil
		}
	}
	return 0, cause
}

// openFile opens the database for writing. When it is damaged it is set aside
// and a new one is begun.
func (s *Store) openFile(ctx context.Context, steps fs.FS) (*conn, error) {
	c, err := s.tryFile(ctx, steps)
	var d *damage
	if !errors.As(err, &d) {
		return c, err
	}
	if s.opened.SetAside, err = setAsideLedger(s.path, s.now()); err != nil {
		return nil, fileError("set the damaged ledger aside", err, s.dir)
	}
	s.opened.Damage = d.Error()
	if c, err = s.tryFile(ctx, steps); err != nil {
		return nil, err
	}
	sum, err := s.rescue(ctx, c, s.opened.SetAside)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	s.opened.Rescued = &sum
	_, err = c.get(qLastPos, nil, &s.opened.Events)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// tryFile opens the database, brings it up to date and reads what a start needs.
// The error is a *damage when the file is to be set aside.
func (s *Store) tryFile(ctx context.Context, steps fs.FS) (c *conn, err error) {
	if err := looksLikeOurs(s.path); err != nil {
		return nil, err
	}
	if c, err = openConn(ctx, s.path, toWrite); err != nil {
		return nil, asDamage(err)
	}
	defer func() {
		if err != nil {
			err = asDamage(errors.Join(err, c.close()))
			c = nil
		}
	}()
	if err := identify(c); err != nil {
		return c, err
	}
	if err := useWAL(c); err != nil {
		return c, err
	}
	_ = os.Chmod(s.path, 0o600)
	if s.opened.Backup, err = migrate(ctx, c, steps, s.path, s.now()); err != nil {
		return c, err
	}
	if err := s.checkSuspect(c); err != nil {
		return c, err
	}
	if _, err := c.exec(qAddCell, string(s.cell.ID), []byte(s.cell.PublicKey), s.now().UnixMicro()); err != nil {
		return c, err
	}
	if err := s.firstReads(ctx, c); err != nil {
		return c, err
	}
	return c, s.healHeads(ctx, c)
}

// healHeads derives everything again when a session's row cannot be read.
func (s *Store) healHeads(ctx context.Context, c *conn) error {
	var broken int
	if _, err := c.get(qBrokenHeads, nil, &broken); err != nil || broken == 0 {
		return err
	}
	w := &writer{conn: c, s: s}
	err := w.transaction(func() error {
		if err := w.log.load(c); err != nil {
			return err
		}
		return w.rebuild(ctx)
	})
	s.opened.Rebuilt = err == nil
	return err
}

// looksLikeOurs finds a file that is no database at all before the engine sees it.
func looksLikeOurs(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	magic := []byte("SQLite format 3\x00")
	got := make([]byte, len(magic))
	n, err := io.ReadFull(f, got)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return nil // made, and nothing written yet
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case !bytes.Equal(got, magic):
		return &damage{err: errors.New("it is not a database")}
	}
	return nil
}

// checkSuspect looks at the whole file when a read met damage in an earlier run.
func (s *Store) checkSuspect(c *conn) error {
	mark := filepath.Join(s.dir, suspectFile)
	if _, err := os.Lstat(mark); err != nil {
		return nil //nolint:nilerr // no mark, nothing to look at
	}
	var found string
	if _, err := c.get("PRAGMA quick_check(1)", nil, &found); err != nil {
		return err
	}
	if err := os.Remove(mark); err != nil {
		return err
	}
	if found != "ok" {
		return &damage{err: errors.New(found)}
	}
	return nil
}

// firstReads reads what the first writes and lists will need, so that damage
// there is found now, and compares the end with the head kept outside.
func (s *Store) firstReads(ctx context.Context, c *conn) error {
	var log treeLog
	if err := log.load(c); err != nil {
		if errors.Is(err, errLogGap) {
			return &damage{err: err}
		}
		return err
	}
	var headed int64
	var note string
	if _, err := c.get(qLastHead, nil, &headed, &note); err != nil {
		return err
	}
	s.unsigned = log.size > headed
	for _, table := range []string{"session", "cell", "lease", "run"} {
		var n int64
		if _, err := c.get("SELECT count(*) FROM "+table, nil, &n); err != nil {
			return err
		}
	}
	s.opened.Events = log.size
	text, err := loadCheckpoint(filepath.Join(s.dir, headsDir))
	if err != nil || text == "" {
		return err
	}
	if cp, err := parseCheckpoint(text); err == nil && cp.size > log.size {
		s.opened.Missing = cp.size - log.size
	}
	return nil
}

// setAsideLedger renames the database with what belongs to it, and the published
// head, which speaks of a log that does not go on.
func setAsideLedger(path string, now time.Time) (string, error) {
	aside, err := setAside(path, now)
	if err != nil {
		return "", err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	dir := filepath.Dir(path)
	if err := os.Remove(filepath.Join(dir, suspectFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if _, err := setAside(filepath.Join(dir, headsDir, headsFile), now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return aside, syncDir(dir)
}
