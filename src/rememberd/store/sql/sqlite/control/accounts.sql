-- add_account --
INSERT INTO account (id, email, name, password, created_at)
VALUES (:id, :email, :name, :password, :created_at);

-- account --
SELECT * FROM account WHERE id = :id;

-- account_by_email --
SELECT * FROM account WHERE email = :email;

-- accounts --
-- Everybody, with the ways in that each of them has left.
SELECT account.*,
    (SELECT count(*) FROM passkey WHERE passkey.account_id = account.id) AS passkeys,
    (
        SELECT count(*) FROM recovery_code
        WHERE recovery_code.account_id = account.id AND recovery_code.used_at IS NULL
    ) AS recovery_codes
FROM account
ORDER BY account.created_at, account.id;

-- any_account --
SELECT 1 FROM account LIMIT 1;

-- set_password --
UPDATE account SET password = :password WHERE id = :id;

-- password_is --
-- Still the hash that was checked? Checking takes so long that another may have come meanwhile.
SELECT 1 FROM account WHERE id = :id AND password IS :password;

-- add_member --
INSERT INTO member (organization_id, account_id, role, created_at)
VALUES (:organization_id, :account_id, :role, :created_at)
ON CONFLICT (organization_id, account_id) DO UPDATE SET role = excluded.role;

-- add_project_member --
INSERT INTO project_member (project_id, account_id, role, created_at)
VALUES (:project_id, :account_id, :role, :created_at)
ON CONFLICT (project_id, account_id) DO UPDATE SET role = excluded.role;

-- remove_member --
DELETE FROM member WHERE organization_id = :organization_id AND account_id = :account_id;

-- remove_project_members --
DELETE FROM project_member
WHERE account_id = :account_id
    AND project_id IN (SELECT id FROM project WHERE organization_id = :organization_id);

-- remove_project_member --
DELETE FROM project_member WHERE project_id = :project_id AND account_id = :account_id;

-- project_members --
SELECT project_member.*, account.email, account.name
FROM project_member JOIN account ON account.id = project_member.account_id
WHERE project_member.project_id = :project_id
ORDER BY account.email;

-- members --
SELECT member.*, account.email, account.name
FROM member JOIN account ON account.id = member.account_id
WHERE member.organization_id = :organization_id
ORDER BY account.email;

-- memberships --
SELECT member.role, organization.id, organization.name, organization.created_at
FROM member JOIN organization ON organization.id = member.organization_id
WHERE member.account_id = :account_id
ORDER BY organization.name;

-- organization_name --
SELECT name FROM organization WHERE id = :id;

-- first_owner --
-- Whose what the command line makes is, once somebody has signed in.
SELECT account_id FROM member WHERE role = 'owner' ORDER BY created_at LIMIT 1;

-- count_owners --
SELECT count(*) FROM member WHERE organization_id = :organization_id AND role = 'owner';

-- claim_vaults --
-- Vaults made before anyone signed in now belong to the first account.
UPDATE vault SET account_id = :account_id WHERE kind = 'personal' AND account_id IS NULL;

-- reachable_vaults --
-- Every vault an account may open, with what decides its role there.
SELECT vault.*, project.name AS project_name, organization.name AS organization_name,
    member.role AS organization_role, project_member.role AS project_role
FROM vault
JOIN organization ON organization.id = vault.organization_id
LEFT JOIN project ON project.id = vault.project_id
LEFT JOIN member
    ON member.organization_id = vault.organization_id AND member.account_id = :account_id
LEFT JOIN project_member
    ON project_member.project_id = vault.project_id AND project_member.account_id = :account_id
WHERE vault.status = 'ready'
    AND vault.kind <> 'partition'
    AND (vault.account_id = :account_id OR member.role IS NOT NULL OR project_member.role IS NOT NULL)
ORDER BY vault.kind, vault.name;

-- add_invitation --
INSERT INTO invitation (
    id, digest, kind, organization_id, project_id, role, email, created_by, created_at, expires_at
)
VALUES (
    :id, :digest, :kind, :organization_id, :project_id, :role, :email, :created_by, :created_at,
    :expires_at
);

-- invitation --
SELECT * FROM invitation WHERE digest = :digest;

-- use_invitation --
UPDATE invitation SET used_at = :at WHERE id = :id AND used_at IS NULL AND expires_at > :at;

-- drop_setup_invitations --
DELETE FROM invitation WHERE kind = 'setup' AND used_at IS NULL;

-- invitations --
SELECT * FROM invitation
WHERE organization_id = :organization_id AND kind = 'invite' AND used_at IS NULL
    AND expires_at > :now
ORDER BY created_at;

-- withdraw_invitation --
DELETE FROM invitation
WHERE id = :id AND organization_id = :organization_id AND used_at IS NULL;

-- withdraw_invitations_by --
DELETE FROM invitation
WHERE organization_id = :organization_id AND created_by = :account_id AND used_at IS NULL;

-- add_passkey --
INSERT INTO passkey (id, account_id, credential, public_key, sign_count, name, created_at)
VALUES (:id, :account_id, :credential, :public_key, :sign_count, :name, :created_at);

-- passkeys --
SELECT * FROM passkey WHERE account_id = :account_id ORDER BY created_at;

-- passkey --
SELECT * FROM passkey WHERE credential = :credential;

-- use_passkey --
UPDATE passkey SET sign_count = :sign_count, last_used_at = :at WHERE id = :id;

-- remove_passkey --
DELETE FROM passkey WHERE id = :id AND account_id = :account_id;

-- drop_recovery_codes --
DELETE FROM recovery_code WHERE account_id = :account_id;

-- add_recovery_code --
INSERT INTO recovery_code (digest, account_id) VALUES (:digest, :account_id);

-- use_recovery_code --
UPDATE recovery_code SET used_at = :at
WHERE digest = :digest AND account_id = :account_id AND used_at IS NULL;

-- recovery_codes_left --
SELECT count(*) FROM recovery_code WHERE account_id = :account_id AND used_at IS NULL;

-- add_session --
INSERT INTO session (digest, account_id, created_at, signed_in_at, seen_at, expires_at)
VALUES (:digest, :account_id, :created_at, :signed_in_at, :created_at, :expires_at);

-- session --
SELECT session.*, account.email, account.name, account.disabled_at
FROM session LEFT JOIN account ON account.id = session.account_id
WHERE session.digest = :digest;

-- touch_session --
UPDATE session SET seen_at = :at, expires_at = :expires_at WHERE digest = :digest;

-- set_challenge --
UPDATE session SET challenge = :challenge WHERE digest = :digest;

-- end_session --
DELETE FROM session WHERE digest = :digest;

-- end_sessions --
DELETE FROM session WHERE account_id = :account_id AND digest <> :but;

-- count_sessions --
SELECT count(*) FROM session
WHERE account_id = :account_id AND digest <> :but AND expires_at > :now;

-- expire_sessions --
DELETE FROM session WHERE expires_at <= :now;
