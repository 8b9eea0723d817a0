-- What derivations of the runs $runs look up, a statement a kind, for all of them at once; reads the temporary table `selected`.

-- name: cells
SELECT r.run_id, c.*, coalesce(t.headings[c.column_number], '') AS heading
FROM runs r JOIN tables t ON t.table_id = r.table_id JOIN cells c ON c.table_id = r.table_id AND c.row_number = r.row_number
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) ORDER BY r.run_id, c.column_number;

-- name: facts
SELECT * FROM facts WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND how = 'stated' AND scope <> 'bundle'
ORDER BY run_id, file IS NOT NULL, line;

-- name: measured
SELECT * FROM measured WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) ORDER BY run_id, metric;

-- name: annotations
SELECT * FROM annotations WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND field <> 'boundary'
ORDER BY run_id, outcome <> 'counts', file, line;

-- name: printed
SELECT m.run_id, m.metric, m.line, min(m.raw) AS raw FROM measurements m
WHERE m.run_id IN (SELECT unnest($runs::VARCHAR[])) GROUP BY ALL ORDER BY ALL;

-- name: statistics
SELECT * FROM run_stats WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) ORDER BY run_id, metric;
