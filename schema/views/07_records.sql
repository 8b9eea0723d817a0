-- A run and its record are one run: the source itself replaces the record, and of two records of
-- one run the first by file name is shown. A run is identified by the digest of its source, which is
-- the fact `record_of` of a record, and by its id or, as ids depend on the path of the source, by
-- its line. An older state of a source is replaced too: one that was read here before, rows of a
-- document at the same path that still has some of them, and a log of which a longer state is here,
-- identified by its path and its first step.
CREATE OR REPLACE VIEW hidden_runs AS
WITH records AS (
    SELECT f.run_id, f.value AS original, f.raw AS sha256, l.uri, s.value AS source,
        {'origin': r.origin, 'line': r.line, 'row_number': r.row_number} AS place,
        b.value AS first_step, CAST(regexp_extract(s.raw, '"bytes": (\d+)', 1) AS BIGINT) AS bytes
    FROM raw.facts f JOIN current_loads l USING (load_id)
    JOIN raw.runs r ON r.load_id = f.load_id AND r.run_id = f.run_id
    LEFT JOIN raw.facts s ON s.load_id = f.load_id AND s.run_id = f.run_id AND s.scope = 'record' AND s.field = 'source'
    LEFT JOIN raw.facts b ON b.load_id = f.load_id AND b.run_id = f.run_id AND b.scope = 'step'
    WHERE f.scope = 'record' AND f.field = 'record_of' AND f.run_id IS NOT NULL
), stored AS (
    SELECT r.load_id, r.run_id, r.origin, u.uri, u.sha256,
        {'origin': r.origin, 'line': r.line, 'row_number': r.row_number} AS place
    FROM raw.runs r JOIN current_uris u USING (load_id)
    -- Those alone that a record can give way to: a warehouse may hold a million runs and no record.
    WHERE (r.run_id IN (SELECT original FROM records) OR u.sha256 IN (SELECT sha256 FROM records)
        OR u.uri IN (SELECT source FROM records))
        AND r.run_id NOT IN (SELECT run_id FROM records)
), older AS (
    SELECT DISTINCT k.source, k.sha256
    FROM records k
    JOIN stored r ON r.run_id = k.original AND r.origin = 'row' AND r.uri = k.source AND r.sha256 <> k.sha256
)
SELECT id AS run_id FROM raw.hidden WHERE scope = 'run'
GROUP BY id HAVING max_by(hidden, hidden_at)
UNION ALL
-- What repeats the steps of a log, or is of another rank of its job, is no separate run.
SELECT r.run_id FROM raw.runs r SEMI JOIN (
    SELECT k.source_id FROM raw.links k SEMI JOIN (
        SELECT set_id FROM raw.link_sets
        QUALIFY row_number() OVER (ORDER BY made_at DESC, set_id) = 1
    ) n ON n.set_id = k.set_id
    WHERE k.rule IN ('same steps', 'ranks of one job') AND k.run_id IS NOT NULL
) twice ON twice.source_id = r.source_id
UNION ALL
SELECT run_id FROM records SEMI JOIN stored USING (sha256, place)
UNION ALL
SELECT k.run_id FROM records k
SEMI JOIN (
    SELECT r.run_id, l.sha256 FROM stored r JOIN raw.loads l USING (uri)
) known ON known.run_id = k.original AND known.sha256 = k.sha256
UNION ALL
SELECT run_id FROM records SEMI JOIN older USING (source, sha256)
UNION ALL
SELECT k.run_id FROM records k
SEMI JOIN (
    SELECT r.uri AS source, b.value AS first_step FROM stored r
    JOIN current_loads l ON l.shown_by = r.load_id
    JOIN raw.facts b ON b.load_id = l.load_id AND b.run_id = r.run_id AND b.scope = 'step'
) longer USING (source, first_step)
UNION ALL
-- Before its first step a run is identified by its id alone: a state without measurements is no loss.
SELECT k.run_id FROM records k
SEMI JOIN (
    SELECT original, source, bytes FROM records
    UNION ALL SELECT run_id, uri, 9223372036854775807 FROM stored
) longer ON longer.original = k.original AND longer.source = k.source AND longer.bytes > k.bytes
WHERE k.first_step IS NULL AND k.place.origin = 'log'
UNION ALL
SELECT run_id FROM records
QUALIFY row_number() OVER (PARTITION BY original, sha256 ORDER BY uri, run_id) > 1
    OR row_number() OVER (PARTITION BY sha256, place ORDER BY uri, run_id) > 1
    OR (first_step IS NOT NULL
        AND row_number() OVER (PARTITION BY source, first_step ORDER BY bytes DESC, uri, run_id) > 1);
