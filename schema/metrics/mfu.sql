-- title: Model FLOPs utilization
-- unit: share of a device's dense peak
-- source: model FLOPs (F7, else F5) of the tokens/s over the peak (vocabulary/hardware.toml); else as printed
-- from: model FLOP/s of a device / peak_tflops | of tokens_per_s, peak_tflops | when mfu_from = 'computed'
-- from: printed mfu | when mfu IS NOT NULL
-- lacks: the device or its peak in this number format is not known
-- selected: value AS mfu, from_where AS mfu_from, peak_tflops, peak_name, peak_assumed
-- prints: 3 digits
CREATE OR REPLACE VIEW metric_mfu AS
WITH computed AS (
    SELECT run_id, peak_tflops, peak_name, peak_assumed, of_peak * tokens_per_s AS value, of_peak * low AS low, of_peak * high AS high
    FROM utilization WHERE of_peak * tokens_per_s <= 1
)
SELECT run_id, coalesce(c.value, m.value) AS value, CASE WHEN c.value IS NULL THEN m.low ELSE c.low END AS low,
    CASE WHEN c.value IS NULL THEN m.high ELSE c.high END AS high,
    CASE WHEN c.value IS NULL THEN 'printed' ELSE 'computed' END AS from_where, peak_tflops, peak_name, peak_assumed
-- Shares of one peak compare; programs print shares of different peaks.
FROM computed c
FULL JOIN (SELECT run_id, value, low, high FROM measured WHERE metric = 'mfu' AND value BETWEEN 0 AND 1) m USING (run_id);
