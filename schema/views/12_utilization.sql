-- device_peaks: dense peaks of devices by number format (vocabulary/hardware.toml).
-- device_peaks.place: order of trying: the first whose pattern a text has is the device
-- device_peaks.name: the device
-- device_peaks.family: the part of its name that is certain
-- device_peaks.pattern: regular expression of its names
-- device_peaks.dtype: number format
-- device_peaks.tflops: dense peak of one device, in TFLOP/s
CREATE OR REPLACE VIEW device_peaks AS
FROM (VALUES
{{device peaks}}
) AS peaks (place, name, family, pattern, dtype, tflops);

-- utilization: model FLOP/s of one device, and the peaks to compare them with.
-- utilization.flops_per_token: model FLOPs a token: F7 where the shape is known and the MLP plain, else F5
-- utilization.tokens_per_s: tokens/s of the job; utilization.low and .high are its ends
-- utilization.low: lower end of the tokens/s
-- utilization.high: upper end of the tokens/s
-- utilization.peak_devices: devices that the peak is one of; of an A64FX its nodes
-- utilization.peak_tflops: dense peak for the number format, in TFLOP/s; where none is stated that of 16 bits
-- utilization.peak_name: device and number format of that peak
-- utilization.peak_assumed: whether the number format is not stated
-- utilization.most_tflops: the highest peak the device may have in any format, in TFLOP/s
-- utilization.device_name: the device as `device_peaks` names it
-- utilization.by_label: whether the FLOPs are counted by a label or a rounded number of parameters
-- utilization.of_peak: share of the peak that one token a second takes
CREATE OR REPLACE VIEW utilization AS
-- Used four times, and bound once: its rows take longer to bind than to read.
WITH known AS MATERIALIZED (
    FROM device_peaks
), counted AS (
    SELECT run_id, device, dtype, recompute, nodes, coalesce(devices, world_size) AS devices,
        CASE WHEN plain_mlp AND NOT coalesce(list_contains(flags, 'adapters'), false) THEN
            f7(per(1, seq_len), seq_len, nullif(layers, 0), nullif(hidden, 0), vocab_used,
               coalesce(nullif(heads, 0), 1), CASE WHEN heads > 0 THEN coalesce(kv_heads, heads) ELSE 1 END)
        END AS from_shape,
        CASE WHEN dense AND NOT coalesce(list_contains(flags, 'adapters'), false) THEN f5(coalesce(params_stated, params_b * 1e9), 1) END AS from_label
    FROM configurations
), named AS (
    SELECT device, arg_min(name, place) AS name
    FROM (SELECT DISTINCT device FROM counted WHERE device IS NOT NULL)
    JOIN known ON regexp_matches(device, pattern) GROUP BY device
), peaks AS (
    SELECT name, any_value(family) AS family, max(tflops) FILTER (dtype IN ('bf16', 'fp16')) AS half,
        -- Formats of 8 bits double the peak of bf16, where theirs is not stored.
        greatest(max(tflops), CASE WHEN NOT bool_or(dtype = 'fp8') THEN 2 * max(tflops) FILTER (dtype = 'bf16') END) AS most
    FROM known WHERE tflops IS NOT NULL GROUP BY name
)
SELECT c.run_id, c.recompute, coalesce(from_shape, from_label) AS flops_per_token, t.value AS tokens_per_s, t.low, t.high,
    CASE WHEN p.family = 'A64FX' THEN c.nodes ELSE c.devices END AS peak_devices,
    -- The processors of an A64FX train in any format; on other devices 32 bits would be stated.
    CASE WHEN c.dtype IS NOT NULL THEN s.tflops WHEN p.family <> 'A64FX' THEN p.half END AS peak_tflops,
    n.name || ' ' || coalesce(c.dtype, 'fp16/bf16') AS peak_name,
    c.dtype IS NULL AS peak_assumed,
    coalesce(p.most, (SELECT max(tflops) FROM known)) AS most_tflops,
    n.name AS device_name, from_shape IS NULL AS by_label,
    per(flops_per_token, peak_devices * peak_tflops * 1e12) AS of_peak
FROM counted c JOIN token_rates t ON t.run_id = c.run_id
LEFT JOIN named n ON n.device = c.device LEFT JOIN peaks p ON p.name = n.name
LEFT JOIN known s ON s.name = n.name AND s.dtype = c.dtype
WHERE coalesce(from_shape, from_label) > 0 AND t.value > 0;
