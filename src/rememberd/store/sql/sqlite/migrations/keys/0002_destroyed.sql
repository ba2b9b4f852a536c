-- Keys that were destroyed for good: an export that still holds one must not bring it back.

CREATE TABLE destroyed (
    vault_id     TEXT NOT NULL,
    version      INTEGER NOT NULL,
    destroyed_at INTEGER NOT NULL,
    PRIMARY KEY (vault_id, version)
) WITHOUT ROWID;
