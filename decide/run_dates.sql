-- When and on which hosts runs ran, as their logs, their jobs' accounting and their tables state it.
-- A date as text is kept where no clock is printed beside steps: decide/run_dates.py reads it.
WITH printed AS (
    SELECT run_id, min(printed_at) AS began, max(printed_at) AS ended FROM (
        SELECT run_id, printed_at FROM iterations UNION ALL SELECT run_id, printed_at FROM events)
    WHERE printed_at IS NOT NULL GROUP BY run_id
), named AS (
    -- The job of a run: by its log, else by what says how its job ended.
    SELECT run_id, unnest(job_ids) AS job_id FROM runs
    UNION SELECT e.run_id, regexp_extract(e.reason, '^job (\S+):', 1) FROM job_endings e
), accounted AS (
    SELECT n.run_id, min(j.started) AS began, max(j.ended) AS ended, list(DISTINCT j.job_id ORDER BY j.job_id) AS job_ids
    FROM named n JOIN jobs j USING (job_id) GROUP BY n.run_id
), listed AS (
    SELECT run_id, value FROM env_flags WHERE list_contains($flags::VARCHAR[], name) AND value IS NOT NULL
    UNION ALL SELECT run_id, value FROM facts WHERE field = 'hosts' AND value IS NOT NULL
)
SELECT r.run_id, r.uri, r.origin, r.date, p.began, p.ended, a.began AS job_began, a.ended AS job_ended,
    coalesce(nullif(r.job_ids, []), a.job_ids, []) AS job_ids, l.hosts
FROM runs r LEFT JOIN printed p USING (run_id) LEFT JOIN accounted a USING (run_id)
LEFT JOIN (SELECT run_id, list(DISTINCT value ORDER BY value) AS hosts FROM listed GROUP BY run_id) l USING (run_id)
WHERE r.run_id IN (SELECT run_id FROM selected)
ORDER BY r.uri, r.line, r.run_id;
