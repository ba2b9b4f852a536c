-- get_meta --
SELECT value FROM meta WHERE name = :name;

-- set_meta --
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- insert_memory --
INSERT INTO memory (
    id, tier, importance, tokens, source, created_at, occurred_at, at, until, app,
    source_context, tags, text
)
VALUES (
    :id, :tier, :importance, :tokens, :source, :created_at, :occurred_at, :at, :until, :app,
    :source_context, :tags, :text
);

-- index_memory --
INSERT INTO memory_text (rowid, terms) VALUES (:seq, :terms);

-- unindex_all --
DELETE FROM memory_text;

-- memory_by_id --
SELECT * FROM memory WHERE id = :id;

-- memories_by_seq --
-- `seqs` is a JSON array.
SELECT memory.* FROM json_each(:seqs) AS wanted JOIN memory ON memory.seq = wanted.value;

-- memories_by_ids --
SELECT memory.* FROM json_each(:ids) AS wanted JOIN memory ON memory.id = wanted.value;

-- recent_memories --
SELECT * FROM memory ORDER BY seq DESC LIMIT :limit;

-- memories_in_window --
-- One page in time order after the place (at, seq). A memory is in the window when its span meets it.
SELECT * FROM memory
WHERE (at, seq) > (:after_at, :after_seq)
    AND at < :before
    AND until >= :since
    AND (:tiers & (1 << tier)) <> 0
    AND (:importance IS NULL OR importance >= :importance)
ORDER BY at, seq
LIMIT :limit;

-- all_texts --
SELECT seq, text, tags, at FROM memory WHERE seq > :after ORDER BY seq LIMIT :limit;

-- tier_counts --
SELECT tier, sum(memories) AS memories, sum(tokens) AS tokens
FROM tally
GROUP BY tier
HAVING sum(memories) > 0;

-- tier_debt --
SELECT tier, memories, tokens FROM tally WHERE open = 1 AND memories > 0;

-- count_memories --
SELECT count(*) FROM memory;

-- delete_text --
DELETE FROM memory_text WHERE rowid = :seq;

-- delete_vectors --
DELETE FROM vector WHERE memory = :seq;

-- note_lost_source --
UPDATE memory SET lost_sources = lost_sources + 1
WHERE seq IN (SELECT reflection FROM lineage WHERE source = :seq);

-- delete_lineage --
DELETE FROM lineage WHERE reflection = :seq OR source = :seq;

-- release_sources --
-- Memories that only this reflection was built from go back to the pool.
UPDATE memory SET consolidated_at = NULL, batch_id = NULL
WHERE seq IN (SELECT source FROM lineage WHERE reflection = :seq)
    AND NOT EXISTS (
        SELECT 1 FROM lineage WHERE lineage.source = memory.seq AND lineage.reflection <> :seq
    );

-- delete_memory --
DELETE FROM memory WHERE seq = :seq;

-- sources_of --
SELECT memory.* FROM lineage JOIN memory ON memory.seq = lineage.source
WHERE lineage.reflection = :seq
ORDER BY memory.at, memory.seq;

-- built_from --
SELECT memory.* FROM lineage JOIN memory ON memory.seq = lineage.reflection
WHERE lineage.source = :seq
ORDER BY memory.at, memory.seq;

-- superseded_by_this --
SELECT * FROM memory WHERE superseded_by = :id ORDER BY seq;

-- link --
INSERT OR IGNORE INTO lineage (reflection, source) VALUES (:reflection, :source);

-- open_text_index --
SELECT rowid FROM memory_text LIMIT 1;

-- quick_check --
SELECT quick_check FROM pragma_quick_check LIMIT 1;
