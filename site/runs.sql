-- Data of the pages of $runs: one statement per kind, for all runs at once.

-- name: facts
FROM (
    SELECT f.run_id, f.scope AS part, f.field AS name, f.value, f.line, f.file
    FROM facts f WHERE f.run_id IN (SELECT unnest($runs::VARCHAR[])) AND f.scope NOT IN ('record')
    UNION ALL
    SELECT r.run_id, 'cell', coalesce(nullif(t.headings[c.column_number], ''), 'beyond the header'), c.raw, c.line, NULL
    FROM runs r JOIN tables t ON t.table_id = r.table_id JOIN cells c ON c.table_id = r.table_id AND c.row_number = r.row_number
    WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
    UNION ALL
    SELECT e.run_id, 'environment', e.name, coalesce(e.value, 'off'), e.line, e.file
    FROM env_flags e WHERE e.run_id IN (SELECT unnest($runs::VARCHAR[]))
)
ORDER BY run_id, part <> 'cell', part, line, name, value;

-- name: events
SELECT run_id, kind, iteration, printed_at, raw, line FROM events
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY line, kind) <= 300
ORDER BY run_id, line, kind;

-- name: annotations
SELECT run_id, field, value, file, line, reason, author, stated_on, origin, outcome FROM annotations
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) ORDER BY run_id, field, outcome <> 'counts', file, line, value;

-- name: companions
SELECT run_id, uri, rule FROM companions WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) ORDER BY run_id, uri;

-- name: continuations
SELECT run_id, continues AS other, 'goes on from' AS words, iteration FROM continuations WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
UNION ALL
SELECT continues, run_id, 'goes on in', iteration FROM continuations WHERE continues IN (SELECT unnest($runs::VARCHAR[]))
ORDER BY run_id, words, iteration, other;
