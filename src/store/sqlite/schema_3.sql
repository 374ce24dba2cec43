-- Version 3: what sessions have to do with places outside.

-- A session stands here by the id of the wire, as in the intake index.
CREATE TABLE alias (
  tenant TEXT NOT NULL,
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  session TEXT NOT NULL,
  PRIMARY KEY (tenant, scope, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX alias_of_session ON alias (session);

CREATE TABLE delivery (
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (session, id)
) STRICT;

CREATE INDEX delivery_by_id ON delivery (id);
CREATE INDEX delivery_of_tenant ON delivery (tenant, created_at, id);
CREATE INDEX delivery_of_owner ON delivery (tenant, owner, created_at, id);
CREATE INDEX delivery_of_state ON delivery (tenant, state, created_at, id);

-- `id` is the first of a stranger's ids.
CREATE TABLE pairing (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  id TEXT NOT NULL,
  code TEXT NOT NULL,
  status TEXT NOT NULL,
  asked_at INTEGER NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (tenant, channel, account, id)
) STRICT;

CREATE UNIQUE INDEX pairing_by_code ON pairing (tenant, code);
CREATE INDEX pairing_by_age ON pairing (tenant, asked_at, code);

-- Each id of a stranger, and the first of them.
CREATE TABLE pairing_id (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  id TEXT NOT NULL,
  first TEXT NOT NULL,
  PRIMARY KEY (tenant, channel, account, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX pairing_id_of_first ON pairing_id (tenant, channel, account, first);
