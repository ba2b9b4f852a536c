-- put_client --
INSERT INTO client (
    id, kind, name, redirect_uris, auth_method, secret_digest, jwks, jwks_uri, metadata,
    created_at, fetched_at, stale_at
)
VALUES (
    :id, :kind, :name, :redirect_uris, :auth_method, :secret_digest, :jwks, :jwks_uri, :metadata,
    :created_at, :fetched_at, :stale_at
)
ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, redirect_uris = excluded.redirect_uris,
    auth_method = excluded.auth_method, jwks = excluded.jwks, jwks_uri = excluded.jwks_uri,
    metadata = excluded.metadata, fetched_at = excluded.fetched_at, stale_at = excluded.stale_at;

-- client --
SELECT * FROM client WHERE id = :id;

-- touch_client --
UPDATE client SET used_at = max(coalesce(used_at, 0), :at) WHERE id = :id;

-- count_never_used --
SELECT count(*) FROM client WHERE kind = 'registered' AND used_at IS NULL;

-- expire_clients --
-- Registrations that nobody ever used; one that was used lives on, since clients keep its id.
DELETE FROM client WHERE used_at IS NULL AND coalesce(fetched_at, created_at) <= :before;

-- drop_oldest_never_used --
DELETE FROM client WHERE id IN (
    SELECT id FROM client WHERE kind = 'registered' AND used_at IS NULL
    ORDER BY created_at LIMIT :count
);

-- add_request --
INSERT INTO authorization_request (id, session_digest, request, created_at, expires_at)
VALUES (:id, :session_digest, :request, :created_at, :expires_at);

-- request --
SELECT * FROM authorization_request WHERE id = :id;

-- rebind_requests --
-- Signing in gives the browser a new session; what it was in the middle of comes along.
UPDATE authorization_request SET session_digest = :to WHERE session_digest = :from;

-- answer_request --
UPDATE authorization_request SET answer = :answer WHERE id = :id AND answer IS NULL;

-- expire_requests --
DELETE FROM authorization_request WHERE expires_at <= :now;

-- add_grant --
INSERT INTO oauth_grant (
    id, account_id, client_id, client_name, vault_id, resource, scopes, redirect_uri,
    document_digest, created_at, expires_at
)
VALUES (
    :id, :account_id, :client_id, :client_name, :vault_id, :resource, :scopes, :redirect_uri,
    :document_digest, :created_at, :expires_at
);

-- grant --
SELECT oauth_grant.*, vault.name AS vault_name
FROM oauth_grant JOIN vault ON vault.id = oauth_grant.vault_id
WHERE oauth_grant.id = :id;

-- grants_of_account --
SELECT oauth_grant.*, vault.name AS vault_name
FROM oauth_grant JOIN vault ON vault.id = oauth_grant.vault_id
WHERE oauth_grant.account_id = :account_id
ORDER BY oauth_grant.revoked_at IS NOT NULL, oauth_grant.created_at DESC, oauth_grant.id DESC;

-- set_grant_scopes --
UPDATE oauth_grant SET scopes = :scopes WHERE id = :id AND revoked_at IS NULL;

-- revoke_grant --
UPDATE oauth_grant SET revoked_at = :at, revoked_why = :why WHERE id = :id AND revoked_at IS NULL;

-- revoke_grants_of_vault --
UPDATE oauth_grant SET revoked_at = :at, revoked_why = 'vault erased'
WHERE vault_id = :vault_id AND revoked_at IS NULL;

-- grant_use --
SELECT last_used_at, vault_id FROM oauth_grant WHERE id = :id;

-- touch_grant --
UPDATE oauth_grant SET last_used_at = max(coalesce(last_used_at, 0), :at) WHERE id = :id;

-- add_code --
INSERT INTO authorization_code (digest, grant_id, client_id, redirect_uri, challenge, expires_at)
VALUES (:digest, :grant_id, :client_id, :redirect_uri, :challenge, :expires_at);

-- code --
SELECT * FROM authorization_code WHERE digest = :digest;

-- use_code --
UPDATE authorization_code SET used_at = :at WHERE digest = :digest AND used_at IS NULL;

-- expire_codes --
DELETE FROM authorization_code WHERE expires_at <= :before;

-- add_access_token --
INSERT INTO access_token (digest, grant_id, scopes, expires_at)
VALUES (:digest, :grant_id, :scopes, :expires_at);

-- access_token --
-- The one look-up behind every call with a token: the token, its grant, and the role its owner has
-- in the vault today.
SELECT access_token.scopes AS token_scopes, access_token.expires_at AS token_expires_at,
    oauth_grant.id AS grant_id, oauth_grant.account_id, oauth_grant.client_id,
    oauth_grant.client_name, oauth_grant.vault_id, oauth_grant.resource, oauth_grant.scopes,
    oauth_grant.expires_at, oauth_grant.revoked_at, account.disabled_at,
    vault.status, vault.kind, vault.account_id AS vault_account_id,
    member.role AS organization_role, project_member.role AS project_role
FROM access_token
JOIN oauth_grant ON oauth_grant.id = access_token.grant_id
JOIN account ON account.id = oauth_grant.account_id
JOIN vault ON vault.id = oauth_grant.vault_id
LEFT JOIN member
    ON member.organization_id = vault.organization_id
    AND member.account_id = oauth_grant.account_id
LEFT JOIN project_member
    ON project_member.project_id = vault.project_id
    AND project_member.account_id = oauth_grant.account_id
WHERE access_token.digest = :digest;

-- standing --
-- The same of a grant, for whoever wants a token by it.
SELECT oauth_grant.account_id, account.disabled_at,
    vault.status, vault.kind, vault.account_id AS vault_account_id,
    member.role AS organization_role, project_member.role AS project_role
FROM oauth_grant
JOIN account ON account.id = oauth_grant.account_id
JOIN vault ON vault.id = oauth_grant.vault_id
LEFT JOIN member
    ON member.organization_id = vault.organization_id
    AND member.account_id = oauth_grant.account_id
LEFT JOIN project_member
    ON project_member.project_id = vault.project_id
    AND project_member.account_id = oauth_grant.account_id
WHERE oauth_grant.id = :grant_id;

-- drop_access_token --
DELETE FROM access_token WHERE digest = :digest;

-- drop_access_tokens --
DELETE FROM access_token WHERE grant_id = :grant_id;

-- expire_access_tokens --
DELETE FROM access_token WHERE expires_at <= :before;

-- add_refresh_token --
INSERT INTO refresh_token (digest, grant_id, place, told, narrowed, expires_at)
VALUES (:digest, :grant_id, :place, :told, :narrowed, :expires_at);

-- refresh_token --
SELECT refresh_token.*, oauth_grant.client_id, oauth_grant.revoked_at,
    oauth_grant.expires_at AS grant_expires_at, oauth_grant.scopes, oauth_grant.resource,
    (
        SELECT max(newest.place) FROM refresh_token AS newest
        WHERE newest.grant_id = refresh_token.grant_id
    ) AS newest_place
FROM refresh_token JOIN oauth_grant ON oauth_grant.id = refresh_token.grant_id
WHERE refresh_token.digest = :digest;

-- rotate_refresh_token --
UPDATE refresh_token SET rotated_at = :at WHERE digest = :digest AND rotated_at IS NULL;

-- expire_refresh_tokens --
DELETE FROM refresh_token WHERE expires_at <= :before;

-- remember_assertion --
INSERT INTO assertion (digest, expires_at) VALUES (:digest, :expires_at)
ON CONFLICT (digest) DO NOTHING;

-- expire_assertions --
DELETE FROM assertion WHERE expires_at <= :now;
