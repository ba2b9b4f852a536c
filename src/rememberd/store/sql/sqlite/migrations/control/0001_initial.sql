-- Who may open which vault. No memory text lives here. Times are microseconds since 1970, UTC.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE organization (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE project (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organization (id),
    name            TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    UNIQUE (organization_id, name)
) WITHOUT ROWID;

CREATE TABLE account (
    id         TEXT PRIMARY KEY,
    email      TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- The vault registry. `generation` names the file and the key version; `pending` holds what a
-- life-cycle step must finish after a crash, as JSON.
CREATE TABLE vault (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organization (id),
    project_id      TEXT REFERENCES project (id),
    account_id      TEXT REFERENCES account (id),
    kind            TEXT NOT NULL,
    name            TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('creating', 'ready', 'erasing', 'erased')),
    generation      INTEGER NOT NULL DEFAULT 1,
    pending         TEXT,
    dirty           INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL,
    erased_at       INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX vault_by_name ON vault (organization_id, name) WHERE status <> 'erased';
CREATE INDEX vault_by_work ON vault (status, dirty) WHERE dirty = 1 OR status <> 'ready';

CREATE TABLE key (
    id           TEXT PRIMARY KEY,
    digest       BLOB NOT NULL UNIQUE,
    vault_id     TEXT NOT NULL REFERENCES vault (id),
    name         TEXT NOT NULL,
    hint         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) WITHOUT ROWID;

-- Usage rolled up from the vaults, each delta applied once by (vault, sequence).
CREATE TABLE usage_month (
    vault_id TEXT NOT NULL,
    month    TEXT NOT NULL,
    tokens   INTEGER NOT NULL,
    PRIMARY KEY (vault_id, month)
) WITHOUT ROWID;
CREATE TABLE usage_rolled (
    vault_id TEXT PRIMARY KEY,
    seq      INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE certificate (
    id        TEXT PRIMARY KEY,
    vault_id  TEXT NOT NULL,
    issued_at INTEGER NOT NULL,
    body      TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE audit (
    seq     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail  TEXT NOT NULL,
    hash    TEXT NOT NULL
);
-- REPLACE deletes without firing a delete trigger, so what is there already is refused by the third.
CREATE TRIGGER audit_is_append_only_1 BEFORE UPDATE ON audit
BEGIN SELECT RAISE (ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_is_append_only_2 BEFORE DELETE ON audit
BEGIN SELECT RAISE (ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_is_append_only_3 BEFORE INSERT ON audit
WHEN new.seq <= (SELECT max(seq) FROM audit)
BEGIN SELECT RAISE (ABORT, 'audit is append-only'); END;
