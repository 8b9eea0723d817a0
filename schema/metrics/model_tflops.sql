-- title: Model TFLOP/s per process (one process drives one device)
-- unit: TFLOP/s of a process
-- source: F7 where the shape is known, else F5; an unstated vocabulary counts as GPT-2's 50257, padded (V1)
-- from: model_flops / (step_time_s x world_size x 1e12)
-- prints: 3 digits
-- leads: an explanation of its run
CREATE OR REPLACE VIEW metric_model_tflops AS
SELECT f.run_id, f.formula, per(f.flops, t.value * f.world_size * 1e12) AS value,
    per(f.flops, t.high * f.world_size * 1e12) AS low, per(f.flops, t.low * f.world_size * 1e12) AS high
FROM model_flops f JOIN measured t ON t.run_id = f.run_id AND t.metric = 'step_time_s'
WHERE f.world_size > 0 AND t.value > 0;
