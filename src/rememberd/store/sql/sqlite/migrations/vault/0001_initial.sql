-- Everything about the memories of one vault. Times are microseconds since 1970, UTC.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- One stored statement. `seq` is the order of arrival; `at` is what date search sorts by.
CREATE TABLE memory (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    tier            INTEGER NOT NULL CHECK (tier IN (1, 2, 3)),
    importance      INTEGER CHECK (importance BETWEEN 1 AND 10),
    tokens          INTEGER NOT NULL,
    source          TEXT NOT NULL CHECK (source IN ('user_stated', 'agent_inferred', 'third_party')),
    created_at      INTEGER NOT NULL,
    occurred_at     INTEGER,
    at              INTEGER NOT NULL,
    until           INTEGER NOT NULL,
    consolidated_at INTEGER,
    batch_id        TEXT,
    embedded        INTEGER,
    superseded_by   TEXT,
    valid_until     INTEGER,
    lost_sources    INTEGER NOT NULL DEFAULT 0,
    app             TEXT,
    source_context  TEXT,
    tags            TEXT NOT NULL DEFAULT '[]',
    text            TEXT NOT NULL,
    CHECK (importance IS NULL OR tier > 1)
);
CREATE INDEX memory_by_time ON memory (at, seq);
CREATE INDEX memory_by_debt ON memory (tier, seq) WHERE consolidated_at IS NULL;
CREATE INDEX memory_by_vector ON memory (embedded, seq);

-- Running totals by tier, kept by triggers, so that status and search need not count. `open` is 1
-- for memories that no reflection covers yet.
CREATE TABLE tally (
    tier     INTEGER NOT NULL,
    open     INTEGER NOT NULL,
    memories INTEGER NOT NULL DEFAULT 0,
    tokens   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tier, open)
) WITHOUT ROWID;
INSERT INTO tally (tier, open) VALUES (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1);

CREATE TRIGGER tally_stored AFTER INSERT ON memory
BEGIN
    UPDATE tally SET memories = memories + 1, tokens = tokens + new.tokens
    WHERE tier = new.tier AND open = (new.consolidated_at IS NULL);
END;
CREATE TRIGGER tally_deleted AFTER DELETE ON memory
BEGIN
    UPDATE tally SET memories = memories - 1, tokens = tokens - old.tokens
    WHERE tier = old.tier AND open = (old.consolidated_at IS NULL);
END;
CREATE TRIGGER tally_consolidated AFTER UPDATE OF consolidated_at ON memory
BEGIN
    UPDATE tally SET memories = memories - 1, tokens = tokens - old.tokens
    WHERE tier = old.tier AND open = (old.consolidated_at IS NULL);
    UPDATE tally SET memories = memories + 1, tokens = tokens + new.tokens
    WHERE tier = new.tier AND open = (new.consolidated_at IS NULL);
END;

-- The text index. The terms are ours (store/analysis.py), so the tokenizer only splits at spaces.
-- Plain, not contentless: contentless tables keep deleted terms. All we ask of it is which memories
-- hold a term, so it keeps neither positions nor lengths.
CREATE VIRTUAL TABLE memory_text USING fts5 (
    terms, tokenize = 'ascii', detail = 'none', columnsize = 0
);
INSERT INTO memory_text (memory_text, rank) VALUES ('secure-delete', 1);

-- Embedding models this vault has vectors of; `active` answers queries.
CREATE TABLE model (
    id        INTEGER PRIMARY KEY,
    identity  TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL,
    active    INTEGER NOT NULL DEFAULT 0
);

-- One int8 vector a passage. `change` grows, so a cache can ask for what is new.
CREATE TABLE vector (
    change  INTEGER PRIMARY KEY AUTOINCREMENT,
    model   INTEGER NOT NULL REFERENCES model (id),
    memory  INTEGER NOT NULL,
    passage INTEGER NOT NULL,
    data    BLOB NOT NULL,
    UNIQUE (memory, model, passage)
);

-- Which memories a reflection was built from.
CREATE TABLE lineage (
    reflection INTEGER NOT NULL,
    source     INTEGER NOT NULL,
    PRIMARY KEY (reflection, source)
) WITHOUT ROWID;
CREATE INDEX lineage_by_source ON lineage (source);

-- Memories checked out for reflection. A lease's end is a condition, not a job.
CREATE TABLE batch (
    id           TEXT PRIMARY KEY,
    tier         INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    committed_at INTEGER,
    result       TEXT
) WITHOUT ROWID;
CREATE TABLE batch_member (
    batch_id  TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (batch_id, seq)
) WITHOUT ROWID;

-- The ledger: append-only. Rows hold ids, counts and times, never memory text.

CREATE TABLE usage (
    seq         INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    month       TEXT NOT NULL,
    tokens      INTEGER NOT NULL,
    month_total INTEGER NOT NULL
);

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
CREATE TRIGGER usage_is_append_only_1 BEFORE UPDATE ON usage
BEGIN SELECT RAISE (ABORT, 'usage is append-only'); END;
CREATE TRIGGER usage_is_append_only_2 BEFORE DELETE ON usage
BEGIN SELECT RAISE (ABORT, 'usage is append-only'); END;
CREATE TRIGGER usage_is_append_only_3 BEFORE INSERT ON usage
WHEN new.seq <= (SELECT max(seq) FROM usage)
BEGIN SELECT RAISE (ABORT, 'usage is append-only'); END;
CREATE TRIGGER audit_is_append_only_1 BEFORE UPDATE ON audit
BEGIN SELECT RAISE (ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_is_append_only_2 BEFORE DELETE ON audit
BEGIN SELECT RAISE (ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_is_append_only_3 BEFORE INSERT ON audit
WHEN new.seq <= (SELECT max(seq) FROM audit)
BEGIN SELECT RAISE (ABORT, 'audit is append-only'); END;
