-- title: Tokens per second and process (one process drives one device)
-- unit: tokens/s
-- source: GBS x sequence length / (step time x world size)
CREATE OR REPLACE VIEW metric_tokens_per_s_per_device AS
SELECT c.run_id, per(c.tokens_per_step, t.value * c.world_size) AS value,
    per(c.tokens_per_step, t.high * c.world_size) AS low, per(c.tokens_per_step, t.low * c.world_size) AS high
FROM configurations c JOIN measured t ON t.run_id = c.run_id AND t.metric = 'step_time_s'
WHERE c.tokens_per_step IS NOT NULL AND c.world_size > 0 AND t.value > 0;
