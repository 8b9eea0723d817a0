-- Published sweep tables with computed cells, and logs. Reads the temporary table `selected`.

-- name: sweeps
SELECT t.uri, t.table_id, t.number, t.heading_path, t.heading_lines, t.header_line, t.headings, t.columns,
    count(*) AS rows
FROM tables t JOIN selected s ON s.table_id = t.table_id
WHERE s.kind = 'measured'
GROUP BY ALL ORDER BY t.uri, t.header_line;

-- name: sweep_rows
SELECT s.table_id, s.line, s.kind, s.status, s.status_reason, s.left_out, s.left_out_detail, s.flags, s.settings,
    s.step_time_s, s.tflops, s.model_tflops, s.documented_aggregate, s.nodes, s.world_size, s.dp, s.tp, s.pp, s.cp, s.mbs,
    list(struct_pack(name := coalesce(c.name, ''), raw := c.raw, kind := c.kind, misfit := c.misfit) ORDER BY c.column_number)
        AS cells
FROM selected s JOIN cells c ON c.table_id = s.table_id AND c.row_number = s.row_number
WHERE s.kind = 'measured'
GROUP BY ALL ORDER BY s.table_id, s.line;

-- name: sweep_context
-- What text around a table states for all of its rows, and its heading does not say.
SELECT s.table_id, f.field, any_value(f.value) AS value, min(f.line) AS line
FROM selected s JOIN facts f ON f.run_id = s.run_id
WHERE s.kind = 'measured' AND f.scope <> 'heading'
    AND f.field IN ('device', 'recompute', 'seq_len', 'gbs', 'mbs', 'dtype', 'framework', 'layers', 'hidden', 'heads')
GROUP BY s.table_id, f.field HAVING count(DISTINCT f.value) = 1
ORDER BY s.table_id, f.field;

-- name: logs
SELECT s.uri, s.line, s.origin, s.framework, s.size, s.nodes, s.world_size, s.dp, s.tp, s.pp, s.mbs,
    coalesce(s.gbs, g.median::INTEGER) AS gbs, s.seq_len, s.dtype, s.recompute, s.status, s.status_reason, s.status_line,
    s.step_time_s, s.step_time_low, s.step_time_high, t.n, t.lines, t.first_iteration, t.last_iteration, t.stddev,
    s.tflops, s.tokens_per_s_per_device, s.model_tflops
FROM selected s
LEFT JOIN run_stats t ON t.run_id = s.run_id AND t.metric = 'step_time_s'
LEFT JOIN run_stats g ON g.run_id = s.run_id AND g.metric = 'gbs'
WHERE s.origin IN ('log', 'quote') ORDER BY s.uri, s.line;
