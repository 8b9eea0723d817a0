-- title: Step time
-- unit: s/it
-- source: printed cell; of a log the median of run_stats
-- from: printed step_time_s
-- selected: value AS step_time_s, low AS step_time_low, high AS step_time_high, n, basis, is_marked AS time_is_marked
-- prints: step time, 4 digits, range of seconds
CREATE OR REPLACE VIEW metric_step_time AS
SELECT run_id, value, low, high, n, basis,
    list_contains(flags, 'estimated') OR list_contains(flags, 'unexplained_mark') AS is_marked
FROM measured WHERE metric = 'step_time_s';
