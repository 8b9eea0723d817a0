-- name: worked_out
-- Runs with the columns that decisions derive. `systems` names the machine of each device.
SELECT w.* EXCLUDE (each), CASE WHEN step_time_s <> 0 THEN 1 / step_time_s
        WHEN tokens_per_s <> 0 AND tokens_per_step <> 0 THEN tokens_per_s / tokens_per_step END AS steps_per_s,
    CASE WHEN tokens_per_s <> 0 THEN tokens_per_s WHEN step_time_s <> 0 THEN nullif(batch, 0) / step_time_s
        WHEN samples_per_s <> 0 THEN samples_per_s ELSE each END AS rate,
    -- Seconds a token, else a step, a sequence, a TFLOP of a job that prints TFLOPs alone, or a token of one device; which.
    CASE WHEN tokens_per_s <> 0 THEN 1 / tokens_per_s WHEN step_time_s <> 0 THEN step_time_s
        WHEN samples_per_s <> 0 THEN 1 / samples_per_s WHEN each IS NOT NULL THEN 1 / each
        WHEN tokens_per_s_per_device <> 0 THEN 1 / tokens_per_s_per_device END AS pace,
    CASE WHEN tokens_per_s <> 0 THEN 'tokens_per_s' WHEN step_time_s <> 0 THEN 'step_time_s'
        WHEN samples_per_s <> 0 THEN 'samples_per_s' WHEN each IS NOT NULL THEN 'tflops'
        WHEN tokens_per_s_per_device <> 0 THEN 'tokens_per_s_per_device' END AS measure
FROM (
    SELECT *, CASE WHEN tflops <> 0 AND device_count <> 0 THEN tflops * device_count END AS each,
        -- The sequences of a step: stated, tokens of a step / sequence length, MBS x GA x DP, or batch per device.
        CASE WHEN gbs IS NOT NULL THEN gbs::DOUBLE
            WHEN tokens_per_step <> 0 AND seq_len <> 0 THEN tokens_per_step / seq_len
            WHEN mbs <> 0 AND grad_accum <> 0 AND dp <> 0 THEN (mbs::HUGEINT * grad_accum * dp)::DOUBLE
            WHEN device_batch <> 0 AND device_count <> 0
            THEN device_batch * coalesce(nullif(grad_accum, 0), 1) * device_count END AS batch
    FROM (
        SELECT s.* REPLACE (coalesce(y.system, CASE WHEN origin = 'row' THEN uri ELSE 'device not stated' END) AS system,
                -- Processes / (TP x PP x CP), if the devices are no guess.
                CASE WHEN dp IS NOT NULL OR coalesce(devices, 0) = 0 OR coalesce(world_size, 0) = 0 THEN dp
                    WHEN world_size % nullif(tp::HUGEINT * pp * coalesce(nullif(cp, 0), 1), 0) = 0
                    THEN (world_size // (tp::HUGEINT * pp * coalesce(nullif(cp, 0), 1)))::INTEGER
                END AS dp),
            coalesce(devices, world_size) AS device_count, coalesce(m.source, uri) AS source, m.launched,
            f.text AS dtype_printed
        FROM {runs} s
        LEFT JOIN systems y ON y.device = s.device
        LEFT JOIN (
            -- A case of a plan is known by its command and values, whatever its log states.
            SELECT run_id, max(value) FILTER (scope = 'record' AND field = 'source') AS source,
                CASE WHEN bool_or(field = 'repeat') THEN max(value) FILTER (field = 'case') END AS launched
            FROM facts WHERE (scope = 'record' AND field = 'source') OR (scope = 'header' AND field IN ('case', 'repeat'))
            GROUP BY run_id
        ) m ON m.run_id = s.run_id
        LEFT JOIN (
            SELECT table_id, row_number, string_agg(lower(trim(raw)), ' ' ORDER BY column_number) AS text
            FROM cells WHERE name = 'dtype' GROUP BY ALL
        ) f ON f.table_id = s.table_id AND f.row_number = s.row_number)) w

-- name: load
SELECT w.* EXCLUDE (source_id, segment), run_id AS run, uri || ':' || line AS "where", p.run_id IS NOT NULL AS sampled,
    u.run_id IS NOT NULL AS of_unknown_scope
FROM ({worked_out}) w LEFT JOIN (
    SELECT DISTINCT run_id FROM measured WHERE metric IN ('samples_per_s', 'samples_per_s_per_device')
) p USING (run_id) LEFT JOIN (
    SELECT DISTINCT run_id FROM measured WHERE metric = 'tokens_per_s' AND scope IS NULL
) u USING (run_id)
ORDER BY uri, line, run_id

-- name: near
-- The selected runs, and those that show how much their jobs vary: of the same documents, or of the same sizes on
-- the same $machines, where something is repeated. A run that differs in a column is no repeat.
CREATE OR REPLACE TEMP TABLE near AS
SELECT run_id FROM selected
UNION
-- A group by its keys alone: a window would carry all columns of all runs along.
SELECT unnest(list(run_id)) FROM every
WHERE (origin = 'row' AND uri IN (SELECT uri FROM selected))
    OR (coalesce(size, '') IN (SELECT coalesce(size, '') FROM selected)
        AND (list_contains($machines::VARCHAR[], device) OR (device IS NULL AND origin <> 'row')))
GROUP BY CASE WHEN origin = 'row' THEN uri END, {{compared, but system, dp, size, model}} HAVING count(*) > 1

-- name: sound
-- The usable runs: measured, finished, not doubted; of copies those whose original is not here.
SELECT w.* FROM ({worked_out}) w
WHERE kind = 'measured' AND origin <> 'quote' AND (status IN ('ok', 'ended', 'running') OR usable)
    AND run_id NOT IN (SELECT run_id FROM doubted)
    AND (coalesce(left_out, '') = '' OR (left_out = 'copy' AND coalesce(regexp_extract(
        left_out_detail, 'same configuration and digits as (\S.*?:\d+)(?:;|$)', 1), '') NOT IN (
            SELECT uri || ':' || line FROM {here})))

-- name: repeats
-- The sound runs near that repeat a configuration, equal in `alike`: the input of spreads.
WITH kept AS MATERIALIZED (
    SELECT run_id, uri, line, origin, measure, pace, source, launched, job_ids, basis, step_time_s, step_time_low, step_time_high, date, regime,
        dtype_printed, device, tokens_per_step, settings_key, {{compared}}
    FROM ({sound}) s LEFT JOIN settings_key USING (run_id) WHERE pace <> 0 AND measure <> 'tflops'
), groups AS (
    -- Of ids alone: most runs have no repeat, and lists of their columns took most of the time.
    SELECT list(run_id) AS runs FROM kept GROUP BY measure, {identity} HAVING count(*) > 1
)
SELECT alike, run_id AS run, uri, line, uri || ':' || line AS "where", origin, size, system, measure, pace, source, job_ids, basis,
    step_time_s, step_time_low, step_time_high
FROM (SELECT alike, unnest(runs) AS run_id FROM (SELECT row_number() OVER () AS alike, runs FROM groups)) JOIN kept USING (run_id)
ORDER BY uri, line, run_id

-- name: identity
{{compared, but size, model}}, CASE WHEN layers IS NULL OR hidden IS NULL THEN size END,
CASE WHEN layers IS NULL OR hidden IS NULL THEN model END, settings_key,
CASE WHEN origin = 'row' THEN uri END, CASE WHEN origin = 'row' THEN date END,
CASE WHEN origin = 'row' THEN coalesce(regime, '') END, CASE WHEN origin = 'row' THEN coalesce(dtype_printed, '') END,
CASE WHEN origin = 'row' THEN coalesce(device, '') END,
CASE WHEN origin = 'log' AND NOT (coalesce(nullif(size, ''), nullif(layers, 0)::VARCHAR) IS NOT NULL
        AND coalesce(nullif(tokens_per_step, 0), nullif(gbs, 0), nullif(device_batch, 0)) IS NOT NULL)
    THEN coalesce(launched, struct_pack(source := source, job_ids := coalesce(job_ids, []))::VARCHAR) END

-- name: weigh
-- The selected runs, with the columns that groups are formed by; Python loads only those that a page shows.
CREATE OR REPLACE TEMP TABLE weighed AS
SELECT run_id, uri, line, origin, kind, status, usable, left_out, left_out_detail, source, launched, job_ids, date, regime, dtype_printed, device,
    settings_key, batch, rate, measure, device_count, step_time_s, tokens_per_s, tokens_per_step, {{compared}}
FROM ({worked_out}) LEFT JOIN settings_key USING (run_id)

-- name: configured
-- The configurations that a page may rank. Medians over the segments of logs are computed later: their speed is
-- an estimate here.
CREATE OR REPLACE TEMP TABLE configured AS
    SELECT list(run_id) AS runs, count(*) AS many, coalesce(nullif(max(devices), 0), max(world_size)) AS device_count,
        min(tokens_per_step) AS tokens_per_step, first(size ORDER BY uri, line, run_id) AS model_size, any_value(system) AS machine,
        bool_or(origin <> 'row') AS of_logs,
        coalesce(CASE WHEN count(step_time_s) = count(*) AND count(tokens_per_step) = count(*)
            AND min(tokens_per_step) = max(tokens_per_step) THEN min(tokens_per_step) / nullif(median(step_time_s), 0) END,
            median(tokens_per_s)) AS speed
    FROM weighed WHERE left_out IS NULL AND usable AND kind = 'measured' AND origin <> 'quote' AND tokens_per_s IS NOT NULL
    GROUP BY {identity}

-- name: fastest
-- The runs of the configurations that may be among the first $most of their model and system, and the number of all.
WITH placed AS (
    SELECT *, row_number() OVER (PARTITION BY model_size, machine, of_logs ORDER BY speed DESC) AS place FROM configured
), barred AS (
    SELECT *, min(speed) FILTER (place <= $most) OVER (PARTITION BY model_size, machine, of_logs) AS bar FROM placed
)
SELECT unnest(runs), (SELECT count(*) FROM configured) FROM barred WHERE of_logs OR speed >= bar * (1 - 1e-9)

-- name: repeated
-- The runs of repeated configurations whose device-days may lie between $low and $high.
SELECT unnest(runs) FROM configured WHERE many > 1 AND (of_logs OR coalesce(
    coalesce($tokens, $steps * tokens_per_step) / speed / 86400 * device_count BETWEEN $low AND $high, true))

-- name: scaled
-- The sound runs with a rate, and `shape`: equal for runs that differ in size and batch alone. The many columns are
-- compared once for curves of all kinds.
CREATE OR REPLACE TEMP TABLE scaled AS
WITH found AS MATERIALIZED (
    SELECT *, CASE WHEN origin = 'row' THEN uri END AS document,
        coalesce(nullif(batch, 0), nullif(device_batch, 0)) IS NOT NULL AS known
    FROM ({sound}) WHERE rate IS NOT NULL
), layouts AS (
    -- Where nodes follow from devices, processes of a node are no setting.
    SELECT coalesce(max(n), 1) > 1 AS differ FROM (
        SELECT count(DISTINCT coalesce(nodes, -1)) AS n FROM found GROUP BY device_count)
), shapes AS (
    SELECT row_number() OVER () AS shape, unnest(runs) AS run_id FROM (
        SELECT list(run_id) AS runs FROM found, layouts WHERE coalesce(nullif(nodes, 0), nullif(device_count, 0)) IS NOT NULL
        GROUP BY document, regime, measure, settings_key, {columns}, CASE WHEN differ THEN procs_per_node END,
            CASE WHEN layers IS NULL OR hidden IS NULL THEN size END, CASE WHEN layers IS NULL OR hidden IS NULL THEN model END
        HAVING count(*) > 1)
)
SELECT shape, run_id, uri, line, date, nodes, device_count, batch, device_batch, known FROM found JOIN shapes USING (run_id)

-- name: longest
-- The sets of runs of two sizes or more that may be among the $most with most sizes: kind, number, run. Sets with
-- several days are split later: all of them count.
WITH sets AS (
    {kinds}
), sized AS (
    SELECT *, CASE WHEN by_nodes THEN node_counts ELSE device_counts END AS sizes,
        row_number() OVER (ORDER BY list_position(['strong', 'weak', 'unknown'], kind), first) AS number FROM sets
)
SELECT kind, number, unnest(runs) FROM sized WHERE sizes > 1
QUALIFY several_days OR row_number() OVER (PARTITION BY several_days ORDER BY sizes DESC, number) <= $most
ORDER BY number

-- name: scaling_set
SELECT {kind} AS kind, list(run_id) AS runs, min({'uri': uri, 'line': line, 'run': run_id}) AS first,
    coalesce(bool_and(nodes <> 0), false) AND count(nodes) = count(*)
        AND count(DISTINCT coalesce(device_count, 0) / nullif(nodes, 0)) = 1 AS by_nodes,
    count(DISTINCT nullif(nodes, 0)) AS node_counts, count(DISTINCT nullif(device_count, 0)) AS device_counts,
    count(DISTINCT coalesce(date, '')) > 1 AS several_days
FROM scaled WHERE {where} GROUP BY shape, {batch} HAVING count(*) > 1
