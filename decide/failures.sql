-- The runs of the temporary table `selected` with how they ended, and the jobs that a scheduler saw
-- fail and no log tells of.
SELECT s.run_id AS run, s.uri, s.origin, coalesce(s.status_line, s.line) AS line, s.status, s.status_reason AS reason,
    s.size, s.model, coalesce(s.device, s.uri) AS system, s.nodes, coalesce(s.devices, s.world_size) AS device_count,
    s.dp, s.tp, s.pp, s.cp, s.mbs, s.gbs, s.device, s.dtype, s.seq_len, s.zero_stage, s.recompute, s.n, NULL AS job_id, NULL AS job_name, NULL::TIMESTAMP AS job_began, NULL::TIMESTAMP AS job_ended
FROM selected s WHERE s.kind = 'measured' AND s.origin <> 'quote'
UNION ALL BY NAME
SELECT NULL AS run, j.uri, 'job' AS origin, j.line, j.status, concat_ws(', ', j.state, nullif(j.reason, ''),
        -- The line of slurmstepd says CANCELLED of a job beyond its memory.
        CASE WHEN j.status = 'oom' AND j.state LIKE 'CANCELLED%' THEN 'out of memory' END,
        CASE WHEN j.scheduler = 'slurm' THEN 'exit code ' || nullif(nullif(split_part(j.exit_code, ':', 1), '0'), '') END,
        CASE WHEN j.scheduler = 'slurm' THEN 'signal ' || nullif(nullif(split_part(j.exit_code, ':', 2), '0'), '') END) AS reason,
    nullif(j.reason, '') AS why, j.nodes, j.job_id, j.job_name, j.started AS job_began, j.ended AS job_ended, j.uri AS system
FROM (
    -- Of the statements of one end, the one of out of memory: sacct says FAILED of it.
    SELECT * REPLACE (coalesce(nodes, same_nodes) AS nodes, coalesce(started, same_started) AS started, coalesce(ended, last_ended) AS ended)
    FROM (
        SELECT *, max(ended) OVER (PARTITION BY job_id) AS last_ended, max(nodes) OVER (PARTITION BY job_id) AS same_nodes,
            max(started) OVER (PARTITION BY job_id) AS same_started, max(name) OVER (PARTITION BY job_id) AS job_name
        FROM jobs WHERE status IS NOT NULL)
    QUALIFY row_number() OVER (PARTITION BY job_id ORDER BY
        coalesce(last_ended - ended > INTERVAL 1 MINUTE, last_ended IS NOT NULL), status = 'oom' DESC, ended DESC NULLS LAST, uri, line) = 1) j
WHERE $all_jobs AND j.job_id NOT IN (
    SELECT unnest(job_ids) FROM runs UNION ALL
    SELECT regexp_extract(reason, '^job (\S+):', 1) FROM job_endings WHERE reason IS NOT NULL)
ORDER BY uri, line;
