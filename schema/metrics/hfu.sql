-- title: Hardware FLOPs utilization: with what is recomputed
-- unit: share of a device's dense peak
-- source: as printed; else MFU, of full recompute 4/3 of it (the layers' forward pass once more)
-- from: printed hfu | when hfu_from = 'printed'
-- from: mfu, 4/3 of it with full recompute | of mfu, recompute | when hfu IS NOT NULL
-- lacks: no source prints it, and the peak or the recompute is not known
-- selected: value AS hfu, from_where AS hfu_from
-- prints: 3 digits
CREATE OR REPLACE VIEW metric_hfu AS
WITH computed AS (
    SELECT run_id, CASE recompute WHEN 'none' THEN 1 WHEN 'full' THEN 4e0 / 3 END AS times,
        times * coalesce(m.value, of_peak * tokens_per_s) AS value,
        times * CASE WHEN m.value IS NULL THEN of_peak * u.low ELSE m.low END AS low,
        times * CASE WHEN m.value IS NULL THEN of_peak * u.high ELSE m.high END AS high
    FROM utilization u
    LEFT JOIN (SELECT run_id, value, low, high FROM measured WHERE metric = 'mfu' AND value BETWEEN 0 AND 1) m USING (run_id)
)
SELECT run_id, coalesce(p.value, c.value) AS value, CASE WHEN p.value IS NULL THEN c.low ELSE p.low END AS low,
    CASE WHEN p.value IS NULL THEN c.high ELSE p.high END AS high,
    CASE WHEN p.value IS NULL THEN 'computed' ELSE 'printed' END AS from_where
FROM (FROM computed WHERE value <= 1) c
FULL JOIN (SELECT run_id, value, low, high FROM measured WHERE metric = 'hfu' AND value BETWEEN 0 AND 1) p USING (run_id);
