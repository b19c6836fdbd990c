package sessions

import (
	"errors"
	"os"
	"path/filepath"

	sqlite3 "github.com/mattn/go-sqlite3"

	"worksite/backend/domain"
)

// errClosed is the answer of a store that was closed.
func errClosed() error {
	return domain.Errorf(domain.CodeUnavailable, "the ledger is closed").WithHint("Worksite is closing; start it again.")
}

// explain turns an error of the engine into one that a person can act on.
// Refusals that carry a code already pass through.
func (s *Store) explain(op string, err error) error {
	var coded *domain.Error
	var lite sqlite3.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if !errors.As(err, &lite) {
		return &wrapped{op: op, err: err}
	}
	out := engineError(lite.Code, err, s.dir)
	if isDamage(err) {
		s.suspect()
	}
	out.Op = op
	return out
}

// wrapped is an unexpected error: internal to the outside, whole in the log.
type wrapped struct {
	op  string
	err error
}

func (w *wrapped) Error() string { return w.op + ": " + w.err.Error() }
func (w *wrapped) Unwrap() error { return w.err }

func engineError(code sqlite3.ErrNo, e error, dir string) *domain.Error {
	const safe = "Nothing of this was written; everything acknowledged before is safe."
	switch code {
	case sqlite3.ErrFull:
		return domain.Errorf(domain.CodeUnavailable, "the disk is full. "+safe+" (%w)", e).
			WithHint("Free some space on the disk of %s, then try again.", dir)
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrCantOpen, sqlite3.ErrAuth:
		return domain.Errorf(domain.CodeUnavailable, "the data folder cannot be written. "+safe+" (%w)", e).
			WithHint("Make %s writable, or set WORKSITE_HOME to a folder that is.", dir)
	case sqlite3.ErrIoErr:
		return domain.Errorf(domain.CodeUnavailable, "the disk reports an error. "+safe+" (%w)", e).
			WithHint("Check the disk of %s and its free space, then start Worksite again.", dir)
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return domain.Errorf(domain.CodeUnavailable, "another process is writing to the ledger and did not finish in time. "+safe+" (%w)", e).
			WithHint("Try again; if it stays so, look for another Worksite that hangs.")
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrFormat:
		return domain.Errorf(domain.CodeUnavailable, "a part of the ledger file cannot be read any more (%w)", e).
			WithHint("Start Worksite again: it sets the damaged file aside whole and rescues what can be read.")
	case sqlite3.ErrNomem:
		return domain.Errorf(domain.CodeUnavailable, "there is not enough memory. "+safe+" (%w)", e)
	}
	return domain.Errorf(domain.CodeInternal, "%w", e)
}

// isDamage reports whether the engine found the file itself damaged.
func isDamage(err error) bool {
	var lite sqlite3.Error
	return errors.As(err, &lite) && (lite.Code == sqlite3.ErrCorrupt || lite.Code == sqlite3.ErrNotADB || lite.Code == sqlite3.ErrFormat)
}

// cannotWrite reports whether the engine was kept from writing, by the file
// system and not by what is in the file.
func cannotWrite(err error) bool {
	var lite sqlite3.Error
	if !errors.As(err, &lite) {
		return false
	}
	switch lite.Code {
	case sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrPerm:
		return true
	}
	return false
}

// isConstraint reports whether a rule of the schema refused the statement.
func isConstraint(err error) bool {
	var lite sqlite3.Error
	return errors.As(err, &lite) && lite.Code == sqlite3.ErrConstraint
}

// suspect leaves a mark so that the next start looks at the whole file.
func (s *Store) suspect() {
	if f, err := os.OpenFile(filepath.Join(s.dir, suspectFile), os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close() // the mark is its existence
	}
}

// fileError explains an error of the file system.
func fileError(op string, err error, dir string) error {
	if err == nil {
		return nil
	}
	e := domain.Errorf(domain.CodeUnavailable, "the data folder cannot be used: %w", err).
		WithHint("Make %s writable and see that its disk has space, or set WORKSITE_HOME to another folder.", dir)
	e.Op = op
	return e
}
