-- A name belongs to whoever owns the vault: two people may each have one called "personal", and a
-- taken name tells nobody what somebody else has.
DROP INDEX vault_by_name;
CREATE UNIQUE INDEX vault_by_name ON vault (organization_id, name, coalesce(account_id, ''))
WHERE status <> 'erased';
