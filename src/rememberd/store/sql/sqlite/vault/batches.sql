-- checkout --
-- The oldest memories of a tier that are neither consolidated nor held by a live lease.
SELECT memory.* FROM memory
LEFT JOIN batch ON batch.id = memory.batch_id
WHERE memory.tier = :tier
    AND memory.consolidated_at IS NULL
    AND (memory.batch_id IS NULL OR batch.id IS NULL OR batch.expires_at <= :now)
ORDER BY memory.seq
LIMIT :limit;

-- add_batch --
INSERT INTO batch (id, tier, created_at, expires_at) VALUES (:id, :tier, :created_at, :expires_at);

-- add_member --
INSERT INTO batch_member (batch_id, memory_id, seq) VALUES (:batch_id, :memory_id, :seq);

-- lease --
UPDATE memory SET batch_id = :batch_id WHERE seq = :seq;

-- batch --
SELECT * FROM batch WHERE id = :id;

-- members --
SELECT batch_member.memory_id, batch_member.seq AS member_seq, memory.id IS NOT NULL AS exists_still,
    memory.batch_id, memory.consolidated_at, memory.at, memory.until
FROM batch_member
LEFT JOIN memory ON memory.seq = batch_member.seq
WHERE batch_member.batch_id = :batch_id
ORDER BY batch_member.seq;

-- consolidate --
UPDATE memory SET consolidated_at = :now WHERE seq = :seq;

-- held --
-- What live leases hold, by tier, and when the last of them ends. Asked at each search: from the few
-- batches to their memories, never the other way round.
SELECT memory.tier, count(*) AS memories, sum(memory.tokens) AS tokens, max(batch.expires_at) AS until
FROM batch
CROSS JOIN batch_member ON batch_member.batch_id = batch.id
CROSS JOIN memory ON memory.seq = batch_member.seq AND memory.batch_id = batch.id
WHERE batch.expires_at > :now AND batch.committed_at IS NULL AND memory.consolidated_at IS NULL
GROUP BY memory.tier;

-- finish_batch --
UPDATE batch SET committed_at = :now, result = :result WHERE id = :id;
