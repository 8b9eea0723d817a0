-- regimes: the last boundary above each row of a document with boundaries, and its statement.
-- regimes.run_id: the run
-- regimes.regime: the line of the last boundary before it, as `since l.439`; before the first one `before l.267`
-- regimes.boundary: the change, as the line or the user states it
CREATE OR REPLACE VIEW regimes AS
WITH drawn AS (
    SELECT r.run_id, s.line, s.line < r.line AS behind, 'l.' || s.line AS place, s.raw AS text
    FROM configurations r JOIN statements s ON s.uri = r.uri AND s.kind = 'boundary'
    WHERE r.origin IN ('row', 'quote')
    UNION ALL
    SELECT run_id, coalesce(try_cast(split_part(value, '|', 2) AS BIGINT), 0), split_part(value, '|', 1) = 'since',
        split_part(value, '|', 3), regexp_replace(value, '^[^|]*\|[^|]*\|[^|]*\|', '')
    FROM user_facts WHERE field = 'boundary' AND outcome = 'counts'
), sides AS (
    SELECT run_id, max_by(place, line) FILTER (behind) AS since, max_by(text, line) FILTER (behind) AS since_text,
        min_by(place, line) FILTER (NOT behind) AS before, min_by(text, line) FILTER (NOT behind) AS before_text
    FROM drawn GROUP BY run_id
)
SELECT run_id, CASE WHEN since IS NOT NULL THEN 'since ' || since ELSE 'before ' || before END AS regime,
    coalesce(since_text, before_text) AS boundary
FROM sides;

-- epochs: the name of regimes in earlier versions.
-- epochs.epoch: the line of the last boundary before it, as `since l.439`; before the first one `before l.267`
CREATE OR REPLACE VIEW epochs AS SELECT run_id, regime AS epoch, boundary FROM regimes;
