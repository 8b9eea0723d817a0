-- Statistics of the runs of some loads, by rule 2: of an iteration logged twice the later one counts,
-- and none of those that a later run repeats;
-- an interval with the first logged iteration after a start in it is warm-up; where a format counts
-- evaluating and saving into the next interval (Megatron-DeepSpeed, and Megatron-LM until its lines
-- print the date), such an interval is left out too. The exclusions never leave a run without intervals.
-- For a run whose batch changes, as it does in a ramp-up, the intervals of the batch that most of its
-- iterations have count, of two the larger: times do not compare between batches.
-- No window over all intervals of a run, and no materialization of them: it would need memory for each.
INSERT INTO raw.run_stats
WITH requested AS (
    SELECT unnest($load_ids) AS load_id
), load_parts AS (
    -- For a log that was read as it grew, the rows of all its parts count as those of the load.
    SELECT load_id AS part_id, load_id FROM requested
    UNION ALL
    SELECT p.part_id, n.load_id FROM requested a JOIN raw.parts n ON n.load_id = a.load_id
    JOIN raw.parts p ON p.chain_id = n.chain_id AND p.number <= n.number
), logged AS NOT MATERIALIZED (
    SELECT h.load_id, run_id, segment, iteration, coalesce(interval_length, 1) AS length, line, printed_at,
        step_time_s, samples_per_s, tokens_per_s, tokens_per_s_per_device, tflops, gbs, mfu, hfu,
        coalesce(seq_len, consumed_tokens / nullif(consumed_samples, 0)) AS seq_len
    FROM raw.iterations i JOIN load_parts h ON h.part_id = i.load_id
    ANTI JOIN superseded_steps d ON d.run_id = i.run_id AND d.iteration <= i.iteration
), suspects AS (
    -- The runs that may log an iteration more than once: all others count up, line by line.
    SELECT run_id FROM (
        SELECT run_id, count(*) - count(interval_length) AS first_ones, min(interval_length) AS least
        FROM raw.iterations WHERE load_id IN (SELECT part_id FROM load_parts) GROUP BY run_id, segment)
    GROUP BY run_id HAVING count(*) > 1 OR max(first_ones) > 1 OR min(least) < 1
), repeated AS (
    SELECT run_id, iteration FROM raw.iterations SEMI JOIN suspects USING (run_id)
    WHERE load_id IN (SELECT part_id FROM load_parts)
    GROUP BY run_id, iteration HAVING count(*) > 1
), kept AS NOT MATERIALIZED (
    FROM logged ANTI JOIN repeated USING (run_id, iteration)
    UNION ALL
    FROM logged SEMI JOIN repeated USING (run_id, iteration)
    QUALIFY row_number() OVER (PARTITION BY run_id, iteration ORDER BY segment DESC, line DESC, step_time_s) = 1
), pauses AS (
    SELECT run_id, line FROM raw.evaluations JOIN load_parts ON part_id = evaluations.load_id
    UNION SELECT run_id, line FROM raw.events JOIN load_parts ON part_id = events.load_id
    WHERE kind = 'save'
), counting AS (
    -- The runs whose intervals include events between two lines.
    SELECT run_id FROM raw.runs WHERE load_id IN (SELECT part_id FROM load_parts)
        AND (framework LIKE 'Megatron-DeepSpeed%' OR (framework LIKE 'Megatron-LM%'
            AND run_id NOT IN (SELECT run_id FROM kept WHERE printed_at IS NOT NULL)))
), starts AS (
    SELECT run_id, segment, min_by(iteration, (line, iteration)) AS first_logged,
        run_id IN (SELECT run_id FROM raw.runs WHERE seq_len IS NOT NULL AND load_id IN (SELECT part_id FROM load_parts)) AS stated
    FROM kept GROUP BY run_id, segment
), next_lines AS (
    -- For each pause the next line of a step; a pause on the line of a step itself is in no interval.
    SELECT DISTINCT e.run_id, k.line
    FROM (FROM pauses SEMI JOIN counting USING (run_id)) e
    ASOF JOIN kept k ON k.run_id = e.run_id AND e.line <= k.line
    WHERE e.line < k.line
), paused AS (
    SELECT run_id, line, min(iteration) AS iteration
    FROM kept SEMI JOIN next_lines USING (run_id, line) GROUP BY run_id, line
), graded AS NOT MATERIALIZED (
    -- The sequence length is needed only if no header states it.
    SELECT k.* EXCLUDE printed_at REPLACE (CASE WHEN NOT stated THEN seq_len END AS seq_len),
        CASE WHEN iteration - length + 1 <= first_logged THEN 3
             WHEN EXISTS (FROM paused p WHERE p.run_id = k.run_id AND p.line = k.line AND p.iteration = k.iteration)
                 THEN 2
             ELSE 1 END AS grade
    FROM kept k JOIN starts s USING (run_id, segment)
), kinds AS (
    -- The candidates: intervals of a run by their grade and their batch.
    SELECT run_id, grade, gbs, sum(length) AS iterations FROM graded GROUP BY run_id, grade, gbs
), batches AS (
    -- The batch that counts, for runs that print several.
    SELECT run_id, arg_max(gbs, (-grade, iterations, gbs)) AS batch FROM kinds
    WHERE gbs IS NOT NULL GROUP BY run_id HAVING min(gbs) < max(gbs)
), grades AS (
    SELECT k.run_id, k.grade AS before, k.gbs,
        CASE WHEN b.batch IS NULL OR k.gbs IS NOT DISTINCT FROM b.batch THEN k.grade ELSE 4 END AS now,
        min(now) OVER (PARTITION BY k.run_id) AS least
    FROM kinds k LEFT JOIN batches b USING (run_id)
), long AS (
    -- Runs whose values would fill the memory: their quantiles are computed from distinct values.
    SELECT run_id FROM raw.iterations WHERE load_id IN (SELECT part_id FROM load_parts) GROUP BY run_id HAVING count(*) > $long
), used AS NOT MATERIALIZED (
    SELECT load_id, run_id, iteration, length, CAST(gbs AS DOUBLE) AS gbs, seq_len,
        CASE WHEN isfinite(step_time_s) THEN step_time_s END AS step_time_s,
        CASE WHEN isfinite(samples_per_s) THEN samples_per_s END AS samples_per_s,
        CASE WHEN isfinite(tokens_per_s) THEN tokens_per_s END AS tokens_per_s,
        CASE WHEN isfinite(tokens_per_s_per_device) THEN tokens_per_s_per_device END AS tokens_per_s_per_device,
        CASE WHEN isfinite(tflops) THEN tflops END AS tflops,
        -- nanoGPT prints -100% until it has a mean.
        CASE WHEN isfinite(mfu) AND mfu >= 0 THEN mfu END AS mfu, CASE WHEN isfinite(hfu) AND hfu >= 0 THEN hfu END AS hfu,
        run_id IN (FROM long) AS is_long
    FROM graded g
    WHERE EXISTS (FROM grades j WHERE now <= least
        AND j.run_id = g.run_id AND j.before = g.grade AND j.gbs IS NOT DISTINCT FROM g.gbs)
), in_order AS (
    -- Few rows are summed in one order, by one thread: sums of fractions depend on it.
    (FROM used WHERE $few ORDER BY run_id, iteration)
    UNION ALL
    FROM used WHERE NOT $few
), wide AS (
    -- A column for each metric, NULL where an interval has no value.
    SELECT load_id, run_id, struct_pack(
        n := sum(CASE WHEN COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu') IS NOT NULL THEN length END),
        lines := count(COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu')),
        first_iteration := min(CASE WHEN COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu') IS NOT NULL THEN iteration END)
            - arg_min(length, CASE WHEN COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu') IS NOT NULL THEN iteration END) + 1,
        last_iteration := max(CASE WHEN COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu') IS NOT NULL THEN iteration END),
        quantiles := quantile_cont(CASE WHEN NOT is_long THEN COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu') END, [0.5, 0.95]),
        total := sum(COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu') * length),
        low := min(COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu')),
        high := max(COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu')),
        deviation := stddev_samp(COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu')))
    FROM in_order GROUP BY load_id, run_id
), by_metric AS (
    UNPIVOT wide ON * EXCLUDE (load_id, run_id) INTO NAME metric VALUE s
), of_long_runs AS NOT MATERIALIZED (
    -- Values are grouped if they have five digits in common.
    SELECT load_id, run_id, metric, value,
        CASE WHEN value = 0 THEN 0 ELSE round(value, CAST(4 - floor(log10(abs(value))) AS INTEGER)) END AS about
    FROM (UNPIVOT (SELECT load_id, run_id, COLUMNS('_s$|device$|tflops|gbs|seq_len|[mh]fu') FROM used WHERE is_long)
        ON * EXCLUDE (load_id, run_id) INTO NAME metric VALUE value)
), abouts AS (
    -- The index of a quantile among the values in order, from 0, and the number up to each group.
    SELECT load_id, run_id, metric, about, share, lines, sum(lines) OVER up AS upto,
        share * (sum(lines) OVER (PARTITION BY load_id, run_id, metric, share) - 1) AS place
    FROM (SELECT load_id, run_id, metric, about, count(*) AS lines FROM of_long_runs GROUP BY ALL)
    CROSS JOIN (SELECT unnest([0.5, 0.95])::DOUBLE AS share)
    WINDOW up AS (PARTITION BY load_id, run_id, metric, share ORDER BY about)
), counted AS (
    -- Only values next to a quantile's index are distinguished.
    SELECT load_id, run_id, metric, share, place, upto - a.lines AS below, value, count(*) AS lines
    FROM of_long_runs JOIN abouts a USING (load_id, run_id, metric, about)
    WHERE upto > floor(place) AND upto - a.lines <= ceil(place)
    GROUP BY ALL
), placed AS (
    SELECT load_id, run_id, metric, value, share, place, below + sum(lines) OVER up AS upto
    FROM counted WINDOW up AS (PARTITION BY load_id, run_id, metric, share, below ORDER BY value)
), quantiles AS (
    SELECT load_id, run_id, metric, share, any_value(place % 1) AS part,
        min(value) FILTER (upto > floor(place)) * (1 - part) + min(value) FILTER (upto > ceil(place)) * part AS value
    FROM placed GROUP BY load_id, run_id, metric, share
), of_long AS (
    SELECT load_id, run_id, metric, list(value ORDER BY share) AS quantiles FROM quantiles GROUP BY load_id, run_id, metric
)
SELECT t.load_id, t.run_id, t.metric, s.n, s.lines, s.first_iteration, s.last_iteration,
    coalesce(s.quantiles, l.quantiles)[1], s.total / s.n, s.low, s.high, coalesce(s.quantiles, l.quantiles)[2], s.deviation,
    'without the first interval after each start and those with an evaluation or a save in them; '
        || 'a repeated iteration counts once; of several batch sizes that of most iterations'
        || coalesce('; those from ' || d.iteration || ' on are done again by a later run', ''),
    greatest($rule_version, 3), d.iteration
FROM by_metric t LEFT JOIN superseded_steps d ON d.run_id = t.run_id
LEFT JOIN of_long l ON l.load_id = t.load_id AND l.run_id = t.run_id AND l.metric = t.metric
-- Values that the lines themselves mark as no step time, or no rate of the job, are dropped.
ANTI JOIN (FROM raw.quantities WHERE load_id IN (FROM requested)) q
    ON q.load_id = t.load_id AND q.run_id = t.run_id AND q.metric = t.metric AND NOT q.used
ANTI JOIN (FROM raw.run_stats WHERE load_id IN (FROM requested)) known
    ON known.load_id = t.load_id AND known.run_id = t.run_id AND known.metric = t.metric
    AND known.redone_from IS NOT DISTINCT FROM d.iteration
WHERE s.lines > 0;
