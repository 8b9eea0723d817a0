-- title: Aggregate model PFLOP/s of the job
-- unit: PFLOP/s
-- source: A2 on the model FLOPs (F7, else F5); 1 PFLOP/s = 1000 TFLOP/s
-- from: A2: model_flops / step_time_s / 1e15
-- selected: value AS aggregate_pflops, low AS aggregate_low, high AS aggregate_high
-- prints: 3 digits
-- leads: an explanation of its run
CREATE OR REPLACE VIEW metric_aggregate_pflops AS
SELECT f.run_id, f.formula, a2(per(f.flops, t.value) / 1e12, 1) AS value,
    a2(per(f.flops, t.high) / 1e12, 1) AS low, a2(per(f.flops, t.low) / 1e12, 1) AS high
FROM model_flops f JOIN measured t ON t.run_id = f.run_id AND t.metric = 'step_time_s'
WHERE t.value > 0;
