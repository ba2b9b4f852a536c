-- last_usage --
SELECT * FROM usage ORDER BY seq DESC LIMIT 1;

-- add_usage --
INSERT INTO usage (seq, at, month, tokens, month_total)
VALUES (:seq, :at, :month, :tokens, :month_total);

-- usage_since --
SELECT seq, month, tokens FROM usage WHERE seq > :after ORDER BY seq LIMIT :limit;

-- last_audit --
SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1;

-- add_audit --
INSERT INTO audit (seq, at, actor, action, subject, detail, hash)
VALUES (:seq, :at, :actor, :action, :subject, :detail, :hash);

-- audit_since --
SELECT * FROM audit WHERE seq > :after ORDER BY seq LIMIT :limit;

-- newest_audit --
SELECT * FROM audit WHERE seq < :before ORDER BY seq DESC LIMIT :limit;

-- all_usage --
SELECT * FROM usage ORDER BY seq;

-- all_audit --
SELECT * FROM audit ORDER BY seq;

-- audit_by_hash --
-- From the end, where what is looked for usually is.
SELECT seq FROM audit WHERE hash = :hash ORDER BY seq DESC LIMIT 1;
