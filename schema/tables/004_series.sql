-- What logs print while they run.
CREATE TABLE raw.iterations (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR NOT NULL,        -- the run
    segment INTEGER NOT NULL,       -- 1, 2, ... after each restart
    iteration BIGINT NOT NULL,      -- last iteration of the interval
    interval_length BIGINT,         -- iterations this line is a mean over
    line BIGINT NOT NULL,           -- line of the log, from 1
    printed_at TIMESTAMP,           -- as printed, no time zone
    step_time_s DOUBLE,             -- time of one step in s
    samples_per_s DOUBLE,           -- sequences/s of the job
    tokens_per_s DOUBLE,            -- tokens/s of the job
    tokens_per_s_per_device DOUBLE, -- tokens/s of one device
    tflops DOUBLE,                  -- TFLOP/s as printed, per process
    consumed_samples BIGINT,        -- sequences since the start of training
    consumed_tokens BIGINT,         -- tokens since the start of training
    gbs INTEGER,                    -- global batch size in sequences
    seq_len INTEGER,                -- sequence length in tokens, where the line prints it
    lr DOUBLE,                      -- learning rate
    loss DOUBLE,                    -- the language-model loss
    losses MAP(VARCHAR, DOUBLE),    -- every printed loss
    loss_scale DOUBLE,              -- scale of the loss (mixed precision)
    grad_norm DOUBLE,               -- norm of the gradient
    num_zeros DOUBLE,               -- zeros in the gradient
    params_norm DOUBLE,             -- norm of the parameters
    skipped INTEGER,                -- skipped iterations within the interval
    nan INTEGER,                    -- iterations with nan within the interval
    more MAP(VARCHAR, VARCHAR)      -- other fields, as printed
);

CREATE TABLE raw.timers (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR NOT NULL,        -- the run
    iteration BIGINT,               -- the iteration it was printed after
    line BIGINT NOT NULL,           -- line of the log, from 1
    name VARCHAR NOT NULL,          -- the timer
    min_ms DOUBLE,                  -- smallest over ranks, in ms
    max_ms DOUBLE                   -- largest over ranks, in ms
);

CREATE TABLE raw.memory (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR NOT NULL,        -- the run
    iteration BIGINT,               -- the iteration it was printed after
    line BIGINT NOT NULL,           -- line of the log, from 1
    rank INTEGER,                   -- the process that prints it
    kind VARCHAR NOT NULL,          -- allocated, max_allocated, reserved, max_reserved, host
    value DOUBLE,                   -- in `unit`
    unit VARCHAR NOT NULL           -- MiB, GB, ...
);

CREATE TABLE raw.events (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR,                 -- the run; NULL: outside of any
    line BIGINT NOT NULL,           -- line of the log, from 1
    iteration BIGINT,               -- the iteration it came after
    kind VARCHAR NOT NULL,          -- save, phase, end, or the status of a failure
    printed_at TIMESTAMP,           -- as printed, no time zone
    raw VARCHAR NOT NULL            -- as written, secrets taken out
);

CREATE TABLE raw.evaluations (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR NOT NULL,        -- the run
    line BIGINT NOT NULL,           -- line of the log, from 1
    iteration BIGINT,               -- the iteration it was made after
    name VARCHAR NOT NULL,          -- validation or test set
    metric VARCHAR NOT NULL,        -- the loss or other figure
    value DOUBLE                    -- its value, no unit
);

CREATE TABLE raw.run_stats (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR NOT NULL,        -- the run
    metric VARCHAR NOT NULL,        -- step_time_s, samples_per_s, tokens_per_s, tflops, gbs, ...
    n BIGINT NOT NULL,              -- iterations
    lines BIGINT NOT NULL,          -- logged intervals
    first_iteration BIGINT NOT NULL, -- first iteration counted
    last_iteration BIGINT NOT NULL, -- last iteration counted
    median DOUBLE,                  -- median of the intervals, in the metric's unit
    mean DOUBLE,                    -- mean, weighted by the length of the intervals
    min DOUBLE,                     -- smallest interval
    max DOUBLE,                     -- largest interval
    p95 DOUBLE,                     -- 95th percentile of the intervals
    stddev DOUBLE,                  -- standard deviation of the intervals
    rule VARCHAR NOT NULL,          -- what was left out
    rule_version INTEGER NOT NULL   -- version of the rule
);

CREATE TABLE raw.findings (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR,                 -- of a run, or
    table_id VARCHAR,               -- of a table
    line BIGINT,                    -- line of the source, from 1
    rule VARCHAR NOT NULL,          -- rule of the audit
    severity VARCHAR NOT NULL,      -- error, warning, note
    title VARCHAR NOT NULL,         -- what is wrong
    evidence VARCHAR,               -- the numbers that show it
    suggestion VARCHAR,             -- what may be meant; never put in place of what is written
    rule_version INTEGER NOT NULL   -- version of the rule
);
