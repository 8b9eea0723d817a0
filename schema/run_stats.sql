-- Statistics of the runs of some loads, by rule 2: of an iteration logged twice the later one counts;
-- an interval with the first logged iteration after a start in it is warm-up; where a format counts
-- evaluating and saving into the next interval (Megatron-DeepSpeed, and Megatron-LM until its lines
-- print the date), such an interval is left out too. What would leave nothing is not left out.
INSERT INTO raw.run_stats
WITH asked AS (
    SELECT unnest($load_ids) AS load_id
), held AS (
    -- Of a log that was read as it grew, the rows of all its parts count as those of the load.
    SELECT load_id AS part_id, load_id FROM asked
    UNION ALL
    SELECT p.part_id, n.load_id FROM asked a JOIN raw.parts n ON n.load_id = a.load_id
    JOIN raw.parts p ON p.chain_id = n.chain_id AND p.number <= n.number
), kept AS (
    SELECT h.load_id, run_id, segment, iteration, coalesce(interval_length, 1) AS length, line, printed_at,
        step_time_s, samples_per_s, tokens_per_s, tokens_per_s_per_device, tflops, gbs
    FROM raw.iterations i JOIN held h ON h.part_id = i.load_id
    QUALIFY row_number() OVER (PARTITION BY run_id, iteration ORDER BY segment DESC, line DESC, step_time_s) = 1
), pauses AS (
    SELECT run_id, line FROM raw.evaluations JOIN held ON part_id = evaluations.load_id
    UNION SELECT run_id, line FROM raw.events JOIN held ON part_id = events.load_id
    WHERE kind = 'save'
), counting AS (
    -- The runs whose intervals contain what happens between two lines.
    SELECT run_id FROM raw.runs WHERE load_id IN (SELECT load_id FROM asked)
        AND (framework LIKE 'Megatron-DeepSpeed%' OR (framework LIKE 'Megatron-LM%'
            AND run_id NOT IN (SELECT run_id FROM kept WHERE printed_at IS NOT NULL)))
), placed AS (
    SELECT k.*, iteration - length + 1 <= first_value(iteration) OVER sequence AS warm,
        coalesce(lag(line) OVER sequence, 0) AS line_before
    FROM kept k WINDOW sequence AS (PARTITION BY run_id, segment ORDER BY line, iteration)
), judged AS (
    SELECT p.* EXCLUDE (warm, line_before, printed_at),
        CASE WHEN warm THEN 3
             WHEN p.run_id IN (SELECT run_id FROM counting) AND EXISTS (
                 SELECT 1 FROM pauses e
                 WHERE e.run_id = p.run_id AND e.line > p.line_before AND e.line < p.line) THEN 2
             ELSE 1 END AS grade
    FROM placed p
), used AS MATERIALIZED (
    SELECT * EXCLUDE grade FROM judged
    QUALIFY grade <= min(grade) OVER (PARTITION BY run_id)
), long AS (
    SELECT load_id, run_id, iteration, length, 'step_time_s' AS metric, step_time_s AS value FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'samples_per_s', samples_per_s FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'tokens_per_s', tokens_per_s FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'tokens_per_s_per_device',
        tokens_per_s_per_device FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'tflops', tflops FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'gbs', CAST(gbs AS DOUBLE) FROM used
)
SELECT load_id, run_id, metric, sum(length), count(*), min(iteration) - min_by(length, iteration) + 1, max(iteration),
    median(value), sum(value * length) / sum(length), min(value), max(value), quantile_cont(value, 0.95),
    stddev_samp(value),
    'without the first interval after each start and those with an evaluation or a save in them; '
        || 'a repeated iteration counts once',
    greatest($rule_version, 2)
FROM long WHERE isfinite(value)
GROUP BY load_id, run_id, metric;
