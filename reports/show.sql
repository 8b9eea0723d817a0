-- Everything that is known of run $run: one row a part, with the line that states it.
WITH run AS (
    SELECT * FROM configurations WHERE run_id = $run
), words AS (
    UNPIVOT (SELECT uri, line, annotated, origin::VARCHAR AS origin, status, status_reason, kind, date, notes,
                    array_to_string(flags, ', ') AS flags, array_to_string(job_ids, ', ') AS job_ids,
                    {{words, but system}}
             FROM run)
    ON origin, status, status_reason, kind, date, notes, flags, job_ids, {{words, but system}}
    INTO NAME name VALUE value
), numbers AS (
    UNPIVOT (SELECT uri, line, annotated, seq_len_derived, vocab::BIGINT AS vocab, tokens_per_step::BIGINT AS tokens_per_step,
                    {{counts as BIGINT, but device_count}}
             FROM run)
    ON vocab, tokens_per_step, {{counts, but device_count}}
    INTO NAME name VALUE value
), parts AS (
    SELECT 1 AS place, 'run' AS part, 'id' AS name, run_id AS value, NULL AS unit, uri || ':' || line AS stated_at FROM run
    UNION ALL SELECT 2, 'run', name, value, CASE WHEN list_contains(annotated, name) THEN 'annotation' END, CASE WHEN list_contains(annotated, name) IS NOT TRUE THEN uri || ':' || line END
        FROM words WHERE value <> ''
    UNION ALL SELECT 2, 'run', 'continues', a.uri || ':' || a.line, NULL,
            printf('from iteration %d on; %d of its iterations are done again', c.iteration, c.repeated)
        FROM continuations c JOIN runs a ON a.run_id = c.continues WHERE c.run_id = $run
    UNION ALL SELECT 2, 'run', 'goes on in', b.uri || ':' || b.line, NULL,
            printf('from iteration %d on; %d iterations are done again there', c.iteration, c.repeated)
        FROM continuations c JOIN runs b ON b.run_id = c.run_id WHERE c.continues = $run
    UNION ALL SELECT 2, 'run', 'done again in', b.uri || ':' || b.line, NULL,
            printf('from iteration %d on, from the checkpoint that this run had gone on from', d.iteration)
        FROM superseded_steps d JOIN runs b ON b.run_id = d.superseded_by
        WHERE d.run_id = $run AND d.superseded_by NOT IN (SELECT run_id FROM continuations WHERE continues = $run)
    UNION ALL SELECT 3, 'configuration', name, value::VARCHAR,
            CASE WHEN list_contains(annotated, name) THEN 'annotation' WHEN name = 'seq_len' AND seq_len_derived THEN 'derived' END,
            CASE WHEN name = 'seq_len' AND seq_len_derived
                 THEN (SELECT any_value(f.raw) FROM facts f WHERE f.run_id = $run AND f.field = 'seq_len' AND f.how = 'derived') END
        FROM numbers
    UNION ALL SELECT 4, 'cell', coalesce(nullif(t.headings[c.column_number], ''), 'beyond the header'), c.raw, c.invalid_reason,
            t.uri || ':' || c.line
        FROM run r JOIN tables t ON t.table_id = r.table_id
        JOIN cells c ON c.table_id = r.table_id AND c.row_number = r.row_number
    UNION ALL SELECT 4, 'setting', e.name, coalesce(e.value, 'off'), e.kind, coalesce(e.file, r.uri) || ':' || e.line
        FROM env_flags e JOIN run r ON r.run_id = e.run_id
    UNION ALL SELECT 5, 'measured', m.metric, m.raw, m.unit, r.uri || ':' || m.line
        FROM measurements m JOIN run r ON r.run_id = m.run_id
    UNION ALL SELECT 5, 'measured', 'memory', printf('%.10g (largest %s)', m.value, m.reading), m.unit, r.uri || ':' || m.line
        FROM measured m JOIN run r ON r.run_id = m.run_id WHERE m.metric = 'memory' AND m.reading IS NOT NULL
    UNION ALL SELECT 6, 'statistics', t.metric,
        printf('median %g, min %g, max %g (iterations %d-%d, n = %d in %d lines)', t.median, t.min, t.max,
               t.first_iteration, t.last_iteration, t.n, t.lines), NULL, t.rule
        FROM run_stats t WHERE t.run_id = $run AND t.metric NOT IN ('gbs', 'seq_len')
    -- What is known to be printed in another unit: the statistics are of what is printed.
    UNION ALL SELECT 6, 'corrected', u.name, printf('median %g', median(u.value)), NULL, any_value(u.correction)
        FROM (
            SELECT unnest([{name: 'step_time_s', printed: i.step_time_s, value: c.step_time_s},
                           {name: 'samples_per_s', printed: i.samples_per_s, value: c.samples_per_s},
                           {name: 'tflops', printed: i.tflops, value: c.tflops}], recursive := true), c.correction
            FROM (FROM iterations_corrected WHERE run_id = $run AND correction IS NOT NULL) c
            JOIN iterations i ON i.run_id = c.run_id AND i.segment = c.segment AND i.line = c.line AND i.iteration = c.iteration
        ) u
        WHERE u.printed <> u.value GROUP BY u.name
    UNION ALL SELECT 7, 'computed', 'tokens_per_s', printf('%.6g', k.value), 'tokens/s', NULL
        FROM metric_tokens_per_s k WHERE k.run_id = $run
    UNION ALL SELECT 7, 'computed', 'model_tflops', printf('%.4g', k.value), 'TFLOP/s per process', k.formula
        FROM metric_model_tflops k WHERE k.run_id = $run
    UNION ALL SELECT 9, 'stated', f.field, coalesce(f.value, 'off'), f.scope, coalesce(f.file, r.uri) || ':' || f.line
        FROM facts f JOIN run r ON r.run_id = f.run_id
        WHERE f.scope NOT IN ('arguments', 'option', 'wandb', 'hydra', 'bundle', 'env', 'launcher')
            AND (f.scope <> 'deepspeed' OR f.file IS NULL) AND f.how = 'stated'
    UNION ALL SELECT 8, CASE u.origin WHEN 'bundle' THEN 'companion' ELSE 'annotation' END, u.field, u.value,
        concat_ws(', ', u.reason, nullif(u.author, ''), u.stated_on::VARCHAR,
                  CASE u.outcome WHEN 'contradicts' THEN 'not used: the source states ' || u.stated
                                 WHEN 'outvoted' THEN 'not used: ' || u.stated || ' has precedence'
                                 WHEN 'agrees' THEN 'the source states so too' END),
        CASE u.origin WHEN 'set' THEN u.file ELSE u.file || ':' || u.line END
        FROM annotations u JOIN run r ON r.run_id = u.run_id WHERE u.field <> 'boundary'
    -- What explains a slow run, and its log leaves out.
    UNION ALL SELECT 12, 'not stated', w.word, '-', NULL, NULL
        FROM (SELECT unnest(['torch_version', 'cuda_version or hip_version', 'nccl_version or rccl_version', 'nccl_net_plugin or nccl_network',
                'driver_version or driver_cuda_version', 'te_version', 'flash_attn_version', 'apex_version', 'deepspeed_version', 'megatron_commit or megatron_core_version or version',
                'container_image', 'hosts or SLURM_JOB_NODELIST or SLURM_NODELIST', 'device', 'nodes', 'dtype', 'recompute', 'zero_stage', 'job_ids']) AS word) w
        JOIN run r ON r.origin = 'log'
        WHERE NOT list_has_any(string_split(w.word, ' or '), (
            SELECT list(x.name) FROM (
                SELECT f.field AS name FROM facts f WHERE f.run_id = $run AND f.value IS NOT NULL
                UNION ALL SELECT e.name FROM env_flags e WHERE e.run_id = $run
                UNION ALL SELECT name FROM words WHERE value <> ''
                UNION ALL SELECT name FROM numbers
            ) x))
    UNION ALL SELECT 10, 'left out', l.reason, l.detail, NULL, NULL FROM left_out l WHERE l.run_id = $run
    UNION ALL SELECT 11, 'event', e.kind, e.raw, NULL, r.uri || ':' || e.line
        FROM events e JOIN run r ON r.run_id = e.run_id
    UNION ALL SELECT 11, 'log', 'lines', printf('%d: %d read, %d known to carry nothing, %d not read', s.lines, s.lines_read,
            s.lines_known, s.lines_unread), NULL, s.uri
        FROM sources s JOIN run r ON r.uri = s.uri WHERE s.kind = 'log'
    UNION ALL SELECT 11, 'log', 'not read, like measurements', s.lines_measuring::VARCHAR, 'lines', 'bench doctor ' || s.uri
        FROM sources s JOIN run r ON r.uri = s.uri WHERE s.lines_measuring > 0
)
SELECT part, name, value, unit, stated_at FROM parts ORDER BY place, name, value;
