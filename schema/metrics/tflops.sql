-- title: TFLOP/s as printed, by whatever formula the source uses
-- unit: TFLOP/s
-- source: printed cell; of a log the median of run_stats
-- from: printed tflops
-- selected: value AS tflops, low AS tflops_low, high AS tflops_high
-- prints: 4 digits, number
-- leads: an explanation of its run
CREATE OR REPLACE VIEW metric_tflops AS
SELECT run_id, value, low, high, n, basis FROM measured WHERE metric = 'tflops';
