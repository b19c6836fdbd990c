package sessions

// Every statement of the ledger. Columns of an event are always read in the
// order of eventColumns, which scanEvent expects.
const (
	eventColumns = `pos, session, seq, id, parent, caused_by, run, kind, created_at, cell, generation,
		payload_hash, prev_hash, hash, sig, salt, payload`

	qBegin       = `BEGIN IMMEDIATE`
	qCommit      = `COMMIT`
	qRollback    = `ROLLBACK`
	qSavepoint   = `SAVEPOINT op`
	qRelease     = `RELEASE op`
	qUndo        = `ROLLBACK TO op`
	qDataVersion = `PRAGMA data_version`

	qInsertEvent = `INSERT INTO event (` + eventColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	qInsertTree  = `INSERT INTO tree (pos, hashes) VALUES (?,?)`
	qEventOwner  = `SELECT session FROM event WHERE id = ?`
	qLastPos     = `SELECT coalesce(max(pos), 0) FROM event`
	qTreeRow     = `SELECT hashes FROM tree WHERE pos = ?`

	qInsertHead = `INSERT OR IGNORE INTO head (size, root, note) VALUES (?,?,?)`
	qLastHead   = `SELECT size, note FROM head ORDER BY size DESC LIMIT 1`

	qTail       = `SELECT last_seq, last_hash, head, waiting FROM session WHERE id = ? AND deleted_at IS NULL`
	qDeleted    = `SELECT count(*) FROM session WHERE id = ? AND deleted_at IS NOT NULL`
	qNewSession = `INSERT INTO session (id, last_seq, last_pos, last_hash, archived, head, waiting) VALUES (?,?,?,?,?,?,?)`
	qSaveHead   = `UPDATE session SET last_seq = ?, last_pos = ?, last_hash = ?, archived = ?, head = ? WHERE id = ?`
	qSaveWaits  = `UPDATE session SET waiting = ? WHERE id = ?`

	qGetCall     = `SELECT state, attempt, decided FROM call WHERE session = ? AND id = ?`
	qNewCall     = `INSERT INTO call (session, id, state, attempt, decided) VALUES (?,?,?,?,?)`
	qSetCall     = `UPDATE call SET state = ?, attempt = ?, decided = ? WHERE session = ? AND id = ?`
	qGetApproval = `SELECT call, digest, answer, by_whom, at FROM approval WHERE session = ? AND id = ?`
	qPutApproval = `INSERT INTO approval (session, id, call, digest, answer, by_whom, at) VALUES (?,?,?,?,?,?,?)
		ON CONFLICT DO UPDATE SET answer = excluded.answer, by_whom = excluded.by_whom, at = excluded.at`
	qGetRun    = `SELECT started, finished FROM run WHERE session = ? AND id = ?`
	qPutRun    = `INSERT INTO run (session, id, started, finished) VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET finished = excluded.finished`
	qNewestRun = `SELECT id FROM run WHERE session = ? ORDER BY started DESC LIMIT 1`

	qLease        = `SELECT run, holder, generation, expires_at FROM lease WHERE session = ?`
	qFirstLease   = `INSERT INTO lease (session, run, holder, generation, expires_at) VALUES (?,?,?,1,?) ON CONFLICT DO NOTHING`
	qTakeLease    = `UPDATE lease SET run = ?, holder = ?, generation = generation + 1, expires_at = ? WHERE session = ? AND generation = ? AND holder = ? AND (holder = '' OR expires_at <= ? OR ?)`
	qRenewLease   = `UPDATE lease SET expires_at = ? WHERE session = ? AND generation = ? AND holder = ?`
	qReleaseLease = `UPDATE lease SET holder = '', expires_at = 0 WHERE session = ? AND generation = ? AND holder = ?`

	qCells   = `SELECT id, public_key FROM cell`
	qAddCell = `INSERT OR IGNORE INTO cell (id, public_key, first_seen) VALUES (?,?,?)`

	qRead       = `SELECT ` + eventColumns + ` FROM event WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?`
	qReadBefore = `SELECT ` + eventColumns + ` FROM event WHERE session = ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	qReadLedger = `SELECT ` + eventColumns + ` FROM event WHERE pos > ? ORDER BY pos LIMIT ?`
	qExists     = `SELECT count(*) FROM session WHERE id = ? AND deleted_at IS NULL`
	qView       = `SELECT head, waiting FROM session WHERE id = ? AND deleted_at IS NULL`
	qViews      = `SELECT head, waiting FROM session WHERE deleted_at IS NULL AND archived <= ? ORDER BY last_pos DESC`

	// Reads every page of the table and decodes nothing: a few microseconds a session.
	qBrokenHeads = `SELECT count(*) FROM session WHERE deleted_at IS NULL AND NOT (json_valid(head) AND json_valid(waiting))`

	qAddSearch = `INSERT INTO search (pos, folded) VALUES (?,?)`

	qPurgeBegin  = `INSERT INTO purge (session) VALUES (?)`
	qPurgeEvents = `UPDATE event SET payload = NULL, salt = NULL WHERE session = ?`
	qPurgeSearch = `DELETE FROM search WHERE pos IN (SELECT pos FROM event WHERE session = ?)`
	qPurgeCall   = `DELETE FROM call WHERE session = ?`
	qPurgeAppr   = `DELETE FROM approval WHERE session = ?`
	qPurgeLease  = `DELETE FROM lease WHERE session = ?`
	qPurgeRun    = `DELETE FROM run WHERE session = ?`
	qPurgeHead   = `UPDATE session SET head = '', waiting = '', deleted_at = ? WHERE id = ?`
	qPurgeEnd    = `DELETE FROM purge`
)
