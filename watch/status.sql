-- Status of the newest run of each of the files $uris. `recent` is its newest interval, `lately` the
-- median and count by metric of the newest intervals, and `steady` the same of its steady state, from
-- run_stats.
WITH names AS (
    -- A file with several names, such as a link to the newest log, is shown under one of them.
    SELECT watched.uri, s.uri AS shown_as FROM (SELECT unnest($uris) AS uri) watched
    JOIN sources s ON list_contains(s.uris, watched.uri)
), newest AS (
    SELECT n.uri, run_id, status, status_reason, status_line, train_iters
    FROM runs r JOIN names n ON n.shown_as = r.uri
    WHERE origin = 'log'
    QUALIFY row_number() OVER (PARTITION BY n.uri ORDER BY line DESC) = 1
), steps AS (
    SELECT i.*, row_number() OVER (PARTITION BY run_id ORDER BY segment DESC, line DESC, iteration DESC) AS age
    FROM iterations i SEMI JOIN newest USING (run_id)
), recent AS (
    SELECT run_id, arg_min(iteration, age) AS iteration,
        arg_min(coalesce(interval_length, 1), age) AS interval_length,
        arg_min(step_time_s, age) AS step_time_s, arg_min(samples_per_s, age) AS samples_per_s,
        arg_min(tokens_per_s, age) AS tokens_per_s, arg_min(tflops, age) AS tflops,
        arg_min(loss, age) AS loss, arg_min(consumed_tokens, age) AS consumed_tokens,
        arg_min(gbs, age) AS gbs, arg_min(seq_len, age) AS seq_len,
        arg_min(consumed_samples, age) AS consumed_samples,
        map(['step_time_s', 'samples_per_s', 'tokens_per_s', 'tokens_per_s_per_device'], [
            {median: median(step_time_s) FILTER (age <= $lately), lines: count(step_time_s) FILTER (age <= $lately)},
            {median: median(samples_per_s) FILTER (age <= $lately), lines: count(samples_per_s) FILTER (age <= $lately)},
            {median: median(tokens_per_s) FILTER (age <= $lately), lines: count(tokens_per_s) FILTER (age <= $lately)},
            {median: median(tokens_per_s_per_device) FILTER (age <= $lately), lines: count(tokens_per_s_per_device) FILTER (age <= $lately)}
        ]) AS lately,
        (epoch(max(printed_at) FILTER (age <= $lately)) - epoch(min(printed_at) FILTER (age <= $lately)))
            / nullif(count(printed_at) FILTER (age <= $lately) - 1, 0) AS every_s,
        max(iteration) FILTER (age <= $nan_within AND (nan > 0 OR isnan(loss)
            OR len(list_filter(map_values(losses), lambda v: isnan(v))) > 0
            OR len(list_filter(map_values(more), lambda v: lower(v) IN ('nan', '-nan', 'nan.0'))) > 0)) AS nan_at
    FROM steps GROUP BY run_id
)
SELECT n.*, r.* EXCLUDE (run_id, gbs, seq_len), g.steady,
    c.size, coalesce(r.gbs, c.gbs) AS gbs, coalesce(r.seq_len, c.seq_len) AS seq_len,
    f.value AS model_tflops
FROM newest n LEFT JOIN recent r USING (run_id)
LEFT JOIN (
    SELECT run_id, map(list(metric), list({median: median, lines: lines})) AS steady FROM run_stats
    SEMI JOIN newest USING (run_id) GROUP BY run_id
) g ON g.run_id = n.run_id
LEFT JOIN configurations c ON c.run_id = n.run_id
LEFT JOIN metric_model_tflops f ON f.run_id = n.run_id
ORDER BY n.uri
