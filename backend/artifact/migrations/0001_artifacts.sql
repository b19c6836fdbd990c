-- An artifact is a name within a session; next_revision only grows, so that a
-- revision is never used twice, whatever is deleted.
CREATE TABLE artifact (
    id            TEXT PRIMARY KEY,
    session       TEXT NOT NULL,
    name          TEXT NOT NULL,
    next_revision INTEGER NOT NULL CHECK (next_revision >= 0),
    UNIQUE (session, name)
) STRICT;

CREATE TABLE revision (
    artifact    TEXT NOT NULL REFERENCES artifact (id),
    revision    INTEGER NOT NULL CHECK (revision >= 0),
    session     TEXT NOT NULL,
    call_id     TEXT NOT NULL, -- '' when a person promoted it
    media_type  TEXT NOT NULL,
    sha256      BLOB NOT NULL CHECK (length(sha256) = 32),
    size        INTEGER NOT NULL CHECK (size >= 0),
    source      TEXT NOT NULL, -- path inside the workspace
    deleted_at  TEXT,          -- the bytes may be gone; the row stays
    PRIMARY KEY (artifact, revision)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX revision_call ON revision (session, call_id) WHERE call_id <> '';

-- produced, validated, adopted and withdrawn are separate facts; none implies
-- another. Facts are added, never changed.
CREATE TABLE mark (
    artifact TEXT NOT NULL,
    revision INTEGER NOT NULL,
    fact     TEXT NOT NULL CHECK (fact IN ('produced', 'validated', 'adopted', 'withdrawn')),
    at       TEXT NOT NULL, -- RFC 3339, UTC
    by       TEXT NOT NULL CHECK (by <> ''),
    detail   TEXT NOT NULL, -- the check that passed, or where it was saved to
    PRIMARY KEY (artifact, revision, fact, at, by, detail),
    FOREIGN KEY (artifact, revision) REFERENCES revision (artifact, revision)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER mark_is_final BEFORE UPDATE ON mark BEGIN
    SELECT RAISE (ABORT, 'a fact about an artifact is never changed');
END;

CREATE TRIGGER mark_stays BEFORE DELETE ON mark BEGIN
    SELECT RAISE (ABORT, 'a fact about an artifact is never removed');
END;
