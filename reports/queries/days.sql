-- Days to train a budget of tokens, fastest first. Reads the temporary table `selected`.
-- Parameters: $tokens, the budget; $most, the rows shown of each system (0: all).

-- name: ranked
-- Best first: a step of other batch sizes counts by the tokens it trains.
SELECT run_id, size, system, nodes, devices, world_size, dp, tp, pp, cp, mbs, gbs, seq_len, recompute, framework, settings,
    step_time_s, step_time_low, step_time_high, n, basis, tokens_per_s, tokens_per_s_per_device,
    d1($tokens, tokens_per_s) AS days, d1($tokens, tokens_per_s_high) AS days_low,
    d1($tokens, tokens_per_s_low) AS days_high, d1($tokens, tokens_per_s) * coalesce(devices, world_size) AS device_days,
    time_is_marked, uri, line,
    row_number() OVER (PARTITION BY system ORDER BY tokens_per_s DESC, uri, line) AS place,
    count(*) OVER () AS timed
FROM selected
WHERE tokens_per_s IS NOT NULL AND left_out IS NULL AND usable AND kind = 'measured' AND origin <> 'quote'
QUALIFY place <= $most OR $most = 0
ORDER BY tokens_per_s DESC, uri, line;

-- name: left_out
-- Runs with a time that no ranking may hold, each with its reasons; copies are told apart.
SELECT uri, line, left_out AS reason FROM selected
WHERE left_out IS NOT NULL AND left_out <> 'copy' AND kind = 'measured'
ORDER BY uri, line;
