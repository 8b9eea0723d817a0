-- What schedulers say of jobs: accounting files, read beside the logs.
CREATE TABLE raw.jobs (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    job_id VARCHAR NOT NULL,        -- as the scheduler numbers it
    scheduler VARCHAR NOT NULL,     -- slurm, pbs, pjm
    name VARCHAR,                   -- name of the job
    state VARCHAR NOT NULL,         -- as printed: TIMEOUT, OUT_OF_MEMORY, Exit_status=271, ...
    status VARCHAR,                 -- ok, oom, fail, timeout, cancelled; NULL: it has not ended
    exit_code VARCHAR,              -- as printed
    reason VARCHAR,                 -- as printed
    nodes INTEGER,                  -- nodes
    started TIMESTAMP,              -- as printed, no time zone
    ended TIMESTAMP,                -- as printed, no time zone
    line BIGINT NOT NULL            -- line of the file, from 1
);

ALTER TABLE raw.sources ADD COLUMN lines_measuring BIGINT; -- of those that no format reads, the ones that look as if they told of a measurement; NULL: not counted
