-- The ledger: events are only ever added. Everything below "derived" can be
-- thrown away and rebuilt from the table event.

CREATE TABLE cell (
    id         TEXT PRIMARY KEY,
    public_key BLOB NOT NULL CHECK (length(public_key) = 32),
    first_seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    pos          INTEGER PRIMARY KEY,
    session      TEXT    NOT NULL,
    seq          INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    parent       TEXT    NOT NULL,
    caused_by    TEXT    NOT NULL,
    run          TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL, -- microseconds since 1970, UTC
    cell         TEXT    NOT NULL REFERENCES cell (id),
    generation   INTEGER NOT NULL,
    payload_hash BLOB    NOT NULL CHECK (length(payload_hash) = 32),
    prev_hash    BLOB    NOT NULL CHECK (length(prev_hash) = 32),
    hash         BLOB    NOT NULL CHECK (length(hash) = 32),
    sig          BLOB    NOT NULL CHECK (length(sig) = 64),
    salt         BLOB, -- NULL together with payload: a tombstone
    payload      BLOB,
    CHECK ((salt IS NULL) = (payload IS NULL))
) STRICT;

CREATE UNIQUE INDEX event_seq ON event (session, seq);
CREATE UNIQUE INDEX event_id ON event (id);

-- The one session whose content may be taken away in this transaction.
CREATE TABLE purge (session TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TRIGGER event_order BEFORE INSERT ON event
WHEN NEW.pos IS NOT (SELECT coalesce(max(pos), 0) + 1 FROM event)
  OR NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM event WHERE session = NEW.session)
BEGIN
    SELECT raise(ABORT, 'events are numbered without gaps');
END;

CREATE TRIGGER event_keep BEFORE DELETE ON event
BEGIN
    SELECT raise(ABORT, 'events are never deleted');
END;

CREATE TRIGGER event_fixed BEFORE UPDATE ON event
WHEN NOT (
    NEW.payload IS NULL AND NEW.salt IS NULL
    AND EXISTS (SELECT 1 FROM purge WHERE session = OLD.session)
    AND NEW.pos = OLD.pos AND NEW.session = OLD.session AND NEW.seq = OLD.seq AND NEW.id = OLD.id
    AND NEW.parent = OLD.parent AND NEW.caused_by = OLD.caused_by AND NEW.run = OLD.run AND NEW.kind = OLD.kind
    AND NEW.created_at = OLD.created_at AND NEW.cell = OLD.cell AND NEW.generation = OLD.generation
    AND NEW.payload_hash = OLD.payload_hash AND NEW.prev_hash = OLD.prev_hash AND NEW.hash = OLD.hash AND NEW.sig = OLD.sig
)
BEGIN
    SELECT raise(ABORT, 'events are never changed');
END;

-- The Merkle log over event.hash (RFC 6962): row pos holds the hashes that leaf
-- pos-1 completes, level 0 first, 32 bytes each.
CREATE TABLE tree (
    pos    INTEGER PRIMARY KEY,
    hashes BLOB NOT NULL
) STRICT;

-- Signed heads of the log (C2SP tlog-checkpoint).
CREATE TABLE head (
    size INTEGER PRIMARY KEY,
    root BLOB NOT NULL CHECK (length(root) = 32),
    note TEXT NOT NULL
) STRICT;

-- Derived from the events, except deleted_at.
CREATE TABLE session (
    id         TEXT PRIMARY KEY,
    last_seq   INTEGER NOT NULL,
    last_pos   INTEGER NOT NULL,
    last_hash  BLOB    NOT NULL,
    archived   INTEGER NOT NULL,
    head       TEXT    NOT NULL, -- projection.Session without what waits
    waiting    TEXT    NOT NULL, -- its open approvals and queue: large, and rarely changed
    deleted_at INTEGER           -- its content was deleted for good
) STRICT;

CREATE TABLE run (
    session  TEXT    NOT NULL REFERENCES session (id) DEFERRABLE INITIALLY DEFERRED,
    id       TEXT    NOT NULL,
    started  INTEGER NOT NULL, -- seq
    finished INTEGER NOT NULL, -- seq, 0 while it goes on
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE call (
    session TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    state   TEXT    NOT NULL,
    attempt INTEGER NOT NULL,
    decided INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

-- Intent before effect, effect before outcome: the second guard behind the rules in code.
CREATE TRIGGER call_order BEFORE UPDATE ON call
WHEN (NEW.state = 'intent' AND NOT (OLD.decided AND OLD.state IN ('requested', 'intent', 'executing', 'retry') AND NEW.attempt > OLD.attempt))
  OR (NEW.state = 'executing' AND NOT (OLD.attempt = NEW.attempt AND (OLD.state = 'intent' OR OLD.state = 'executing' AND NEW.decided)))
  OR (NEW.state IN ('completed', 'unknown') AND NOT (OLD.state = 'executing' AND OLD.attempt = NEW.attempt))
  OR (NEW.state = 'failed' AND OLD.state NOT IN ('requested', 'intent', 'executing', 'retry'))
  OR (NEW.state = 'settled' AND OLD.state <> 'unknown')
  OR (NEW.state = 'retry' AND OLD.state NOT IN ('unknown', 'retry'))
BEGIN
    SELECT raise(ABORT, 'the journal of a tool call is out of order');
END;

CREATE TRIGGER call_begin BEFORE INSERT ON call
WHEN NEW.state <> 'requested'
BEGIN
    SELECT raise(ABORT, 'a tool call begins with its request');
END;

CREATE TABLE approval (
    session TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    call    TEXT    NOT NULL,
    digest  BLOB    NOT NULL,
    answer  TEXT    NOT NULL, -- kind of the event that closed it, '' while it is open
    by_whom TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

-- What is searched: the text of messages, folded to lower case.
CREATE TABLE search (
    pos    INTEGER PRIMARY KEY,
    folded TEXT NOT NULL
) STRICT;

-- Who may run a session. There is no lease without a run.
CREATE TABLE lease (
    session    TEXT PRIMARY KEY,
    run        TEXT    NOT NULL,
    holder     TEXT    NOT NULL, -- '' when released
    generation INTEGER NOT NULL CHECK (generation > 0),
    expires_at INTEGER NOT NULL, -- microseconds since 1970, UTC
    FOREIGN KEY (session, run) REFERENCES run (session, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER lease_fence BEFORE UPDATE ON lease
WHEN NEW.generation < OLD.generation
BEGIN
    SELECT raise(ABORT, 'a generation never goes back');
END;
