-- What is few among many, and asked for often: leases that may still be live, at each search; memories
-- that replaced another, at each inspection.

CREATE INDEX batch_by_end ON batch (expires_at) WHERE committed_at IS NULL;
CREATE INDEX memory_by_successor ON memory (superseded_by, seq) WHERE superseded_by IS NOT NULL;
