-- left_out: runs that are kept out of charts, rankings and computed cells, each with every reason.
-- left_out.reason: withdrawn, misfit, ragged, topology, copy, peak, finding
-- left_out.detail: the values concerned
CREATE OR REPLACE VIEW left_out AS
WITH rows_of_tables AS (
    SELECT run_id, uri, line, table_id, row_number, layers, hidden, nodes_stated, devices_stated, date, job_ids, flags,
        status_line, status_reason, product, world_size, {{configuration, but model, nodes, devices, procs_per_node, layers, hidden, heads, kv_heads, ffn_hidden, swiglu, experts, moe_top_k}}
    FROM configurations WHERE origin = 'row'
), copies AS (
    -- The same configuration with the same digits is one measurement; the best described row stays. But a table that
    -- has a configuration three times repeats it: jobs may agree in the printed digits, unless they have one name.
    SELECT same[1] AS original,
        unnest(list_filter(same[2:], lambda s: NOT (s.table_id = same[1].table_id AND s.repeated))) AS copy
    FROM (
        SELECT list({run_id: c.run_id, uri: uri, line: line, layers: layers, hidden: hidden, table_id: c.table_id,
                     repeated: times >= 3 AND len(coalesce(job_ids, [])) = 0}
                    ORDER BY layers IS NULL, uri, line, c.run_id) AS same
        FROM (SELECT *, count(*) OVER (
                PARTITION BY table_id, layers, hidden, nodes_stated, devices_stated, date, env,
                    {{configuration, but model, nodes, devices, procs_per_node, layers, hidden, heads, kv_heads, ffn_hidden, swiglu, experts, moe_top_k}}
              ) AS times
              FROM rows_of_tables LEFT JOIN (
                SELECT run_id, list(name || '=' || coalesce(value, '') ORDER BY name, value) AS env
                FROM env_flags GROUP BY run_id) USING (run_id)) c
        JOIN (SELECT run_id, list(metric || ' ' || value ORDER BY metric, value) AS digits FROM measurements
              WHERE metric IN ('step_time_s', 'tflops', 'memory') GROUP BY run_id
              HAVING bool_or(metric <> 'memory')) n ON n.run_id = c.run_id
        LEFT JOIN (SELECT table_id, row_number, list(c.raw ORDER BY c.raw) AS others FROM cells c
                   WHERE c.name IS NULL AND c.kind <> 'missing' OR c.kind = 'words' GROUP BY ALL) o
            ON o.table_id = c.table_id AND o.row_number = c.row_number
        GROUP BY nodes_stated, devices_stated, date, job_ids, env, digits, others,
            {{configuration, but model, nodes, devices, procs_per_node, layers, hidden, heads, kv_heads, ffn_hidden, swiglu, experts, moe_top_k}}
        HAVING count(*) > 1)
)
SELECT run_id, 'withdrawn' AS reason, 'its author takes it back, line ' || status_line || ': ' || status_reason AS detail
FROM rows_of_tables WHERE list_contains(flags, 'withdrawn')
UNION ALL
SELECT r.run_id, 'misfit', string_agg(c.raw || ': ' || c.invalid_reason, '; ' ORDER BY c.column_number)
FROM rows_of_tables r JOIN cells c ON c.table_id = r.table_id AND c.row_number = r.row_number
WHERE c.invalid_reason IS NOT NULL
GROUP BY r.run_id
UNION ALL
SELECT run_id, 'ragged', 'cells and headings differ in number: columns may be shifted'
FROM rows_of_tables WHERE list_contains(flags, 'ragged')
UNION ALL
SELECT run_id, 'topology', 'DP x TP x PP = ' || product || ', but ' || world_size || ' processes'
FROM rows_of_tables WHERE product <> world_size AND coalesce(dp_replicate, dp_shard) IS NULL
  -- DP may count the copies of each expert
  AND product::HUGEINT * coalesce(ep, 1) <> world_size
UNION ALL
SELECT run_id, 'topology', 'TP x PP = ' || per_replica || ' does not divide ' || world_size || ' processes'
FROM (SELECT *, tp::HUGEINT * pp * coalesce(cp, 1) AS per_replica FROM rows_of_tables)
WHERE product IS NULL AND per_replica > 0 AND world_size % nullif(per_replica, 0) <> 0
UNION ALL
-- A shape that one of the two does not state is no other shape.
SELECT copy.run_id, 'copy', 'same configuration and digits as ' || original.uri || ':' || original.line
FROM copies
WHERE coalesce(copy.layers = original.layers, true) AND coalesce(copy.hidden = original.hidden, true)
UNION ALL
-- A label rounds the parameters by a tenth at most.
SELECT run_id, 'peak', printf('needs %.4g TFLOP/s of each device, and %s does at most %.4g', needed, coalesce(device_name, 'no device'), most_tflops)
FROM (SELECT *, flops_per_token * coalesce(low, tokens_per_s) / peak_devices / 1e12 AS needed FROM utilization)
WHERE needed > most_tflops * CASE WHEN by_label THEN 1.1 ELSE 1 END
UNION ALL
-- Of rows printed twice (R6 alone) the first stays: the others are copies.
SELECT run_id, 'finding', string_agg(DISTINCT rule || ': ' || title, '; ' ORDER BY rule || ': ' || title)
FROM findings
WHERE severity = 'error' AND coalesce(closed, '') = '' AND rules IS DISTINCT FROM ['R6'] AND run_id IN (SELECT run_id FROM rows_of_tables)
GROUP BY run_id;
