-- The runs that charts show, with their aggregate model PFLOP/s; reads the temporary table `selected`.
SELECT size, system, uri, line, nodes, devices, world_size, coalesce(devices, world_size) AS device_count,
    procs_per_node, dp, tp, pp, cp, mbs, gbs, seq_len, zero_stage, heads, layers, hidden, recompute, framework, settings,
    regime, step_time_s, aggregate_pflops, aggregate_low, aggregate_high, model_formula, n, time_is_marked
FROM selected
WHERE aggregate_pflops IS NOT NULL AND left_out IS NULL AND usable AND kind = 'measured'
    AND origin <> 'quote'
ORDER BY uri, line, run_id;
