-- title: Tokens per second and device (of a source that states no devices: and process)
-- unit: tokens/s
-- source: GBS x sequence length / (step time x devices); else the printed rate
-- from: tokens_per_s / devices | unit tokens/s of a device
-- from: tokens_per_s / world_size | unit tokens/s of a process
-- prints: 4 digits
-- leads: an explanation of its run
CREATE OR REPLACE VIEW metric_tokens_per_s_per_device AS
SELECT run_id, per(value, devices) AS value, per(low, devices) AS low, per(high, devices) AS high, from_metric
FROM token_rates WHERE devices > 0;
