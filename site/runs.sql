-- What the pages of $runs say, a statement a kind, all runs at once.

-- name: facts
SELECT f.run_id, f.scope AS part, f.field AS name, f.value, f.raw, f.line, f.file
FROM facts f WHERE f.run_id IN (SELECT unnest($runs::VARCHAR[]))
UNION ALL
SELECT r.run_id, 'cell', coalesce(nullif(t.headings[c.column_number], ''), 'beyond the header'), c.raw, c.raw, c.line, NULL
FROM runs r JOIN tables t ON t.table_id = r.table_id JOIN cells c ON c.table_id = r.table_id AND c.row_number = r.row_number
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
UNION ALL
SELECT e.run_id, 'environment', e.name, coalesce(e.value, 'off'), coalesce(e.value, 'off'), e.line, e.file
FROM env_flags e WHERE e.run_id IN (SELECT unnest($runs::VARCHAR[]))
ORDER BY run_id, part, line, name;

-- name: events
SELECT run_id, kind, iteration, printed_at, raw, line FROM events
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) ORDER BY run_id, line, kind;
