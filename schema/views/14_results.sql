-- results: runs with their configuration, every metric, and why they are left out: one row a run, for pages and listings.
-- results.usable: whether its measurements count: it ended well, or measured for some time before it did not
-- results.settings: environment, launcher and clock settings, as one text; no names of the job and its nodes
-- results.regime: the regime it was measured in
-- results.epoch: the same, by its name in earlier versions
-- results.left_out: why it is kept out of rankings, as words
-- results.left_out_detail: the same at length
-- results.system: the device, else the document
CREATE OR REPLACE VIEW results AS
-- What several metrics read, once for all of them: each is a tree of views, and DuckDB plans every
-- mention of one anew (of some thousand pipelines it looks at each for each: minutes for five runs).
WITH configurations AS (FROM configurations), measured AS (FROM measured), token_rates AS (FROM token_rates),
    model_flops AS (FROM model_flops), utilization AS (FROM utilization),
reasons AS (
    SELECT run_id, string_agg(reason, ', ' ORDER BY reason) AS left_out,
        string_agg(detail, '; ' ORDER BY reason) AS left_out_detail
    FROM left_out GROUP BY run_id
), env AS (
    SELECT run_id,
        string_agg(CASE WHEN kind = 'clock' THEN value || ' GHz'
                        WHEN value IS NULL THEN 'no ' || name
                        WHEN kind = 'launcher' AND value = 'yes' THEN name
                        ELSE name || '=' || value END, ', ' ORDER BY name) AS settings
    FROM env_flags WHERE name NOT IN ({{job variables}}) GROUP BY run_id
)
SELECT c.* REPLACE (coalesce(time_is_marked, false) AS time_is_marked),
    -- What a log measured before it was ended stands, and before it broke off if that was some time;
    -- a cell in a row with a failure does not, nor a run out of memory.
    -- A log of rates alone, as of torchtitan, measured too.
    c.status = 'ok' OR (c.origin = 'log' AND c.status NOT IN ('nan', 'oom')
        AND coalesce(c.step_time_s, c.tokens_per_s, c.samples_per_s, c.tokens_per_s_per_device, c.mfu, c.tflops) IS NOT NULL
        AND (c.status NOT IN ('fail', 'hang') OR c.n >= 10)) AS usable,
    e.settings, h.regime, h.regime AS epoch, r.left_out, r.left_out_detail,
    coalesce(c.device, c.uri) AS system
-- Metrics are joined to the ids alone: each join of a run's seventy columns would cost as much as all of them.
FROM (FROM configurations LEFT JOIN (FROM (SELECT run_id FROM configurations) {{metrics}}) USING (run_id)) c
LEFT JOIN env e ON e.run_id = c.run_id
LEFT JOIN reasons r ON r.run_id = c.run_id
LEFT JOIN regimes h ON h.run_id = c.run_id;
