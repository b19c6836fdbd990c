CREATE TABLE workspace (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  path         TEXT NOT NULL,
  task_kind    TEXT NOT NULL,
  dev          INTEGER NOT NULL,
  ino          INTEGER NOT NULL,
  born         INTEGER NOT NULL, -- ns, 0: the file system does not say
  git_root     TEXT NOT NULL,    -- first commit of the repository
  git_remote   TEXT NOT NULL,
  marks        TEXT NOT NULL,    -- JSON list of names at the top
  created_at   INTEGER NOT NULL, -- µs
  forgotten_at INTEGER
) STRICT;
CREATE INDEX workspace_ino ON workspace (ino);

CREATE TABLE snapshot (
  id         TEXT PRIMARY KEY,
  workspace  TEXT NOT NULL REFERENCES workspace (id),
  tree_hash  TEXT NOT NULL,
  tree       TEXT NOT NULL, -- blob with the encoded tree
  files      INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  skipped    INTEGER NOT NULL,
  git        TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- What a session's changes are measured against, before any hunk was accepted.
CREATE TABLE session_base (
  session   TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  snapshot  TEXT NOT NULL REFERENCES snapshot (id)
) STRICT;

-- Files whose review base has moved away from the snapshot's version.
CREATE TABLE review_base (
  session TEXT NOT NULL,
  path    TEXT NOT NULL,
  hash    TEXT NOT NULL, -- '' absent
  mode    INTEGER NOT NULL,
  PRIMARY KEY (session, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE review_answer (
  session TEXT NOT NULL,
  path    TEXT NOT NULL,
  hunk    TEXT NOT NULL,
  answer  TEXT NOT NULL CHECK (answer IN ('accepted', 'rejected')),
  PRIMARY KEY (session, path, hunk, answer)
) STRICT, WITHOUT ROWID;

-- Every write of a session, and of reviews and restores, in order.
CREATE TABLE image (
  n         INTEGER PRIMARY KEY,
  session   TEXT NOT NULL,
  path      TEXT NOT NULL,
  pre       TEXT NOT NULL,
  post      TEXT NOT NULL,
  pre_mode  INTEGER NOT NULL,
  post_mode INTEGER NOT NULL,
  origin    TEXT NOT NULL CHECK (origin IN ('session', 'review', 'restore'))
) STRICT;
CREATE INDEX image_by_session ON image (session, path, n);

-- A trusted workspace and the exact files that were trusted.
CREATE TABLE trust (
  workspace TEXT PRIMARY KEY,
  at        INTEGER NOT NULL
) STRICT;
CREATE TABLE trusted_file (
  workspace TEXT NOT NULL REFERENCES trust (workspace) ON DELETE CASCADE,
  path      TEXT NOT NULL,
  hash      TEXT NOT NULL,
  PRIMARY KEY (workspace, path)
) STRICT, WITHOUT ROWID;
