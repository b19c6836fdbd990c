package sessions

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"
)

const (
	dbFile      = "sessions.db"
	suspectFile = "sessions.db.suspect" // a read met damage: look at the whole file at the next start

	// applicationID is "WSLD" in the header of the file.
	applicationID = 0x57534c44

	// busyTimeout is how long a write waits for another process.
	busyTimeout = 5 * time.Second
)

// connector opens connections to one file with the same settings each time.
// No memory map: a file cut short under a map would kill the process, a failed
// read only fails the read.
type connector struct {
	drv     *sqlite3.SQLiteDriver
	dsn     string
	pragmas []string
}

// access is how a connection opens the file.
type access int

const (
	toRead access = iota
	toWrite
	// toReadFrozen reads where not even the files beside the database can be made.
	// It sees the main file only.
	toReadFrozen
)

func newConnector(path string, how access) *connector {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	u := url.URL{Path: slashed}
	q := url.Values{
		"_busy_timeout": {fmt.Sprint(busyTimeout.Milliseconds())},
		"_foreign_keys": {"1"},
		"_mutex":        {"no"}, // database/sql gives a connection to one goroutine at a time
	}
	c := &connector{
		drv:     &sqlite3.SQLiteDriver{},
		pragmas: []string{"PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", "PRAGMA temp_store = MEMORY"},
	}
	if how == toWrite {
		q.Set("mode", "rwc")
		q.Set("_synchronous", "FULL")
		c.pragmas = append(c.pragmas, "PRAGMA cache_size = -16000", "PRAGMA secure_delete = ON", "PRAGMA fullfsync = ON", "PRAGMA checkpoint_fullfsync = ON")
	} else {
		q.Set("mode", "ro")
		q.Set("_query_only", "1")
		q.Set("_stmt_cache_size", "32")
		if how == toReadFrozen {
			q.Set("immutable", "1")
		}
		c.pragmas = append(c.pragmas, "PRAGMA cache_size = -8000")
	}
	c.dsn = "file:" + u.EscapedPath() + "?" + q.Encode()
	return c
}

// Connect implements driver.Connector.
func (c *connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.drv.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	lite := conn.(*sqlite3.SQLiteConn)
	for _, p := range c.pragmas {
		if _, err := lite.Exec(p, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.drv }

// conn is one connection with its prepared statements. It is used by one
// goroutine at a time, and never with a context that can end: an interrupted
// statement would leave a transaction in doubt.
type conn struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func openConn(ctx context.Context, path string, how access) (*conn, error) {
	db := sql.OpenDB(newConnector(path, how))
	db.SetMaxOpenConns(1)
	c, err := db.Conn(context.WithoutCancel(ctx))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &conn{db: db, conn: c, stmts: map[string]*sql.Stmt{}}, nil
}

func (c *conn) close() error {
	var err error
	for _, st := range c.stmts {
		err = errors.Join(err, st.Close())
	}
	return errors.Join(err, c.conn.Close(), c.db.Close())
}

func (c *conn) stmt(query string) (*sql.Stmt, error) {
	if st, ok := c.stmts[query]; ok {
		return st, nil
	}
	st, err := c.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = st
	return st, nil
}

// exec runs a prepared statement and returns how many rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	st, err := c.stmt(query) //nolint:sqlclosecheck // kept until close
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// get reads one row into dest; ok is false when there is none.
func (c *conn) get(query string, args []any, dest ...any) (ok bool, err error) {
	st, err := c.stmt(query) //nolint:sqlclosecheck // kept until close
	if err != nil {
		return false, err
	}
	err = st.QueryRowContext(context.Background(), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// script runs several statements, not prepared.
func (c *conn) script(text string) error {
	_, err := c.conn.ExecContext(context.Background(), text)
	return err
}
