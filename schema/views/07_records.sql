-- A run and its record are one run: the record gives way where the source itself is read, and of
-- two records of one run the first by name of its file shows. A run is told by its id and by the
-- digest of its source, which the fact `record_of` of a record holds. Rows of an older version of a
-- document give way to the document itself: it lies at the same place and still holds some of them.
CREATE OR REPLACE VIEW hidden_runs AS
WITH records AS (
    SELECT f.run_id, f.value AS original, f.raw AS sha256, l.uri, s.value AS source
    FROM raw.facts f JOIN current_loads l USING (load_id)
    LEFT JOIN raw.facts s ON s.load_id = f.load_id AND s.run_id = f.run_id AND s.scope = 'record' AND s.field = 'source'
    WHERE f.scope = 'record' AND f.field = 'record_of' AND f.run_id IS NOT NULL
), older AS (
    SELECT DISTINCT k.source, k.sha256
    FROM records k
    JOIN raw.runs r ON r.run_id = k.original AND r.origin = 'row'
    JOIN current_uris u ON u.load_id = r.load_id AND u.uri = k.source AND u.sha256 <> k.sha256
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
SELECT run_id FROM records SEMI JOIN older USING (source, sha256)
UNION ALL
SELECT run_id FROM records
QUALIFY row_number() OVER (PARTITION BY original, sha256 ORDER BY uri, run_id) > 1;
