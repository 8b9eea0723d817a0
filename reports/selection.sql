-- The runs a page speaks of, each with its metrics: one row a run.
CREATE OR REPLACE TEMP TABLE selected AS
WITH chosen AS (
    SELECT * FROM configurations WHERE {where}
), reasons AS (
    SELECT run_id, string_agg(reason, ', ' ORDER BY reason) AS left_out,
        string_agg(detail, '; ' ORDER BY reason) AS left_out_detail
    FROM left_out GROUP BY run_id
), env AS (
    SELECT run_id,
        string_agg(CASE WHEN kind = 'clock' THEN value || ' GHz'
                        WHEN value IS NULL THEN 'no ' || name
                        WHEN kind = 'launcher' AND value = 'yes' THEN name
                        ELSE name || '=' || value END, ', ' ORDER BY name) AS settings
    FROM env_flags GROUP BY run_id
), printed AS (
    SELECT run_id,
        max(value) FILTER (metric = 'tflops') AS tflops,
        max(low) FILTER (metric = 'tflops') AS tflops_low,
        max(high) FILTER (metric = 'tflops') AS tflops_high,
        max(value) FILTER (metric = 'memory') AS memory,
        max(unit) FILTER (metric = 'memory') AS memory_unit,
        bool_or(list_contains(flags, 'estimated') OR list_contains(flags, 'unexplained_mark'))
            FILTER (metric = 'step_time_s') AS time_is_marked
    FROM measured GROUP BY run_id
)
SELECT c.*, s.value AS step_time_s, s.low AS step_time_low, s.high AS step_time_high, s.n, s.basis,
    k.value AS tokens_per_s, k.low AS tokens_per_s_low, k.high AS tokens_per_s_high,
    d.value AS tokens_per_s_per_device,
    m.value AS model_tflops, m.formula AS model_formula,
    a.value AS aggregate_pflops, a.low AS aggregate_low, a.high AS aggregate_high,
    o.value AS documented_aggregate,
    p.tflops, p.memory, p.memory_unit, coalesce(p.time_is_marked, false) AS time_is_marked,
    -- What a log measured before it was ended stands, and before it broke off if that was some time;
    -- a cell beside a failure does not, nor what does not fit into memory.
    c.status = 'ok' OR (c.origin = 'log' AND s.value IS NOT NULL AND c.status NOT IN ('nan', 'oom')
        AND (c.status NOT IN ('fail', 'hang') OR s.n >= 10)) AS usable,
    e.settings, h.epoch, r.left_out, r.left_out_detail,
    coalesce(c.device, c.uri) AS system
FROM chosen c
LEFT JOIN metric_step_time s ON s.run_id = c.run_id
LEFT JOIN metric_tokens_per_s k ON k.run_id = c.run_id
LEFT JOIN metric_tokens_per_s_per_device d ON d.run_id = c.run_id
LEFT JOIN metric_model_tflops m ON m.run_id = c.run_id
LEFT JOIN metric_aggregate_pflops a ON a.run_id = c.run_id
LEFT JOIN metric_documented_aggregate o ON o.run_id = c.run_id
LEFT JOIN printed p ON p.run_id = c.run_id
LEFT JOIN env e ON e.run_id = c.run_id
LEFT JOIN reasons r ON r.run_id = c.run_id
LEFT JOIN epochs h ON h.run_id = c.run_id;
