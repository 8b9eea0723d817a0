-- Runs: a log run, a row of a published table, or a log line that a document quotes.
CREATE TABLE raw.runs (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    source_id VARCHAR NOT NULL,     -- the log or document
    run_id VARCHAR NOT NULL,        -- the run; survives growth of its log
    origin VARCHAR NOT NULL,        -- row, log, quote
    table_id VARCHAR,               -- of a row: its table
    row_number INTEGER,             -- of a row: its place in the table, from 1
    line BIGINT NOT NULL,           -- first line of the run in its source
    last_line BIGINT NOT NULL,      -- last line of the run in its source
    segment INTEGER,                -- of a log: 1, 2, ... after each restart
    name VARCHAR,                   -- name that the source gives the run
    model VARCHAR,                  -- size or model label as written
    params_b DOUBLE,                -- parameters in 1e9, as the label or a formula states
    params_stated BIGINT,           -- parameters as a log prints them, whole model
    layers INTEGER,                 -- transformer layers
    hidden INTEGER,                 -- hidden size
    heads INTEGER,                  -- attention heads
    kv_heads INTEGER,               -- key and value heads (grouped-query attention)
    ffn_hidden INTEGER,             -- inner size of the MLP
    seq_len INTEGER,                -- sequence length in tokens
    vocab INTEGER,                  -- vocabulary; padded size where the source prints one
    swiglu BOOLEAN,                 -- gated MLP
    framework VARCHAR,              -- framework and its version, as written
    device VARCHAR,                 -- device, as written
    dtype VARCHAR,                  -- fp32, fp16, bf16, fp8
    recompute VARCHAR,              -- none, selective, full ("activation checkpointing")
    async_launch BOOLEAN,           -- kernels launched asynchronously (CUDA_LAUNCH_BLOCKING off)
    status VARCHAR NOT NULL,        -- ok, oom, hang, fail, nan, timeout, cancelled, running, not_run
    status_reason VARCHAR,          -- why
    status_line BIGINT,             -- line that says so, from 1
    kind VARCHAR NOT NULL,          -- measured, planned
    flags VARCHAR[] NOT NULL,       -- estimated, oom_risk, hang_risk, ragged, misfit, ...
    date VARCHAR,                   -- as written
    job_ids VARCHAR[] NOT NULL,     -- scheduler's job ids, as written
    notes VARCHAR,                  -- notes cell, as written
    train_iters BIGINT              -- planned iterations
);

CREATE TABLE raw.topology (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR NOT NULL,        -- the run
    nodes INTEGER,                  -- nodes
    devices INTEGER,                -- devices (GPUs) of the job
    ranks INTEGER,                  -- processes of the job, as stated
    devices_per_node INTEGER,       -- devices of one node
    procs_per_node INTEGER,         -- processes of one node
    dp INTEGER,                     -- data-parallel size
    dp_replicate INTEGER,           -- its part that holds copies
    dp_shard INTEGER,               -- its part that is sharded
    tp INTEGER,                     -- tensor-parallel size
    pp INTEGER,                     -- pipeline-parallel size
    cp INTEGER,                     -- context-parallel size
    ep INTEGER,                     -- expert-parallel size
    vpp INTEGER,                    -- model chunks a pipeline stage (interleaving)
    mbs INTEGER,                    -- micro-batch size in sequences
    gbs INTEGER,                    -- global batch size in sequences
    grad_accum INTEGER,             -- micro-batches a step
    zero_stage INTEGER,             -- ZeRO stage, 0 to 3
    sequence_parallel BOOLEAN       -- Megatron's sequence parallelism
);

CREATE TABLE raw.env_flags (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR NOT NULL,        -- the run
    name VARCHAR NOT NULL,          -- name of the variable or setting
    value VARCHAR,                  -- NULL: stated as off
    kind VARCHAR NOT NULL,          -- env, scheduler, clock, launcher; table: what a document calls the run's table, where another one has its configurations
    line BIGINT                     -- line that states it, from 1
);

CREATE TABLE raw.measurements (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR NOT NULL,        -- the run
    metric VARCHAR NOT NULL,        -- step_time_s, tflops, memory, aggregate_pflops, samples_per_s, ...
    value DOUBLE,                   -- in `unit`
    unit VARCHAR NOT NULL,          -- s, TFLOP/s, PFLOP/s, GB, MiB, 1/s, tokens/s
    low DOUBLE,                     -- lower end of what the printed digits allow, in `unit`
    high DOUBLE,                    -- upper end, in `unit`
    raw VARCHAR NOT NULL,           -- as written
    printed_unit VARCHAR,           -- unit as written
    scope VARCHAR,                  -- process, node, device, job; NULL: the source does not say
    flags VARCHAR[] NOT NULL,       -- estimated, doubtful, ...
    marks VARCHAR[] NOT NULL,       -- footnote marks, in order
    line BIGINT NOT NULL            -- line of the source, from 1
);
