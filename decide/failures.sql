-- The runs of the temporary table `selected` with how they ended, and the jobs that a scheduler saw
-- fail and no log tells of.
SELECT s.run_id AS run, s.uri, s.origin, coalesce(s.status_line, s.line) AS line, s.status, s.status_reason AS reason,
    s.size, s.model, coalesce(s.device, s.uri) AS system, s.nodes, coalesce(s.devices, s.world_size) AS device_count,
    s.dp, s.tp, s.pp, s.cp, s.mbs, s.gbs, s.device, s.dtype, s.seq_len, s.zero_stage, s.recompute, s.n, NULL AS job_id, NULL::TIMESTAMP AS job_began, NULL::TIMESTAMP AS job_ended
FROM selected s WHERE s.kind = 'measured' AND s.origin <> 'quote'
UNION ALL BY NAME
SELECT NULL AS run, j.uri, 'job' AS origin, j.line, j.status, concat_ws(', ', j.state, nullif(j.reason, '')) AS reason, nullif(j.reason, '') AS why,
    j.nodes, j.job_id, j.started AS job_began, j.ended AS job_ended, j.uri AS system
FROM (
    SELECT * FROM jobs WHERE status IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY job_id ORDER BY ended DESC NULLS LAST, uri, line) = 1) j
WHERE $all_jobs AND j.job_id NOT IN (
    SELECT unnest(job_ids) FROM runs UNION ALL
    SELECT regexp_extract(reason, '^job (\S+):', 1) FROM job_endings WHERE reason IS NOT NULL)
ORDER BY uri, line;
