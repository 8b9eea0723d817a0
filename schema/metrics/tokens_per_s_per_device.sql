-- title: Tokens per second and device (of a source that states no devices: and process)
-- unit: tokens/s
-- source: GBS x sequence length / (step time x devices); else the printed rate
CREATE OR REPLACE VIEW metric_tokens_per_s_per_device AS
SELECT run_id, per(value, devices) AS value, per(low, devices) AS low, per(high, devices) AS high, from_metric
FROM token_rates WHERE devices > 0;
