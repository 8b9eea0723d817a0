-- Jobs of schedulers, and the endings of runs by their jobs, where their logs do not state one.

-- jobs: the jobs in accounting files (sacct, scontrol, qstat, tracejob, pjstat).
-- jobs.uri: the file
CREATE OR REPLACE VIEW jobs AS
SELECT l.uri, j.* EXCLUDE (load_id) FROM raw.jobs j JOIN current_loads l USING (load_id);

-- job_endings: how runs ended by the job that they ran in, where their logs just end or were cancelled.
-- job_endings.load_id: the load of the run
-- job_endings.run_id: the run
-- job_endings.status: ok, oom, fail, timeout, cancelled; hang where the log was silent long before the job ended
-- job_endings.reason: the job, its state and where it is stated
CREATE OR REPLACE VIEW job_endings AS
WITH vague AS (
    SELECT r.load_id, r.run_id, r.status, r.job_ids, l.uri,
        -- output.21107476/0/1/stdproc.1.511
        coalesce(nullif(regexp_extract(l.uri, '(?:^|[-_./])(\d{5,12})(?:/\d{1,9}){0,3}/stdproc[^/]*$', 1), ''),
        -- slurm-12.out, gpt.18.out, run-27_1.log, train.o1234, job.sh.o1234
        regexp_extract(l.uri, '[-_.]o?(\d+(?:_\d+)?)(?:\.(?:out|err|log|txt|stdout|stderr))*(?:\.(?:gz|xz|bz2|zst))?$', 1)) AS named
    FROM raw.runs r JOIN current_loads l USING (load_id)
    WHERE r.origin = 'log' AND r.status IN ('ended', 'running', 'cancelled')
), linked AS (
    SELECT v.load_id, v.run_id, v.status AS logged_status, j.*
    FROM (SELECT * EXCLUDE (job_ids), unnest(job_ids) AS job_id FROM vague) v JOIN jobs j USING (job_id)
    UNION BY NAME
    -- The name of a file counts if the accounting file is in its folder or above.
    SELECT v.load_id, v.run_id, v.status AS logged_status, j.*
    FROM vague v JOIN jobs j ON j.job_id = v.named AND starts_with(v.uri, regexp_replace(j.uri, '[^/]*$', ''))
), chosen AS (
    SELECT * FROM linked WHERE status IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY ended DESC NULLS LAST, uri, line) = 1
), steps AS (
    SELECT run_id, max(printed_at) AS last_at, max_by(step_time_s * coalesce(interval_length, 1), line) AS every_s
    FROM raw.iterations SEMI JOIN chosen USING (run_id) GROUP BY run_id
)
SELECT c.load_id, c.run_id,
    -- Ten intervals and five minutes without a step are no slow step.
    CASE WHEN silent THEN 'hang' ELSE c.status END AS status,
    printf('job %s: %s (%s:%d)%s', c.job_id, c.state, c.uri, c.line,
        CASE WHEN silent THEN printf('; last step at %s, the job ended at %s', s.last_at, c.ended) ELSE '' END) AS reason
FROM (SELECT *, coalesce(status IN ('timeout', 'cancelled') AND ended > (
        SELECT last_at + to_seconds(greatest(10 * every_s, 300)) FROM steps WHERE steps.run_id = chosen.run_id
    ), false) AS silent FROM chosen) c
LEFT JOIN steps s USING (run_id)
WHERE c.logged_status IN ('ended', 'running') OR c.status IN ('timeout', 'oom') OR silent;

-- judged_runs: runs of every load; without an ending in the log, with the status of their job.
-- judged_runs.load_id: the load it belongs to
CREATE OR REPLACE VIEW judged_runs AS
SELECT r.* REPLACE (coalesce(e.status, r.status) AS status, coalesce(e.reason, r.status_reason) AS status_reason)
FROM raw.runs r LEFT JOIN job_endings e USING (load_id, run_id);
