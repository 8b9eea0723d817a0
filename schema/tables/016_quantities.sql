-- What the numbers of a log's steps say of one another: which scope each printed quantity has.
CREATE TABLE raw.quantities (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR NOT NULL,        -- the run
    metric VARCHAR NOT NULL,        -- step_time_s, samples_per_s, tokens_per_s, tokens_per_s_per_device
    scope VARCHAR,                  -- of a time: step, micro-batch, interval; of a rate: job, replica, device; NULL: it closes in no way
    equation VARCHAR,               -- the equation that tells, NULL: nothing that the run prints or states checks it
    residual DOUBLE,                -- left side / right side - 1, with the scope given; where it closes in no way, without any
    steps BIGINT NOT NULL,          -- steps that the equation was asked of
    used BOOLEAN NOT NULL           -- whether the scope is the one of the metric: others are left out of statistics
);
