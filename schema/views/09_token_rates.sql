-- token_rates: tokens a second of the job, from the step time, else from a printed rate.
-- token_rates.value: tokens/s of the job
-- token_rates.low: lower end of what the printed digits, or the intervals of the log, allow
-- token_rates.high: upper end of the same
-- token_rates.from_metric: the printed value that it comes from
-- token_rates.devices: devices as stated, else processes
CREATE OR REPLACE VIEW token_rates AS
WITH rates AS (
    SELECT c.run_id, m.metric, coalesce(c.devices, c.world_size) AS devices,
        -- A rate of a device is not multiplied by processes that are assumed: one a node.
        coalesce(c.devices, c.ranks, c.product,
                 CASE WHEN c.procs_per_node_stated IS NOT NULL OR c.nodes IS NULL OR c.procs_per_node > 1
                      THEN c.world_size END) AS counted,
        -- Of what a rate without a scope is, nobody knows, unless there is one device.
        CASE m.metric WHEN 'tokens_per_s' THEN CASE WHEN m.scope IS NOT NULL OR coalesce(c.devices, c.world_size, 1) = 1 THEN 1 END
                      WHEN 'tokens_per_s_per_device' THEN counted
                      WHEN 'samples_per_s' THEN c.seq_len
                      WHEN 'samples_per_s_per_device' THEN c.seq_len * counted END AS factor,
        CASE m.metric WHEN 'step_time_s' THEN per(c.tokens_per_step, m.value) ELSE m.value * factor END AS value,
        CASE m.metric WHEN 'step_time_s' THEN per(c.tokens_per_step, m.high) ELSE m.low * factor END AS low,
        CASE m.metric WHEN 'step_time_s' THEN per(c.tokens_per_step, m.low) ELSE m.high * factor END AS high
    FROM configurations c JOIN measured m ON m.run_id = c.run_id
    WHERE m.metric IN ('step_time_s', 'tokens_per_s', 'tokens_per_s_per_device', 'samples_per_s',
                       'samples_per_s_per_device')
)
SELECT run_id, value, low, high, metric AS from_metric, devices FROM rates WHERE isfinite(value)
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY
    list_position(['step_time_s', 'tokens_per_s', 'tokens_per_s_per_device', 'samples_per_s',
                   'samples_per_s_per_device'], metric)) = 1;
