-- get_meta --
SELECT value FROM meta WHERE name = :name;

-- set_meta --
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- add_organization --
INSERT INTO organization (id, name, created_at) VALUES (:id, :name, :created_at);

-- organization_by_name --
SELECT * FROM organization WHERE name = :name;

-- organizations --
SELECT * FROM organization ORDER BY name;

-- add_project --
INSERT INTO project (id, organization_id, name, created_at)
VALUES (:id, :organization_id, :name, :created_at);

-- project_by_name --
SELECT * FROM project WHERE organization_id = :organization_id AND name = :name;

-- projects --
SELECT * FROM project ORDER BY name;

-- add_vault --
INSERT INTO vault (id, organization_id, project_id, account_id, kind, name, status, created_at)
VALUES (:id, :organization_id, :project_id, :account_id, :kind, :name, 'creating', :created_at);

-- vault --
SELECT * FROM vault WHERE id = :id;

-- vault_by_name --
SELECT * FROM vault
WHERE organization_id = :organization_id AND name = :name AND status <> 'erased';

-- vault_by_owner --
SELECT * FROM vault
WHERE organization_id = :organization_id AND name = :name AND account_id IS :account_id
    AND status <> 'erased';

-- vaults --
SELECT * FROM vault WHERE status <> 'erased' ORDER BY name;

-- unfinished_vaults --
SELECT * FROM vault WHERE status IN ('creating', 'erasing') OR pending IS NOT NULL;

-- dirty_vaults --
SELECT id FROM vault WHERE dirty = 1 AND status = 'ready' ORDER BY id;

-- set_dirty --
UPDATE vault SET dirty = :dirty WHERE id = :id;

-- make_ready --
UPDATE vault SET status = 'ready' WHERE id = :id AND status = 'creating';

-- set_pending --
UPDATE vault SET pending = :pending WHERE id = :id;

-- next_generation --
UPDATE vault SET generation = generation + 1 WHERE id = :id;

-- remove_unmade_vault --
DELETE FROM vault WHERE id = :id AND status = 'creating';

-- begin_erasure --
UPDATE vault SET status = 'erasing', pending = :pending WHERE id = :id AND status <> 'erased';

-- finish_erasure --
UPDATE vault SET status = 'erased', pending = NULL, dirty = 0, erased_at = :at WHERE id = :id;

-- add_key --
INSERT INTO key (id, digest, vault_id, name, hint, scopes, created_at)
VALUES (:id, :digest, :vault_id, :name, :hint, :scopes, :created_at);

-- key_by_digest --
-- The one look-up behind every call that carries a key.
SELECT key.id, key.vault_id, key.name, key.scopes, key.revoked_at, vault.status
FROM key JOIN vault ON vault.id = key.vault_id
WHERE key.digest = :digest;

-- keys --
SELECT key.*, vault.name AS vault_name FROM key JOIN vault ON vault.id = key.vault_id
ORDER BY key.created_at, key.id;

-- revoke_key --
UPDATE key SET revoked_at = :at WHERE id = :id AND revoked_at IS NULL;

-- key --
SELECT key.*, vault.name AS vault_name FROM key JOIN vault ON vault.id = key.vault_id
WHERE key.id = :id;

-- revoke_keys_of_vault --
UPDATE key SET revoked_at = :at WHERE vault_id = :vault_id AND revoked_at IS NULL;

-- key_use --
SELECT last_used_at, vault_id FROM key WHERE id = :id;

-- touch_key --
UPDATE key SET last_used_at = max(coalesce(last_used_at, 0), :at) WHERE id = :id;

-- rolled_up_to --
SELECT seq FROM usage_rolled WHERE vault_id = :vault_id;

-- add_usage --
INSERT INTO usage_month (vault_id, month, tokens) VALUES (:vault_id, :month, :tokens)
ON CONFLICT (vault_id, month) DO UPDATE SET tokens = tokens + excluded.tokens;

-- set_rolled_up_to --
INSERT INTO usage_rolled (vault_id, seq) VALUES (:vault_id, :seq)
ON CONFLICT (vault_id) DO UPDATE SET seq = excluded.seq;

-- usage_months --
SELECT month, tokens FROM usage_month WHERE vault_id = :vault_id ORDER BY month;

-- add_certificate --
INSERT INTO certificate (id, vault_id, issued_at, body)
VALUES (:id, :vault_id, :issued_at, :body);

-- certificate --
SELECT * FROM certificate WHERE id = :id;

-- last_audit --
SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1;

-- add_audit --
INSERT INTO audit (seq, at, actor, action, subject, detail, hash)
VALUES (:seq, :at, :actor, :action, :subject, :detail, :hash);

-- audit_since --
SELECT * FROM audit WHERE seq > :after ORDER BY seq LIMIT :limit;

-- newest_audit --
SELECT * FROM audit WHERE seq < :before ORDER BY seq DESC LIMIT :limit;

-- any_vault --
SELECT 1 FROM vault LIMIT 1;

-- anchors --
-- Heads of vaults' chains: noted from time to time, and in each certificate.
SELECT subject, detail FROM audit WHERE action IN ('vault.anchored', 'vault.forgotten')
ORDER BY seq;

-- last_anchor --
SELECT detail FROM audit
WHERE subject = :vault_id AND action IN ('vault.anchored', 'vault.forgotten')
ORDER BY seq DESC LIMIT 1;

-- losses --
SELECT at FROM audit WHERE action = 'audit.lost' ORDER BY seq;

-- audit_by_hash --
-- From the end, where what is looked for usually is.
SELECT seq FROM audit WHERE hash = :hash ORDER BY seq DESC LIMIT 1;
