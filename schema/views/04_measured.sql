-- measured: one number a run and metric, from a published cell or from the statistics of a log.
-- measured.value: the printed cell; of a log the median of its intervals, and the peak of its memory; in `unit`
-- measured.reading: of the memory of a log: max_allocated, max_reserved, allocated, reserved or used
-- measured.unit: s, TFLOP/s, PFLOP/s, GB, MiB, GiB, 1/s, tokens/s
-- measured.low: lower end: what the printed digits allow; of a log the smallest interval
-- measured.high: upper end: what the printed digits allow; of a log the largest interval
-- measured.n: iterations behind the number; 1 for a cell
-- measured.basis: cell or log
-- measured.scope: process, node, device, job; NULL: not stated
CREATE OR REPLACE VIEW measured AS
-- Hidden runs are left out of all parts at once: with their anti join in the last part, DuckDB 1.5 waits for itself.
FROM (
SELECT run_id, metric, value, unit, low, high, 1::BIGINT AS n, 'cell' AS basis, flags, marks, scope, line
FROM measurements
WHERE value IS NULL OR isfinite(value)
-- Of two columns for one metric, the one of the smallest unit counts.
QUALIFY row_number() OVER (PARTITION BY run_id, metric ORDER BY value IS NULL,
    list_position(['device', 'process', 'node', 'job'], coalesce(scope, 'process')), line, raw) = 1
UNION ALL BY NAME
SELECT run_id, metric, median AS value,
       CASE metric WHEN 'step_time_s' THEN 's' WHEN 'samples_per_s' THEN '1/s' WHEN 'tflops' THEN 'TFLOP/s'
            WHEN 'tokens_per_s' THEN 'tokens/s' WHEN 'tokens_per_s_per_device' THEN 'tokens/s'
            WHEN 'mfu' THEN '1' WHEN 'hfu' THEN '1' ELSE '' END AS unit,
       min AS low, max AS high, n, 'log' AS basis, []::VARCHAR[] AS flags, []::VARCHAR[] AS marks,
       CASE metric WHEN 'tflops' THEN 'process' WHEN 'tokens_per_s_per_device' THEN 'device' WHEN 'mfu' THEN 'device'
            WHEN 'hfu' THEN 'device' ELSE 'job' END AS scope,
       NULL::BIGINT AS line
FROM run_stats WHERE metric NOT IN ('gbs', 'seq_len')
UNION ALL BY NAME
-- The fullest device: the largest reading over ranks and steps, of the first of these kinds that the log prints. Memory of
-- the host, as of a process on CPUs, is none of them; nor is a damaged reading, of more than a device has: 16 TiB.
SELECT run_id, 'memory' AS metric, peak.value, peak.unit, peak.value AS low, peak.value AS high, 1::BIGINT AS n, 'log' AS basis,
       []::VARCHAR[] AS flags, []::VARCHAR[] AS marks, 'device' AS scope, peak.line, peak.kind AS reading
FROM (
    SELECT run_id, arg_min(struct_pack(value, unit, line, kind), (list_position(
            ['max_allocated', 'max_reserved', 'allocated', 'reserved', 'used'], kind), -value * bytes_of(unit), line)) AS peak
    FROM raw.memory SEMI JOIN current_loads USING (load_id)
    WHERE kind IN ('max_allocated', 'max_reserved', 'allocated', 'reserved', 'used')
        AND value > 0 AND value * bytes_of(unit) < 16 * 1024.0 ** 4 GROUP BY run_id
) ANTI JOIN (
    FROM raw.measurements SEMI JOIN current_loads USING (load_id) WHERE metric = 'memory'
) USING (run_id)
) ANTI JOIN hidden_runs USING (run_id);
