-- People, how they sign in, and what they let clients do. Secrets are stored as hashes alone.

ALTER TABLE account ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE account ADD COLUMN password TEXT;
ALTER TABLE account ADD COLUMN disabled_at INTEGER;

CREATE TABLE member (
    organization_id TEXT NOT NULL REFERENCES organization (id),
    account_id      TEXT NOT NULL REFERENCES account (id),
    role            TEXT NOT NULL CHECK (role IN ('owner', 'editor', 'reader')),
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (organization_id, account_id)
) WITHOUT ROWID;
CREATE INDEX member_by_account ON member (account_id);

CREATE TABLE project_member (
    project_id TEXT NOT NULL REFERENCES project (id),
    account_id TEXT NOT NULL REFERENCES account (id),
    role       TEXT NOT NULL CHECK (role IN ('owner', 'editor', 'reader')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, account_id)
) WITHOUT ROWID;
CREATE INDEX project_member_by_account ON project_member (account_id);

-- A link that may be used once: the first set-up, or an invitation.
CREATE TABLE invitation (
    id              TEXT PRIMARY KEY,
    digest          BLOB NOT NULL UNIQUE,
    kind            TEXT NOT NULL CHECK (kind IN ('setup', 'invite')),
    organization_id TEXT NOT NULL REFERENCES organization (id),
    project_id      TEXT REFERENCES project (id),
    role            TEXT NOT NULL CHECK (role IN ('owner', 'editor', 'reader')),
    email           TEXT,
    created_by      TEXT,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    used_at         INTEGER
) WITHOUT ROWID;

CREATE TABLE passkey (
    id           TEXT PRIMARY KEY,
    account_id   TEXT NOT NULL REFERENCES account (id),
    credential   BLOB NOT NULL UNIQUE,
    public_key   BLOB NOT NULL,
    sign_count   INTEGER NOT NULL,
    name         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER
) WITHOUT ROWID;
CREATE INDEX passkey_by_account ON passkey (account_id);

CREATE TABLE recovery_code (
    digest     BLOB PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (id),
    used_at    INTEGER
) WITHOUT ROWID;
CREATE INDEX recovery_code_by_account ON recovery_code (account_id);

-- A browser's session. Without an account it only carries what a form needs before sign-in.
CREATE TABLE session (
    digest         BLOB PRIMARY KEY,
    account_id     TEXT REFERENCES account (id),
    challenge      BLOB,
    created_at     INTEGER NOT NULL,
    signed_in_at   INTEGER,
    seen_at        INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_by_account ON session (account_id);
CREATE INDEX session_by_end ON session (expires_at);

-- OAuth clients: registered here (RFC 7591), or the last document of a client that is a URL.
CREATE TABLE client (
    id              TEXT PRIMARY KEY,
    kind            TEXT NOT NULL CHECK (kind IN ('registered', 'document')),
    name            TEXT NOT NULL,
    redirect_uris   TEXT NOT NULL,
    auth_method     TEXT NOT NULL,
    secret_digest   BLOB,
    jwks            TEXT,
    jwks_uri        TEXT,
    metadata        TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    fetched_at      INTEGER,
    stale_at        INTEGER,
    used_at         INTEGER
) WITHOUT ROWID;
CREATE INDEX client_never_used ON client (created_at) WHERE used_at IS NULL;

-- One grant: one account, one client, one vault, some scopes. The vault never changes. Revoked
-- grants stay: a missing row must never come to mean "allowed".
CREATE TABLE oauth_grant (
    id              TEXT PRIMARY KEY,
    account_id      TEXT NOT NULL REFERENCES account (id),
    client_id       TEXT NOT NULL,
    client_name     TEXT NOT NULL,
    vault_id        TEXT NOT NULL REFERENCES vault (id),
    resource        TEXT NOT NULL,
    scopes          TEXT NOT NULL,
    redirect_uri    TEXT NOT NULL,
    document_digest TEXT,
    created_at      INTEGER NOT NULL,
    last_used_at    INTEGER,
    expires_at      INTEGER NOT NULL,
    revoked_at      INTEGER,
    revoked_why     TEXT
) WITHOUT ROWID;
CREATE INDEX oauth_grant_by_account ON oauth_grant (account_id, created_at);
CREATE INDEX oauth_grant_by_vault ON oauth_grant (vault_id);

-- An authorization request on its way through sign-in and consent, bound to one browser.
CREATE TABLE authorization_request (
    id             TEXT PRIMARY KEY,
    session_digest BLOB NOT NULL,
    request        TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    answer         TEXT
) WITHOUT ROWID;
CREATE INDEX authorization_request_by_end ON authorization_request (expires_at);

CREATE TABLE authorization_code (
    digest         BLOB PRIMARY KEY,
    grant_id       TEXT NOT NULL REFERENCES oauth_grant (id),
    client_id      TEXT NOT NULL,
    redirect_uri   TEXT,
    challenge      TEXT NOT NULL,
    expires_at     INTEGER NOT NULL,
    used_at        INTEGER
) WITHOUT ROWID;
CREATE INDEX authorization_code_by_end ON authorization_code (expires_at);

CREATE TABLE access_token (
    digest     BLOB PRIMARY KEY,
    grant_id   TEXT NOT NULL REFERENCES oauth_grant (id),
    scopes     TEXT,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX access_token_by_grant ON access_token (grant_id);
CREATE INDEX access_token_by_end ON access_token (expires_at);

-- The chain of refresh tokens of a grant. One is current; the one before it may be repeated for a
-- short while, anything older is theft (RFC 9700 §4.14.2). `told` are the scopes that came with it,
-- `narrowed` whether its client had asked for less than it could have.
CREATE TABLE refresh_token (
    digest     BLOB PRIMARY KEY,
    grant_id   TEXT NOT NULL REFERENCES oauth_grant (id),
    place      INTEGER NOT NULL,
    told       TEXT NOT NULL,
    narrowed   INTEGER NOT NULL,
    rotated_at INTEGER,
    expires_at INTEGER NOT NULL,
    UNIQUE (grant_id, place)
) WITHOUT ROWID;
CREATE INDEX refresh_token_by_end ON refresh_token (expires_at);

-- Client assertions that were seen (RFC 7523 §3, jti), until they expire.
CREATE TABLE assertion (
    digest     BLOB PRIMARY KEY,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
