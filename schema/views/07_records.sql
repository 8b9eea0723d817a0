-- A run and its record are one run: the record gives way where the source itself is read, and of
-- two records of one run the first by name of its file shows. A run is told by its id and by the
-- digest of its source, which the fact `record_of` of a record holds.
CREATE OR REPLACE VIEW hidden_runs AS
WITH records AS (
    SELECT f.run_id, f.value AS original, f.raw AS sha256, l.uri
    FROM raw.facts f JOIN current_loads l USING (load_id)
    WHERE f.scope = 'record' AND f.field = 'record_of' AND f.run_id IS NOT NULL
)
SELECT id AS run_id FROM raw.hidden WHERE scope = 'run'
GROUP BY id HAVING max_by(hidden, hidden_at)
UNION ALL
SELECT k.run_id FROM records k
SEMI JOIN (
    SELECT r.run_id, u.sha256 FROM raw.runs r
    JOIN (SELECT DISTINCT load_id, sha256 FROM current_uris) u USING (load_id)
) stored ON stored.run_id = k.original AND stored.sha256 = k.sha256
UNION ALL
SELECT run_id FROM records
QUALIFY row_number() OVER (PARTITION BY original, sha256 ORDER BY uri, run_id) > 1;
