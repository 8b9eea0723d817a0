-- Statistics of the runs of some loads, by rule 2: of an iteration logged twice the later one counts,
-- and of those that a later run goes back behind none;
-- an interval with the first logged iteration after a start in it is warm-up; where a format counts
-- evaluating and saving into the next interval (Megatron-DeepSpeed, and Megatron-LM until its lines
-- print the date), such an interval is left out too. What would leave nothing is not left out.
-- Of a run whose batch changes, as it does in a ramp-up, the intervals of the batch that most of its
-- iterations have count, of two the larger: times of one batch say nothing of another.
-- No window over all intervals of a run: it would need memory for each of them.
INSERT INTO raw.run_stats
WITH asked AS (
    SELECT unnest($load_ids) AS load_id
), held AS (
    -- Of a log that was read as it grew, the rows of all its parts count as those of the load.
    SELECT load_id AS part_id, load_id FROM asked
    UNION ALL
    SELECT p.part_id, n.load_id FROM asked a JOIN raw.parts n ON n.load_id = a.load_id
    JOIN raw.parts p ON p.chain_id = n.chain_id AND p.number <= n.number
), logged AS (
    SELECT h.load_id, run_id, segment, iteration, coalesce(interval_length, 1) AS length, line, printed_at,
        step_time_s, samples_per_s, tokens_per_s, tokens_per_s_per_device, tflops, gbs,
        coalesce(seq_len, consumed_tokens / nullif(consumed_samples, 0)) AS seq_len
    FROM raw.iterations i JOIN held h ON h.part_id = i.load_id
    ANTI JOIN redone d ON d.run_id = i.run_id AND d.iteration <= i.iteration
), repeated AS (
    -- Iterations that are logged more than once.
    SELECT run_id, iteration FROM raw.iterations WHERE load_id IN (SELECT part_id FROM held)
    GROUP BY run_id, iteration HAVING count(*) > 1
), kept AS (
    FROM logged ANTI JOIN repeated USING (run_id, iteration)
    UNION ALL
    FROM logged SEMI JOIN repeated USING (run_id, iteration)
    QUALIFY row_number() OVER (PARTITION BY run_id, iteration ORDER BY segment DESC, line DESC, step_time_s) = 1
), pauses AS (
    SELECT run_id, line FROM raw.evaluations JOIN held ON part_id = evaluations.load_id
    UNION SELECT run_id, line FROM raw.events JOIN held ON part_id = events.load_id
    WHERE kind = 'save'
), counting AS (
    -- The runs whose intervals contain what happens between two lines.
    SELECT run_id FROM raw.runs WHERE load_id IN (SELECT part_id FROM held)
        AND (framework LIKE 'Megatron-DeepSpeed%' OR (framework LIKE 'Megatron-LM%'
            AND run_id NOT IN (SELECT run_id FROM kept WHERE printed_at IS NOT NULL)))
), starts AS (
    SELECT run_id, segment, min_by(iteration, (line, iteration)) AS first_logged
    FROM kept GROUP BY run_id, segment
), next_lines AS (
    -- Of each pause the next line of a step; a pause on the line of a step itself is in no interval.
    SELECT DISTINCT e.run_id, k.line
    FROM (FROM pauses SEMI JOIN counting USING (run_id)) e
    ASOF JOIN kept k ON k.run_id = e.run_id AND e.line <= k.line
    WHERE e.line < k.line
), paused AS (
    SELECT run_id, line, min(iteration) AS iteration
    FROM kept SEMI JOIN next_lines USING (run_id, line) GROUP BY run_id, line
), graded AS (
    SELECT k.* EXCLUDE printed_at,
        CASE WHEN iteration - length + 1 <= first_logged THEN 3
             WHEN p.run_id IS NOT NULL THEN 2
             ELSE 1 END AS grade
    FROM kept k JOIN starts s USING (run_id, segment)
    LEFT JOIN paused p USING (run_id, line, iteration)
), batches AS (
    -- The batch that counts, of runs that print several.
    SELECT run_id, arg_max(gbs, (-grade, iterations, gbs)) AS batch FROM (
        SELECT run_id, grade, gbs, sum(length) AS iterations FROM graded
        WHERE gbs IS NOT NULL GROUP BY run_id, grade, gbs)
    GROUP BY run_id HAVING min(gbs) < max(gbs)
), judged AS (
    SELECT g.* REPLACE (CASE WHEN b.batch IS NULL OR g.gbs IS NOT DISTINCT FROM b.batch THEN grade ELSE 4 END AS grade)
    FROM graded g LEFT JOIN batches b USING (run_id)
), used AS MATERIALIZED (
    SELECT j.* EXCLUDE grade FROM judged j
    JOIN (SELECT run_id, min(grade) AS least FROM judged GROUP BY run_id) l USING (run_id)
    WHERE grade <= least
    ORDER BY run_id, iteration  -- sums of fractions hang on their order
)
, long AS (
    SELECT load_id, run_id, iteration, length, 'step_time_s' AS metric, step_time_s AS value FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'samples_per_s', samples_per_s FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'tokens_per_s', tokens_per_s FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'tokens_per_s_per_device',
        tokens_per_s_per_device FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'tflops', tflops FROM used
    UNION ALL SELECT load_id, run_id, iteration, length, 'gbs', CAST(gbs AS DOUBLE) FROM used
    -- The length of sequences, where no header states it.
    UNION ALL SELECT load_id, run_id, iteration, length, 'seq_len', seq_len FROM used
    WHERE run_id IN (SELECT run_id FROM raw.runs WHERE seq_len IS NULL AND load_id IN (SELECT part_id FROM held))
), told AS (
    SELECT load_id, run_id, metric, sum(length) AS n, count(*) AS lines,
        min(iteration) - min_by(length, iteration) + 1 AS first_iteration, max(iteration) AS last_iteration,
        quantile_cont(value, [0.5, 0.95]) AS quantiles, sum(value * length) / sum(length) AS mean,
        min(value) AS low, max(value) AS high, stddev_samp(value) AS deviation
    FROM long WHERE isfinite(value) AND list_contains($metrics, metric)
    GROUP BY load_id, run_id, metric
)
SELECT t.load_id, t.run_id, t.metric, t.n, t.lines, t.first_iteration, t.last_iteration,
    quantiles[1], t.mean, low, high, quantiles[2], deviation,
    'without the first interval after each start and those with an evaluation or a save in them; '
        || 'a repeated iteration counts once; of several batch sizes that of most iterations'
        || coalesce('; those from ' || d.iteration || ' on are done again by a later run', ''),
    greatest($rule_version, 3), d.iteration
FROM told t LEFT JOIN redone d ON d.run_id = t.run_id
ANTI JOIN raw.run_stats known ON known.load_id = t.load_id AND known.run_id = t.run_id AND known.metric = t.metric
    AND known.redone_from IS NOT DISTINCT FROM d.iteration;
