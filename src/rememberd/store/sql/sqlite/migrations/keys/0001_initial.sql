-- Each vault's key, wrapped by the master key. Destroying a row is what erases a vault.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE vault_key (
    vault_id   TEXT NOT NULL,
    version    INTEGER NOT NULL,
    wrapped    BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (vault_id, version)
) WITHOUT ROWID;

-- Which key versions an export holds, so that an erasure certificate can say so.
CREATE TABLE export (
    vault_id    TEXT NOT NULL,
    version     INTEGER NOT NULL,
    exported_at INTEGER NOT NULL
);
