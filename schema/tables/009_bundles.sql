-- Which files beside logs (companions: job scripts, configurations, lists of versions) belong to
-- which runs. Insert-only: the newest set counts.
CREATE TABLE raw.link_sets (
    set_id VARCHAR NOT NULL,        -- digest of the links
    made_at TIMESTAMP NOT NULL      -- time when they were found, UTC
);

CREATE TABLE raw.links (
    set_id VARCHAR NOT NULL,        -- the set it belongs to
    source_id VARCHAR NOT NULL,     -- the companion
    run_id VARCHAR,                 -- the run it belongs to; NULL: none
    rule VARCHAR NOT NULL           -- why: job id, name, named by it, alone together; of no run: why not
);
