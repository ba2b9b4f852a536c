-- meta --
SELECT value FROM meta WHERE name = :name;

-- set_meta --
INSERT INTO meta (name, value) VALUES (:name, :value);

-- put_meta --
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- wrapped_key --
SELECT wrapped FROM vault_key WHERE vault_id = :vault_id AND version = :version;

-- all_keys --
SELECT vault_id, version, wrapped FROM vault_key ORDER BY vault_id, version;

-- versions --
SELECT version FROM vault_key WHERE vault_id = :vault_id ORDER BY version;

-- put_key --
INSERT INTO vault_key (vault_id, version, wrapped, created_at)
VALUES (:vault_id, :version, :wrapped, :created_at);

-- destroy_key --
DELETE FROM vault_key WHERE vault_id = :vault_id AND version = :version;

-- note_destroyed --
-- Unless the key is here.
INSERT OR IGNORE INTO destroyed (vault_id, version, destroyed_at)
SELECT :vault_id, :version, :at
WHERE NOT EXISTS (
    SELECT 1 FROM vault_key
    WHERE vault_key.vault_id = :vault_id AND vault_key.version = :version
);

-- forget_destruction --
DELETE FROM destroyed WHERE vault_id = :vault_id AND version = :version;

-- destroyed --
SELECT vault_id, version FROM destroyed ORDER BY vault_id, version;

-- is_destroyed --
SELECT 1 FROM destroyed WHERE vault_id = :vault_id AND version = :version;

-- record_export --
-- An export can be taken in more than once.
INSERT INTO export (vault_id, version, exported_at)
SELECT :vault_id, :version, :exported_at
WHERE NOT EXISTS (
    SELECT 1 FROM export
    WHERE vault_id = :vault_id AND version = :version AND exported_at = :exported_at
);

-- exported_versions --
SELECT DISTINCT version FROM export WHERE vault_id = :vault_id ORDER BY version;

-- last_export --
SELECT max(exported_at) FROM export;

-- unexported --
SELECT count(*)
FROM vault_key
WHERE NOT EXISTS (
    SELECT 1 FROM export
    WHERE export.vault_id = vault_key.vault_id AND export.version = vault_key.version
);
