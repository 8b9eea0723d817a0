-- What the stored rows of each source were made from, as a number, and its findings, as another: where one differs, these
-- rows are made again.
WITH runs_of AS (
    -- Of the few runs that have one of these, not of all.
    SELECT DISTINCT run_id, source_id FROM raw.runs WHERE run_id IN (
        SELECT run_id FROM annotations UNION ALL SELECT run_id FROM hidden_runs
        UNION ALL SELECT run_id FROM superseded_steps UNION ALL SELECT run_id FROM job_endings
        UNION ALL SELECT run_id FROM companions)
), made_from AS (
    SELECT source_id, hash('load', uri, generation, load_id, sha256, parser_version) AS part FROM current_uris
    UNION ALL
    SELECT r.source_id, hash('annotation', a) FROM annotations a JOIN runs_of r ON r.run_id = a.run_id
    UNION ALL
    SELECT r.source_id, hash('hidden', h.run_id) FROM hidden_runs h JOIN runs_of r ON r.run_id = h.run_id
    UNION ALL
    SELECT r.source_id, hash('superseded', d) FROM superseded_steps d JOIN runs_of r ON r.run_id = d.run_id
    UNION ALL
    SELECT r.source_id, hash('ending', j) FROM job_endings j JOIN runs_of r ON r.run_id = j.run_id
    UNION ALL
    -- Of the run that a sidecar file belongs to, and of the file.
    SELECT unnest([r.source_id, c.source_id]), hash('sidecar', c, s.load_id)
    FROM companions c JOIN sources s ON s.source_id = c.source_id LEFT JOIN runs_of r ON r.run_id = c.run_id
), audited AS (
    SELECT source_id, sum(hash(audit_id)::HUGEINT) AS audited
    FROM (SELECT DISTINCT u.source_id, a.audit_id FROM current_uris u JOIN newest_audits a ON a.load_id = u.load_id)
    GROUP BY source_id
)
SELECT m.source_id, sum(m.part::HUGEINT) AS made_from, any_value(a.audited) AS audited
FROM made_from m LEFT JOIN audited a ON a.source_id = m.source_id
WHERE m.source_id IN (SELECT source_id FROM current_uris) GROUP BY m.source_id
