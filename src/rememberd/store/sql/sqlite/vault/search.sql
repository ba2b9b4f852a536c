-- holders --
-- The memories that hold one word, in order of arrival, as one list of numbers.
SELECT group_concat(rowid) FROM (
    SELECT rowid FROM memory_text WHERE memory_text MATCH :term ORDER BY rowid
);

-- outline --
-- What ranking needs to know of each memory, in order of arrival.
SELECT seq, tier, importance, at, until, tokens, source_context, substr(text, 1, 64)
FROM memory
WHERE seq > :after
ORDER BY seq;

-- vectors_since --
SELECT change, memory, data FROM vector
WHERE model = :model AND change > :after
ORDER BY change;

-- models --
SELECT * FROM model ORDER BY id;

-- add_model --
INSERT INTO model (identity, dimension, active)
VALUES (:identity, :dimension, NOT EXISTS (SELECT 1 FROM model WHERE active = 1))
ON CONFLICT (identity) DO NOTHING;

-- activate_model --
UPDATE model SET active = (id = :model);

-- drop_other_vectors --
DELETE FROM vector WHERE model <> :model;

-- drop_other_models --
DELETE FROM model WHERE id <> :model;

-- pending_memories --
-- Memories without a vector of this model: those without any first, then those of other models, each
-- oldest first. As three ranges of an index, because `<>` reads every memory after every store.
SELECT memory.seq, memory.id, memory.text
FROM (
    SELECT * FROM (
        SELECT seq FROM memory WHERE embedded IS NULL ORDER BY seq LIMIT :limit
    )
    UNION ALL
    SELECT * FROM (
        SELECT seq FROM memory WHERE embedded < :model ORDER BY embedded, seq LIMIT :limit
    )
    UNION ALL
    SELECT * FROM (
        SELECT seq FROM memory WHERE embedded > :model ORDER BY embedded, seq LIMIT :limit
    )
) AS waiting
CROSS JOIN memory ON memory.seq = waiting.seq
LIMIT :limit;

-- count_pending --
-- As pending_memories finds them: what is done is not counted, since that is nearly everything.
SELECT (SELECT count(*) FROM memory WHERE embedded IS NULL)
    + (SELECT count(*) FROM memory WHERE embedded < :model)
    + (SELECT count(*) FROM memory WHERE embedded > :model);

-- mark_embedded --
UPDATE memory SET embedded = :model WHERE seq = :seq AND id = :id;

-- add_vector --
INSERT OR REPLACE INTO vector (model, memory, passage, data)
VALUES (:model, :memory, :passage, :data);

-- count_vectors --
SELECT count(*) FROM vector;

-- count_indexed --
SELECT count(*) FROM memory_text;
