-- Annotations of runs from outside of their sources, each with its outcome: of several for one
-- field of a run the strongest counts, and none where the source itself states the field.
-- `given`: statements of files on disk, a row a run, in the order of the files.
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
    -- The log of another rank is stored as a separate, hidden run: its header is also about this run.
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
), newer AS (
    -- A later statement of one author about the same rows replaces the earlier one.
    SELECT o.run_id, o.field, o.file, o.line, o.value, min(coalesce(n.known_since, n.stated_on)) AS superseded_on,
        min_by(n.file || ':' || n.line, coalesce(n.known_since, n.stated_on)) AS newer_place
    FROM annotated o JOIN annotated n ON n.run_id = o.run_id AND n.field = o.field AND n.author = o.author AND n.about = o.about
        AND n.stated_on > o.stated_on AND n.value <> o.value
    WHERE o.author <> '' AND o.field <> 'boundary' AND o.withdrawn_on IS NULL AND n.withdrawn_on IS NULL
    GROUP BY ALL
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
    SELECT a.*, w.superseded_on, w.newer_place, s.value AS by_source, row_number() OVER strongest AS place,
        first_value(a.value) OVER strongest AS counting
    FROM (FROM annotated WHERE withdrawn_on IS NULL) a SEMI JOIN runs USING (run_id)
    LEFT JOIN stated s USING (run_id, field)
    LEFT JOIN newer w ON w.run_id = a.run_id AND w.field = a.field AND w.file = a.file AND w.line = a.line AND w.value = a.value
    JOIN source_kinds k ON k.kind = a.origin
    WINDOW strongest AS (
        PARTITION BY a.run_id, a.field ORDER BY w.superseded_on IS NOT NULL, k.precedence, a.position, a.file, a.line, a.value)
), judged AS (
    SELECT *,
        CASE WHEN field = 'boundary' THEN 'counts'
             WHEN says_the_same(field, by_source, value) THEN 'agrees'
             WHEN by_source IS NOT NULL THEN 'contradicts'
             WHEN superseded_on IS NOT NULL THEN 'superseded'
             WHEN place = 1 THEN 'counts'
             WHEN NOT says_the_same(field, counting, value) THEN 'outvoted' END AS outcome
    FROM ranked
    UNION ALL BY NAME
    SELECT a.*, s.value AS by_source, 'withdrawn' AS outcome
    FROM (FROM annotated WHERE withdrawn_on IS NOT NULL) a SEMI JOIN runs USING (run_id) LEFT JOIN stated s USING (run_id, field)
)
SELECT DISTINCT run_id, field, value, file, line,
    concat_ws('; ', reason, CASE outcome WHEN 'superseded' THEN 'superseded on ' || superseded_on || ' by ' || newer_place END) AS reason,
    coalesce(author, '') AS author, stated_on, origin, outcome, known_since,
    CASE outcome WHEN 'superseded' THEN superseded_on ELSE withdrawn_on END AS withdrawn_on,
    CASE WHEN outcome <> 'counts' THEN coalesce(by_source, counting) END AS stated
FROM judged WHERE outcome IS NOT NULL ORDER BY ALL
