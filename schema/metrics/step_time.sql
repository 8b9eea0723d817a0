-- title: Step time
-- unit: s/it
-- source: printed cell; of a log the median of run_stats
CREATE OR REPLACE VIEW metric_step_time AS
SELECT run_id, value, low, high, n, basis FROM measured WHERE metric = 'step_time_s';
