-- Statistics of the runs of one load, by rule 1: of an iteration logged twice the later one counts;
-- the first interval after each start is warm-up and left out unless it is the only one.
INSERT INTO raw.run_stats
WITH kept AS (
    SELECT run_id, segment, iteration, coalesce(interval_length, 1) AS length, line,
        step_time_s, samples_per_s, tokens_per_s, tokens_per_s_per_device, tflops, gbs
    FROM raw.iterations WHERE load_id = $load_id
    QUALIFY row_number() OVER (PARTITION BY run_id, iteration ORDER BY segment DESC, line DESC) = 1
), steady AS (
    SELECT * FROM kept
    QUALIFY row_number() OVER (PARTITION BY run_id, segment ORDER BY line) > 1
        OR count(*) OVER (PARTITION BY run_id) = 1
), used AS (
    SELECT * FROM steady
    UNION ALL
    SELECT * FROM kept WHERE run_id NOT IN (SELECT run_id FROM steady)
), long AS (
    UNPIVOT used ON step_time_s, samples_per_s, tokens_per_s, tokens_per_s_per_device, tflops,
        CAST(gbs AS DOUBLE) AS gbs
    INTO NAME metric VALUE value
)
SELECT $load_id, run_id, metric, sum(length), count(*), min(iteration) - min_by(length, iteration) + 1, max(iteration),
    median(value), sum(value * length) / sum(length), min(value), max(value), quantile_cont(value, 0.95),
    stddev_samp(value), 'without the first interval after each start; a repeated iteration counts once',
    $rule_version
FROM long WHERE isfinite(value)
GROUP BY run_id, metric;
