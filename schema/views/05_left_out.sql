-- left_out: runs that are kept out of charts, rankings and computed cells, each with every reason.
-- left_out.reason: misfit, ragged, topology, copy, finding
-- left_out.detail: what does not fit
CREATE OR REPLACE VIEW left_out AS
WITH numbers AS (
    SELECT run_id,
        max(value) FILTER (metric = 'step_time_s') AS step_time_s,
        max(value) FILTER (metric = 'tflops') AS tflops,
        max(value) FILTER (metric = 'memory') AS memory
    FROM measurements GROUP BY run_id
), rows_of_tables AS (
    SELECT * FROM configurations WHERE origin = 'row'
), copies AS (
    -- The same configuration with the same digits is one measurement; the best described row stays.
    SELECT c.run_id,
        first_value(c.uri || ':' || c.line) OVER same AS original,
        row_number() OVER same AS copy,
        -- A shape that one of the two does not state is no other shape.
        coalesce(c.layers <> first_value(c.layers) OVER same, false)
            OR coalesce(c.hidden <> first_value(c.hidden) OVER same, false) AS other_shape
    FROM rows_of_tables c JOIN numbers n USING (run_id)
    LEFT JOIN (SELECT run_id, list(name || '=' || coalesce(value, '') ORDER BY name, value) AS env
               FROM env_flags GROUP BY run_id) e USING (run_id)
    WHERE coalesce(n.step_time_s, n.tflops) IS NOT NULL
    WINDOW same AS (
        PARTITION BY c.size, c.device, c.framework, c.recompute, c.seq_len, c.nodes_stated, c.devices_stated,
            c.dp, c.tp, c.pp, c.cp, c.ep, c.vpp, c.mbs, c.gbs, c.grad_accum, c.zero_stage, c.dtype,
            c.date, c.job_ids, e.env,
            n.step_time_s, n.tflops, n.memory
        ORDER BY c.layers IS NULL, c.uri, c.line, c.run_id)
)
SELECT r.run_id, 'misfit' AS reason, string_agg(c.raw || ': ' || c.misfit, '; ' ORDER BY c.column_number) AS detail
FROM rows_of_tables r JOIN cells c ON c.table_id = r.table_id AND c.row_number = r.row_number
WHERE c.misfit IS NOT NULL
GROUP BY r.run_id
UNION ALL
SELECT run_id, 'ragged', 'cells and headings differ in number: columns may be shifted'
FROM rows_of_tables WHERE list_contains(flags, 'ragged')
UNION ALL
SELECT run_id, 'topology', 'DP x TP x PP = ' || product || ', but ' || world_size || ' processes'
FROM rows_of_tables WHERE product <> world_size AND coalesce(dp_replicate, dp_shard) IS NULL
UNION ALL
SELECT run_id, 'topology', 'TP x PP = ' || per_replica || ' does not divide ' || world_size || ' processes'
FROM (SELECT *, tp::HUGEINT * pp * coalesce(cp, 1) AS per_replica FROM rows_of_tables)
WHERE product IS NULL AND per_replica > 0 AND world_size % nullif(per_replica, 0) <> 0
UNION ALL
SELECT run_id, 'copy', 'same configuration and digits as ' || original FROM copies WHERE copy > 1 AND NOT other_shape
UNION ALL
SELECT run_id, 'finding', string_agg(title, '; ' ORDER BY rule, title)
FROM findings WHERE severity = 'error' AND run_id IS NOT NULL
GROUP BY run_id;
