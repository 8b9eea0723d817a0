-- Of each log that runs of `selected` are of: steps that count (a repeated iteration once, none that a later run does again) at the median time of their
-- batch, the seconds from the first start to the last line, and what happened between.
WITH logs AS (
    SELECT run_id, uri, gbs, date FROM configurations WHERE origin = 'log' AND uri IN (SELECT uri FROM selected)
), logged AS (
    FROM iterations WHERE run_id IN (SELECT run_id FROM logs)
), steps AS (
    SELECT c.uri, i.run_id, i.iteration, coalesce(i.interval_length, 1) AS length, i.gbs, i.step_time_s
    FROM logged i JOIN logs c ON c.run_id = i.run_id
    ANTI JOIN superseded_steps d ON d.run_id = i.run_id AND d.iteration <= i.iteration
    QUALIFY row_number() OVER (PARTITION BY c.uri, i.iteration ORDER BY i.segment DESC, i.line DESC) = 1
), times AS (
    -- Of the batch that run_stats counts, its median; of the others all their steps.
    SELECT s.run_id, s.gbs, coalesce(any_value(t.value) FILTER (s.gbs IS NULL OR s.gbs = c.gbs),
        median(s.step_time_s), any_value(t.value)) AS usual
    FROM steps s JOIN logs c ON c.run_id = s.run_id JOIN metric_step_time t ON t.run_id = s.run_id
    GROUP BY s.run_id, s.gbs
), clock AS (
    SELECT uri, min(moment) AS began, max(moment) AS ended FROM (
        SELECT uri, try_cast(date AS TIMESTAMP) AS moment FROM logs
        UNION ALL SELECT c.uri, i.printed_at FROM logged i JOIN logs c ON c.run_id = i.run_id
        UNION ALL SELECT c.uri, e.printed_at FROM events e JOIN logs c ON c.run_id = e.run_id)
    WHERE moment IS NOT NULL GROUP BY uri
), counted AS (
    SELECT c.uri, count(DISTINCT c.run_id) - 1 AS restarts,
        -- A save has a line when it begins and one when it is done.
        (SELECT count(DISTINCT (e.run_id, coalesce(e.iteration, -e.line))) FROM events e JOIN logs o ON o.run_id = e.run_id
         WHERE o.uri = c.uri AND e.kind = 'save') AS saves,
        (SELECT count(DISTINCT (v.run_id, v.line)) FROM evaluations v JOIN logs o ON o.run_id = v.run_id
         WHERE o.uri = c.uri) AS evaluations
    FROM logs c GROUP BY c.uri
)
SELECT s.uri, sum(s.length) AS steps, sum(s.length * t.usual) AS trained,
    epoch(any_value(k.ended)) - epoch(any_value(k.began)) AS spent,
    any_value(n.restarts), any_value(n.saves), any_value(n.evaluations)
FROM steps s JOIN times t ON t.run_id = s.run_id AND t.gbs IS NOT DISTINCT FROM s.gbs JOIN clock k ON k.uri = s.uri
JOIN counted n ON n.uri = s.uri
GROUP BY s.uri ORDER BY s.uri;
