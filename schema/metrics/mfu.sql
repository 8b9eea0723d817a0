-- title: Model FLOPs utilization
-- unit: share of a device's dense peak
-- source: as printed; else model FLOPs (F7, else F5) of the tokens/s over the peak (vocabulary/hardware.toml)
-- from: printed mfu | when mfu_from = 'printed'
-- from: model FLOP/s of a device / peak_tflops | of tokens_per_s, peak_tflops | when mfu IS NOT NULL
-- lacks: the device or its peak in this number format is not known
-- selected: value AS mfu, from_where AS mfu_from, peak_tflops, peak_name, peak_assumed
-- prints: 3 digits
CREATE OR REPLACE VIEW metric_mfu AS
WITH computed AS (
    SELECT run_id, peak_tflops, peak_name, peak_assumed, of_peak * tokens_per_s AS value, of_peak * low AS low, of_peak * high AS high
    FROM utilization WHERE of_peak * tokens_per_s <= 1
)
SELECT run_id, coalesce(m.value, c.value) AS value, CASE WHEN m.value IS NULL THEN c.low ELSE m.low END AS low,
    CASE WHEN m.value IS NULL THEN c.high ELSE m.high END AS high,
    CASE WHEN m.value IS NULL THEN 'computed' ELSE 'printed' END AS from_where,
    -- A program chose the peak of what it prints; that it contradicts ours is for the audit to say.
    CASE WHEN m.value IS NULL THEN peak_tflops END AS peak_tflops, CASE WHEN m.value IS NULL THEN peak_name END AS peak_name,
    CASE WHEN m.value IS NULL THEN peak_assumed END AS peak_assumed
FROM computed c
FULL JOIN (SELECT run_id, value, low, high FROM measured WHERE metric = 'mfu' AND value BETWEEN 0 AND 1) m USING (run_id);
