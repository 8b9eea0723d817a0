-- Iterations of logs that a later run does again, from a checkpoint before them. Insert-only: of a
-- run the newest row counts.
CREATE TABLE raw.redone (
    run_id VARCHAR NOT NULL,        -- the run
    iteration BIGINT,               -- the first of its iterations that are done again; NULL: none is any more
    again VARCHAR,                  -- the run that goes on from the checkpoint before it
    found_at TIMESTAMP NOT NULL     -- time when it was found, UTC
);

ALTER TABLE raw.run_stats ADD COLUMN redone_from BIGINT; -- iterations from this one on are done again by a later run and left out; NULL: none are
