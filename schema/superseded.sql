-- For each run the first of its iterations that another run repeats, and that run: one that continues
-- from its checkpoint; or, if it failed, another try from the checkpoint that it had continued from.
WITH linked AS MATERIALIZED (
    SELECT c.run_id, c.continues, c.loaded, r.uri, r.line, r.date, r.status,
        [t.dp, t.tp, t.pp, t.cp, t.ep, t.mbs, t.gbs] AS layout
    FROM continuations c JOIN runs r USING (run_id) LEFT JOIN topology t USING (run_id)
), again AS (
    SELECT continues AS run_id, loaded + 1 AS iteration, run_id AS again FROM linked
    UNION ALL
    SELECT b.run_id, c.loaded + 1, c.run_id
    FROM linked b JOIN linked c ON c.continues = b.continues AND c.layout IS NOT DISTINCT FROM b.layout
        AND CASE WHEN c.uri = b.uri THEN c.line > b.line ELSE c.date > b.date END
    WHERE b.status <> 'ok' AND b.run_id NOT IN (SELECT continues FROM linked)
)
SELECT run_id, min(iteration) AS iteration, min_by(again, (iteration, again)) AS again
FROM again GROUP BY run_id ORDER BY run_id
