-- The effect of one setting: pairs of configurations that differ in nothing else.
-- Reads the temporary table `selected`. A setting is an environment variable, an option of the
-- scheduler, a clock; the unit of replication is the run.

-- name: pairs
WITH good AS (
    SELECT s.*, coalesce(s.memory * bytes_of(s.memory_unit) / bytes_of('MiB'), m.mib) AS memory_used, f.load, f.cpus
    FROM selected s
    LEFT JOIN (SELECT run_id, max(value) AS mib FROM memory WHERE kind = 'host_peak' GROUP BY run_id) m
        ON m.run_id = s.run_id
    LEFT JOIN (SELECT run_id, max(try_cast(value AS DOUBLE)) FILTER (field = 'load_average') AS load,
                   max(try_cast(value AS INTEGER)) FILTER (field = 'cpus') AS cpus
               FROM facts WHERE field IN ('load_average', 'cpus') GROUP BY run_id) f ON f.run_id = s.run_id
    WHERE s.step_time_s IS NOT NULL AND s.left_out IS NULL AND s.status = 'ok' AND s.kind = 'measured'
        AND s.origin <> 'quote'
), flags AS (
    SELECT DISTINCT name AS flag FROM env_flags SEMI JOIN good USING (run_id)
), stated AS (
    SELECT g.run_id, f.flag,
        max(regexp_replace(e.value, '^.*/', '')) FILTER (e.name = f.flag) AS value,
        coalesce(string_agg(e.name || '=' || e.value, ', ' ORDER BY e.name) FILTER (e.name <> f.flag), '') AS others
    FROM good g CROSS JOIN flags f LEFT JOIN env_flags e ON e.run_id = g.run_id
    GROUP BY ALL
), configured AS (
    SELECT flag, value, others, origin, {{compared, but model}},
        count(*) AS n, median(step_time_s) AS step_time_s, min(step_time_s) AS fastest, max(step_time_s) AS slowest,
        median(tflops) AS tflops, median(memory_used) AS memory, max(load) AS load, min(cpus) AS cpus, min(uri) AS uri, min(line) AS line
    FROM good JOIN stated USING (run_id) GROUP BY ALL
), ranked AS (
    SELECT *, row_number() OVER same AS place, first_value(struct_pack(value, n, step_time_s, fastest, slowest, tflops, memory,
        uri, line)) OVER same AS base
    FROM configured
    WINDOW same AS (PARTITION BY flag, others, origin, {{compared, but model}} ORDER BY value NULLS FIRST)
)
SELECT *, step_time_s / base.step_time_s - 1 AS change,
    fastest > base.slowest OR slowest < base.fastest AS apart,
    -- Among all assignments of these times to the two settings, those at least as far apart, either way.
    factorial((n + base.n)::INTEGER) / (2 * factorial(n::INTEGER) * factorial(base.n::INTEGER)) AS one_in
FROM ranked WHERE place > 1
ORDER BY flag, origin = 'log', system, size, nodes NULLS LAST, world_size, dp, tp, pp, mbs, gbs, others, value;
