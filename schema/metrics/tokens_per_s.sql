-- title: Tokens per second of the job
-- unit: tokens/s
-- source: GBS x sequence length / step time; else the printed rate
-- from: tokens_per_step / step_time_s | when rate_from = 'step_time_s'
-- from: as printed | of printed tokens_per_s | when rate_from = 'tokens_per_s'
-- from: tokens_per_s_per_device x devices | of devices or world_size, printed tokens_per_s_per_device | when rate_from = 'tokens_per_s_per_device'
-- from: samples_per_s x seq_len | of seq_len, printed samples_per_s | when rate_from = 'samples_per_s'
-- from: samples_per_s_per_device x seq_len x devices | of seq_len, devices or world_size, printed samples_per_s_per_device | when rate_from = 'samples_per_s_per_device'
-- selected: value AS tokens_per_s, low AS tokens_per_s_low, high AS tokens_per_s_high, from_metric AS rate_from
-- prints: 4 digits
CREATE OR REPLACE VIEW metric_tokens_per_s AS
SELECT run_id, value, low, high, from_metric FROM token_rates;
