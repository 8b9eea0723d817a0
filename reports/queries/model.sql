-- The measurements of one model, and the days that they imply. Reads the temporary table `selected`.
-- Parameters: $tokens, the budget, else NULL and $steps of each row; $most, the rows shown of each system, and
-- $sweep_rows_shown, of published tables (0: all).
-- computed: ranked effects scaling seconds

-- name: counts
SELECT count(*) AS rows,
    count(DISTINCT source_id) AS documents,
    count(DISTINCT table_id) AS tables,
    count(*) FILTER (origin = 'log') AS logs,
    count(*) FILTER (origin = 'quote') AS quotes,
    count(*) FILTER (coalesce(step_time_s, tokens_per_s, samples_per_s) IS NOT NULL AND left_out IS NULL AND usable) AS timed,
    count(*) FILTER (coalesce(step_time_s, tokens_per_s, samples_per_s, tokens_per_s_per_device) IS NULL AND tflops IS NOT NULL AND left_out IS NULL AND usable) AS tflops_only,
    count(*) FILTER (coalesce(step_time_s, tokens_per_s, samples_per_s) IS NULL AND tokens_per_s_per_device IS NOT NULL AND left_out IS NULL AND usable) AS per_device,
    count(*) FILTER (left_out = 'copy') AS copies,
    count(*) FILTER (left_out IS NOT NULL AND left_out <> 'copy' AND status IN ('ok', 'not_run')) AS damaged,
    count(*) FILTER (status NOT IN ('ok', 'not_run', 'ended', 'running')) AS failed,
    count(*) FILTER (status = 'not_run' AND kind = 'measured' AND left_out IS NULL) AS without_result,
    count(*) FILTER (kind = 'planned') AS plans,
    max(n) AS most_n
FROM selected;

-- name: failures
SELECT status, count(*) AS runs FROM selected WHERE status NOT IN ('ok', 'not_run', 'ended', 'running') GROUP BY status ORDER BY status;

-- name: shapes
SELECT uri, size, list_sort(list_distinct(list(system))) AS systems, layers, hidden, list_sort(list_distinct(list(heads))) AS heads, seq_len,
    list_sort(list_distinct(list(gbs))) AS gbs,
    list_sort(list_distinct(list(tokens_per_step))) AS tokens_per_step,
    arg_min(params_computed, vocab_used) AS params_computed, max(params_stated) AS params_stated,
    min(params_without_embedding) AS params_without_embedding,
    min(vocab_used) AS vocab_used, bool_and(vocab_assumed) AS vocab_assumed,
    arg_min(coalesce(model, size), line) AS label, count(*) AS rows, min(line) AS line,
    list_sort(list_distinct(flatten(list(annotated)))) AS annotated
FROM selected WHERE kind = 'measured'
GROUP BY uri, size, layers, hidden, seq_len
ORDER BY uri, line;

-- name: shape_lines
SELECT DISTINCT s.uri, f.field, f.value, f.line
FROM facts f JOIN selected s ON s.run_id = f.run_id
WHERE f.field IN ('layers', 'hidden', 'heads', 'seq_len', 'gbs', 'params_b', 'size') AND f.line IS NOT NULL AND f.file IS NULL
ORDER BY s.uri, f.field, f.line;

-- name: days_printed
SELECT uri, line, value AS days, try_cast(detail['step_time_s'] AS DOUBLE) AS step_time_s, detail['step_time_s'] AS raw_time, raw
FROM statements
WHERE kind = 'days' AND uri IN (SELECT uri FROM selected) ORDER BY uri, line;

-- name: faster
-- Runs that would lead their model and system if they were not left out, by the printed time, or by the one that the
-- audit suggests if there is only one; `alone` if no run of the model is ranked. `doubt` is the same of those told in one sentence.
WITH repaired AS (
    SELECT run_id, any_value(suggestion) AS suggestion,
        try_cast(regexp_extract(any_value(suggestion), '(?:^|, )Sec/it[ =]([0-9.]+)(?:[,;]|$)', 1) AS DOUBLE) AS seconds
    FROM findings WHERE severity = 'error' AND closed = '' AND suggestion <> '' AND NOT contains(suggestion, ' or ')
    GROUP BY run_id
), rates AS (
    SELECT s.uri, s.line, s.size, s.system, s.left_out_detail, split_part(s.left_out_detail, ';', 1) AS rule, s.tokens_per_step,
        s.devices, r.suggestion,
        CASE WHEN s.tokens_per_s IS NULL THEN r.seconds END AS seconds,
        coalesce(s.tokens_per_s, per(s.tokens_per_step, r.seconds)) AS rate
    FROM selected s LEFT JOIN repaired r ON r.run_id = s.run_id
    WHERE s.left_out IS NOT NULL AND s.left_out <> 'copy' AND s.kind = 'measured'
), ranked AS (
    SELECT size, system, max(tokens_per_s) AS most FROM selected
    WHERE left_out IS NULL AND usable AND kind = 'measured' AND origin <> 'quote' GROUP BY ALL HAVING most IS NOT NULL
)
SELECT uri, line, size, system, d1(coalesce($tokens, $steps * tokens_per_step), rate) AS days, rate AS tokens_per_s, seconds,
    suggestion, left_out_detail, rule, devices, alone, [rule] || CASE WHEN alone THEN [coalesce(size, ''), system] ELSE [] END AS doubt
FROM (SELECT *, NOT EXISTS (FROM ranked b WHERE b.size IS NOT DISTINCT FROM r.size) AS alone FROM rates r) r
WHERE rate > CASE WHEN alone THEN 0 ELSE (SELECT most FROM ranked b WHERE b.size IS NOT DISTINCT FROM r.size AND b.system = r.system) END
ORDER BY rate DESC, uri, line;

-- name: rates_alone
-- Where no run has the tokens/s of its job: the fastest of each model and system, by samples/s, else tokens/s of a device, MFU, TFLOP/s.
SELECT uri, line, size, system, samples_per_s, tokens_per_s_per_device, mfu, mfu_from, tflops, settings, dp, tp, pp, mbs, recompute
FROM selected s
WHERE left_out IS NULL AND usable AND kind = 'measured' AND origin <> 'quote'
    AND coalesce(samples_per_s, tokens_per_s_per_device, mfu, tflops) IS NOT NULL
    AND NOT EXISTS (FROM selected r WHERE r.tokens_per_s IS NOT NULL AND r.left_out IS NULL AND r.usable)
QUALIFY row_number() OVER (PARTITION BY size, system
    ORDER BY samples_per_s DESC NULLS LAST, tokens_per_s_per_device DESC NULLS LAST, mfu DESC NULLS LAST, tflops DESC NULLS LAST, uri, line) = 1
-- One of each model first, so that machines of the fastest do not crowd the others out.
ORDER BY row_number() OVER (PARTITION BY size
    ORDER BY samples_per_s DESC NULLS LAST, tokens_per_s_per_device DESC NULLS LAST, mfu DESC NULLS LAST, tflops DESC NULLS LAST, uri, line) > 1,
    samples_per_s DESC NULLS LAST, tokens_per_s_per_device DESC NULLS LAST, mfu DESC NULLS LAST, tflops DESC NULLS LAST, uri, line
LIMIT CASE WHEN $most = 0 THEN NULL ELSE 6 END;

-- name: recompute
SELECT DISTINCT recompute FROM selected
WHERE tflops IS NOT NULL AND recompute IS NOT NULL ORDER BY recompute;

-- name: sweeps
SELECT t.uri, t.table_id, t.number, t.heading_path, t.heading_lines, t.header_line, t.headings, t.columns,
    count(*) AS rows
FROM tables t JOIN selected s ON s.table_id = t.table_id
WHERE (s.kind = 'measured' OR $most = 0) AND t.number IS NOT NULL
GROUP BY ALL ORDER BY t.uri, t.header_line;

-- name: boundaries
-- Changes after which numbers do not compare, with their statements.
SELECT DISTINCT s.uri, e.regime, e.boundary
FROM regimes e JOIN selected s ON s.run_id = e.run_id
WHERE s.kind = 'measured' ORDER BY s.uri, e.regime;

-- name: sweep_rows
-- With cells only of the first tables, up to the number of rows that a page shows.
WITH counted AS (
    SELECT s.table_id, t.uri, t.header_line, count(*) FILTER (s.status = 'ok') AS rows
    FROM selected s JOIN tables t ON t.table_id = s.table_id WHERE s.kind = 'measured' GROUP BY ALL
    HAVING bool_or(s.left_out IS NULL AND s.status = 'ok')
), full_before AS (
    SELECT table_id, sum(rows) OVER (ORDER BY uri, header_line) - rows > $sweep_rows_shown AND $sweep_rows_shown > 0 AS is_full
    FROM counted
)
SELECT s.run_id, s.table_id, s.line, s.kind, s.status, s.status_reason, s.left_out, s.left_out_detail, s.flags, s.settings,
    s.step_time_s, s.tflops, s.model_tflops, s.documented_aggregate, s.nodes, s.world_size, s.dp, s.tp, s.pp, s.cp, s.mbs,
    d.doubted,
    coalesce(c.cells, []) AS cells
FROM selected s LEFT JOIN (
    SELECT table_id, row_number,
        list(struct_pack(name := coalesce(name, ''), raw := raw, kind := kind, invalid_reason := invalid_reason) ORDER BY column_number) AS cells
    FROM cells WHERE table_id IN (SELECT table_id FROM selected)
        AND table_id NOT IN (SELECT table_id FROM full_before WHERE is_full) GROUP BY ALL
) c ON c.table_id = s.table_id AND c.row_number = s.row_number
LEFT JOIN (
    SELECT run_id, list(DISTINCT name) AS doubted FROM findings
    WHERE severity = 'error' AND closed = '' GROUP BY run_id
) d ON d.run_id = s.run_id
WHERE s.table_id IS NOT NULL AND (s.kind = 'measured' OR $most = 0)
ORDER BY s.table_id, s.line;

-- name: sweep_context
-- Statements of the text around a table for all of its rows that are not in its heading.
SELECT s.table_id, f.field, min(f.value) AS value, min(f.line) AS line
FROM (SELECT run_id, table_id, count(*) OVER (PARTITION BY table_id) AS rows FROM selected WHERE kind = 'measured') s
JOIN (
    SELECT run_id, field, value, line FROM facts
    WHERE scope <> 'heading' AND how = 'stated' AND file IS NULL
        AND field IN ('device', 'recompute', 'seq_len', 'gbs', 'mbs', 'dtype', 'framework', 'layers', 'hidden', 'heads')
) f ON f.run_id = s.run_id
GROUP BY s.table_id, f.field, s.rows HAVING count(DISTINCT f.value) = 1 AND count(DISTINCT f.run_id) = s.rows
ORDER BY s.table_id, f.field;

-- name: logs
SELECT s.uri, s.line, s.origin, s.framework, s.size, s.nodes, s.world_size, s.dp, s.tp, s.pp, s.mbs,
    coalesce(s.gbs, g.median::INTEGER) AS gbs, s.seq_len, s.dtype, s.recompute, s.status, s.status_reason, s.status_line,
    s.step_time_s, s.step_time_low, s.step_time_high, t.n, t.lines, t.first_iteration, t.last_iteration, t.stddev,
    s.tflops, s.tokens_per_s_per_device, s.model_tflops, s.annotated
FROM selected s
LEFT JOIN run_stats t ON t.run_id = s.run_id AND t.metric = 'step_time_s'
LEFT JOIN run_stats g ON g.run_id = s.run_id AND g.metric = 'gbs'
WHERE s.origin IN ('log', 'quote') ORDER BY s.uri, s.line;

-- name: left_out
-- Excluded runs, each once with all reasons; copies last.
SELECT s.uri, s.line, bool_and(l.reason = 'copy') AS is_copy,
    string_agg(l.detail, '; ' ORDER BY l.reason, l.detail) FILTER (l.reason <> 'copy' OR s.left_out = 'copy') AS detail,
    any_value(f.suggestion) AS suggestion
FROM selected s JOIN left_out l ON l.run_id = s.run_id
LEFT JOIN (
    SELECT run_id, string_agg(DISTINCT suggestion, '; ' ORDER BY suggestion) AS suggestion FROM findings
    WHERE severity = 'error' AND closed = '' AND suggestion <> '' GROUP BY run_id
) f ON f.run_id = l.run_id
GROUP BY s.uri, s.line, s.run_id ORDER BY is_copy, s.uri, s.line;

-- name: annotations
-- Annotations by users: where sources are silent, and where they contradict.
SELECT u.field, u.value, u.origin, u.file, u.line, u.reason, u.author, u.stated_on,
    CASE WHEN u.outcome IN ('contradicts', 'outvoted', 'superseded') THEN u.stated END AS stated,
    list_sort(list_distinct(list(s.uri))) AS uris, count(*) AS runs
FROM user_facts u JOIN selected s ON s.run_id = u.run_id
WHERE u.field <> 'boundary' AND u.outcome <> 'agrees'
GROUP BY ALL ORDER BY u.field, u.value, u.file, u.line, uris;

-- name: comments
SELECT uri, line, raw FROM statements
WHERE kind = 'comment' AND uri IN (SELECT uri FROM selected) ORDER BY uri, line;

-- name: sources
SELECT s.uri, s.title, s.generation, left(s.sha256, 12) AS sha256, s.lines,
    count(*) AS rows,
    (SELECT count(*) FROM configurations a WHERE a.uri = s.uri) AS all_rows,
    min(c.line) AS first_line, max(c.last_line) AS last_line
FROM sources s JOIN selected c ON c.uri = s.uri
GROUP BY ALL ORDER BY s.uri;
