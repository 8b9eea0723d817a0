-- title: Tokens per second of the job
-- unit: tokens/s
-- source: GBS x sequence length / step time; else the printed rate
CREATE OR REPLACE VIEW metric_tokens_per_s AS
SELECT run_id, value, low, high, from_metric FROM token_rates;
