-- title: Sequences per second of the job
-- unit: 1/s
-- source: printed; of a device times the devices; else GBS / step time
-- from: as printed | of printed samples_per_s | when samples_from = 'samples_per_s'
-- from: samples_per_s_per_device x devices | of devices, printed samples_per_s_per_device | when samples_from = 'samples_per_s_per_device'
-- from: gbs / step_time_s
-- selected: value AS samples_per_s, from_metric AS samples_from
-- prints: 4 digits
CREATE OR REPLACE VIEW metric_samples_per_s AS
WITH rates AS (
    SELECT m.run_id, m.metric AS from_metric, CASE m.metric WHEN 'step_time_s' THEN per(c.gbs, m.value)
            WHEN 'samples_per_s_per_device' THEN m.value * c.devices ELSE m.value END AS value,
        CASE m.metric WHEN 'step_time_s' THEN per(c.gbs, m.high)
            WHEN 'samples_per_s_per_device' THEN m.low * c.devices ELSE m.low END AS low,
        CASE m.metric WHEN 'step_time_s' THEN per(c.gbs, m.low)
            WHEN 'samples_per_s_per_device' THEN m.high * c.devices ELSE m.high END AS high
    FROM measured m JOIN configurations c ON c.run_id = m.run_id
    WHERE m.metric IN ('step_time_s', 'samples_per_s', 'samples_per_s_per_device')
)
SELECT run_id, value, low, high, from_metric FROM rates WHERE isfinite(value)
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY
    list_position(['samples_per_s', 'samples_per_s_per_device', 'step_time_s'], from_metric)) = 1;
