-- One row a run: configuration, result, and place. Reads the temporary table `selected`.

-- from model: annotations

-- name: runs
SELECT run_id, uri, line, origin, size, system, framework, nodes, world_size, dp, tp, pp, cp, mbs, gbs, seq_len,
    recompute, settings, status, step_time_s, step_time_low, step_time_high, basis, n, time_is_marked,
    tokens_per_s_per_device, tflops, left_out, annotated
FROM selected WHERE kind = 'measured'
ORDER BY size NULLS LAST, uri, line, run_id;

-- name: planned
SELECT count(*) AS runs FROM selected WHERE kind = 'planned';
