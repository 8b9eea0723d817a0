-- title: Tokens per second and device (of a source that states no devices: and process)
-- unit: tokens/s
-- source: GBS x sequence length / (step time x devices); else the printed rate
-- from: tokens_per_s / devices | unit tokens/s of a device | when tokens_per_s > 0 AND devices > 0 AND rate_from <> 'tokens_per_s_per_device'
-- from: tokens_per_s / world_size | unit tokens/s of a process | when tokens_per_s > 0 AND world_size > 0 AND rate_from <> 'tokens_per_s_per_device'
-- from: printed tokens_per_s_per_device | unit tokens/s of a device
-- prints: 4 digits
-- leads: an explanation of its run
CREATE OR REPLACE VIEW metric_tokens_per_s_per_device AS
WITH of_jobs AS (
    SELECT run_id, per(value, devices) AS value, per(low, devices) AS low, per(high, devices) AS high, from_metric
    FROM token_rates WHERE devices > 0
)
-- What is printed of a device counts, where nobody says how many devices the job had.
SELECT run_id, coalesce(j.value, m.value) AS value, CASE WHEN j.value IS NULL THEN m.low ELSE j.low END AS low,
    CASE WHEN j.value IS NULL THEN m.high ELSE j.high END AS high,
    coalesce(j.from_metric, 'tokens_per_s_per_device') AS from_metric
FROM of_jobs j
FULL JOIN (SELECT run_id, value, low, high FROM measured WHERE metric = 'tokens_per_s_per_device') m USING (run_id);
