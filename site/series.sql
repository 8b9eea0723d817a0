-- name: series
-- What the logs of $runs print over their steps: at most $most buckets of equal width a series, each with its least, most and
-- mean. The width is one logged interval where that is enough.
WITH wanted AS (SELECT unnest($runs::VARCHAR[]) AS run_id),
steps AS (
    SELECT e.run_id, e.iteration, e.segment,
        unnest([
            {key: 'step_time_s', unit: 's', value: c.step_time_s}, {key: 'loss', unit: '', value: e.loss},
            {key: 'tflops', unit: 'TFLOP/s', value: c.tflops}, {key: 'tokens_per_s', unit: '', value: e.tokens_per_s},
            {key: 'samples_per_s', unit: '', value: c.samples_per_s}, {key: 'lr', unit: '', value: e.lr},
            {key: 'grad_norm', unit: '', value: e.grad_norm}, {key: 'loss_scale', unit: '', value: e.loss_scale}
        ], recursive := true)
    FROM effective_steps e SEMI JOIN wanted USING (run_id)
    LEFT JOIN iterations_corrected c ON c.run_id = e.run_id AND c.segment = e.segment AND c.iteration = e.iteration AND c.line = e.line
), memory_units AS (
    -- A run may print one quantity in two units: MemAllocated in GiB, Megatron's memory in MiB. A curve has one.
    SELECT run_id, iteration, kind, unit, value, min(unit) OVER w <> max(unit) OVER w AS mixed,
        bytes_of(unit) AS bytes
    FROM memory SEMI JOIN wanted USING (run_id)
    WHERE iteration IS NOT NULL AND kind NOT LIKE 'theory%'
    WINDOW w AS (PARTITION BY run_id, kind)
), other AS (
    SELECT run_id, iteration, 0 AS segment, 'memory:' || kind AS key, CASE WHEN mixed THEN 'GiB' ELSE unit END AS unit,
        max(CASE WHEN mixed THEN value * bytes / 1024 ** 3 ELSE value END) AS value
    FROM memory_units WHERE NOT mixed OR bytes IS NOT NULL GROUP BY ALL
    UNION ALL BY NAME
    SELECT run_id, iteration, 0 AS segment, 'timer:' || name AS key, 'ms' AS unit, max(coalesce(max_ms, min_ms)) AS value
    FROM timers SEMI JOIN wanted USING (run_id) WHERE iteration IS NOT NULL GROUP BY ALL
), points AS (
    SELECT * FROM (FROM steps UNION ALL BY NAME FROM other) WHERE value IS NOT NULL AND isfinite(value) AND iteration IS NOT NULL
), gaps AS (
    SELECT run_id, key, iteration, iteration - lag(iteration) OVER (PARTITION BY run_id, key ORDER BY iteration) AS gap
    FROM (SELECT DISTINCT run_id, key, iteration FROM points)
), widths AS (
    SELECT run_id, key, min(iteration) AS first, coalesce(min(gap), 1) AS every,
        (coalesce(min(gap), 1) * greatest(1, ceil((max(iteration) - min(iteration) + 1) / coalesce(min(gap), 1) / $most)))::BIGINT AS width
    FROM gaps GROUP BY run_id, key HAVING count(*) > 1
), buckets AS (
    SELECT p.run_id, p.key, any_value(p.unit) AS unit, w.first, w.width, (p.iteration - w.first) // w.width AS bucket,
        count(*) AS n, min(p.value) AS low, max(p.value) AS high, avg(p.value) AS mean, min(p.segment) AS segment, min(p.iteration) AS step
    FROM points p JOIN widths w ON w.run_id = p.run_id AND w.key = p.key
    GROUP BY p.run_id, p.key, w.first, w.width, bucket
)
SELECT run_id, key, any_value(unit) AS unit, first, width, list(bucket ORDER BY bucket) AS buckets, list(n ORDER BY bucket) AS ns,
    list(low ORDER BY bucket) AS lows, list(high ORDER BY bucket) AS highs, list(mean ORDER BY bucket) AS means,
    list(segment ORDER BY bucket) AS segments, list(step ORDER BY bucket) AS steps
FROM buckets GROUP BY run_id, key, first, width
ORDER BY run_id, CASE key WHEN 'step_time_s' THEN 0 WHEN 'loss' THEN 1 WHEN 'tflops' THEN 2 WHEN 'tokens_per_s' THEN 3 WHEN 'samples_per_s' THEN 4
    ELSE 5 + (key LIKE 'memory:%')::INTEGER * 1 + (key LIKE 'timer:%')::INTEGER * 2 END, key;
