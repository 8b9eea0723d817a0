-- What is stated of runs outside of their sources, and what becomes of it: of several annotations of one
-- field of a run the strongest counts, and none where the source itself states the field.
-- `given`: what files on disk state, a row a run, in the order of the files.
-- $of_ranks: the fields that the log of another rank states for the job; $sidecars: formats of sidecar files, the strongest first.
WITH annotated AS (
    FROM given
    UNION ALL BY NAME
    SELECT r.run_id, t.field, t.value, '--set' AS file, 1 AS line, 'given with --set' AS reason, t.told_at::DATE AS stated_on,
        'set' AS origin
    FROM (FROM raw.told QUALIFY row_number() OVER (PARTITION BY source_id, field ORDER BY told_at DESC, value) = 1) t
    JOIN runs r USING (source_id)
    WHERE t.value IS NOT NULL
    UNION ALL BY NAME
    SELECT c.run_id, f.field, f.value, c.uri AS file, f.line, 'its ' || c.format AS reason, 'bundle' AS origin,
        coalesce(list_position($sidecars, c.format), 98) AS position
    FROM companions c JOIN sources s USING (source_id)
    JOIN raw.facts f ON f.load_id = s.load_id AND f.scope = 'column'
    UNION ALL BY NAME
    -- The log of another rank is read as a run of its own, which is hidden: its header states this run too.
    SELECT c.run_id, o.field, o.value, c.uri AS file, o.first_line AS line, 'another rank of the job' AS reason,
        'bundle' AS origin, 99 AS position
    FROM companions c JOIN sources s USING (source_id)
    JOIN (
        UNPIVOT (
            SELECT load_id, line AS first_line, COLUMNS(* EXCLUDE (load_id, run_id, line))::VARCHAR
            FROM raw.runs LEFT JOIN raw.topology USING (load_id, run_id)
            WHERE load_id IN (
                SELECT load_id FROM sources JOIN companions USING (source_id) WHERE rule = 'ranks of one job')
        ) ON * EXCLUDE (load_id, first_line) INTO NAME field VALUE value
    ) o ON o.load_id = s.load_id AND list_contains($of_ranks, o.field)
    WHERE c.rule = 'ranks of one job'
), stated AS (
    UNPIVOT (
        SELECT run_id, COLUMNS(* EXCLUDE (run_id))::VARCHAR
        FROM (
            SELECT r.* REPLACE (coalesce(r.params_b, label_params_b(r.model)) AS params_b),
                t.* EXCLUDE (run_id) REPLACE (regexp_replace(coalesce(t.gbs, g.median)::VARCHAR, '\.0$', '') AS gbs)
            FROM runs r SEMI JOIN annotated USING (run_id)
            LEFT JOIN topology t USING (run_id)
            -- The batch that a log prints counts as stated.
            LEFT JOIN run_stats g ON g.run_id = r.run_id AND g.metric = 'gbs'
        )
    ) ON * EXCLUDE (run_id) INTO NAME field VALUE value
), ranked AS (
    SELECT a.*, s.value AS by_source, row_number() OVER strongest AS place, first_value(a.value) OVER strongest AS counting
    FROM (FROM annotated WHERE withdrawn_on IS NULL) a SEMI JOIN runs USING (run_id)
    LEFT JOIN stated s USING (run_id, field)
    JOIN source_kinds k ON k.kind = a.origin
    WINDOW strongest AS (
        PARTITION BY a.run_id, a.field ORDER BY k.precedence, a.position, a.file, a.line, a.value)
), judged AS (
    SELECT *,
        CASE WHEN field = 'boundary' THEN 'counts'
             WHEN says_the_same(field, by_source, value) THEN 'agrees'
             WHEN by_source IS NOT NULL THEN 'contradicts'
             WHEN place = 1 THEN 'counts'
             WHEN NOT says_the_same(field, counting, value) THEN 'outvoted' END AS outcome
    FROM ranked
    UNION ALL BY NAME
    SELECT a.*, s.value AS by_source, 'withdrawn' AS outcome
    FROM (FROM annotated WHERE withdrawn_on IS NOT NULL) a SEMI JOIN runs USING (run_id) LEFT JOIN stated s USING (run_id, field)
)
SELECT DISTINCT run_id, field, value, file, line, reason, coalesce(author, '') AS author, stated_on, origin, outcome, known_since, withdrawn_on,
    CASE WHEN outcome <> 'counts' THEN coalesce(by_source, counting) END AS stated
FROM judged WHERE outcome IS NOT NULL ORDER BY ALL
