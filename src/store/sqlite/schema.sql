-- Version 1. Times are milliseconds since the Unix epoch.

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- `n` stands for the session in every other table: a small integer, and the id of the wire once.
CREATE TABLE session (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  channel TEXT NOT NULL,
  parent TEXT,
  created_at INTEGER NOT NULL,
  deleted INTEGER NOT NULL DEFAULT 0,
  head INTEGER NOT NULL,
  wake_at INTEGER,
  overview TEXT NOT NULL
) STRICT;

CREATE INDEX session_of_tenant ON session (tenant, created_at, id) WHERE deleted = 0 AND parent IS NULL;
CREATE INDEX session_of_owner ON session (tenant, owner, created_at, id) WHERE deleted = 0 AND parent IS NULL;
CREATE INDEX session_due ON session (wake_at, id) WHERE deleted = 0 AND wake_at IS NOT NULL;
CREATE INDEX session_marked ON session (id) WHERE deleted = 1;
CREATE INDEX session_child ON session (parent) WHERE parent IS NOT NULL;

CREATE TABLE record (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

-- The kinds of TRANSCRIPT_KINDS, word for word as the query has them.
CREATE INDEX record_of_transcript ON record (session, seq)
  WHERE kind IN ('message_queued', 'message_removed', 'turn_start', 'queue_drain', 'message');

-- Outlives its session, which therefore stands here by its id.
CREATE TABLE intake (
  tenant TEXT NOT NULL,
  scope TEXT NOT NULL,
  external_id TEXT NOT NULL,
  session TEXT NOT NULL,
  message_id TEXT,
  seq INTEGER NOT NULL,
  body_hash TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (tenant, scope, external_id)
) STRICT;

CREATE INDEX intake_by_age ON intake (at);
CREATE INDEX intake_of_session ON intake (session);

CREATE TABLE blob (
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (session, id)
) STRICT;

CREATE TABLE snapshot (
  session INTEGER PRIMARY KEY,
  fold_version INTEGER NOT NULL,
  through_seq INTEGER NOT NULL,
  state BLOB NOT NULL
) STRICT;

CREATE TABLE item (
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  status TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (session, id)
) STRICT;

CREATE INDEX item_approval ON item (tenant, requested_at, id) WHERE kind = 'approval';
CREATE INDEX item_approval_of_owner ON item (tenant, owner, requested_at, id) WHERE kind = 'approval';
CREATE INDEX item_approval_open ON item (tenant, requested_at, id) WHERE kind = 'approval' AND status = 'pending';
CREATE INDEX item_by_id ON item (id);
