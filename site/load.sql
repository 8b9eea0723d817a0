-- Data of a site's pages other than the rows of runs; each statement is for all runs at once.

-- name: sources
SELECT s.uri, s.kind, s.format, s.title, s.lines, s.lines_read, s.lines_unread, s.bytes, s.sha256, s.generation, s.parser_version,
    l.loaded_at
FROM sources s JOIN current_uris l ON l.uri = s.uri ORDER BY s.uri;

-- name: companions
SELECT DISTINCT uri FROM companions WHERE run_id IS NOT NULL ORDER BY uri;

-- name: plans
SELECT uri, line, value, unit, detail FROM statements WHERE kind = 'plan' ORDER BY uri, line;

-- name: findings
-- A finding has a row for each doubted cell; a page shows it once.
SELECT min(l.uri) AS uri, min(f.line) AS line, list(f.line ORDER BY f.line, f.run_id) AS lines,
    list(f.run_id ORDER BY f.line, f.run_id) AS runs, list(DISTINCT f.name ORDER BY f.name) AS names,
    any_value(f.rule) AS rule, any_value(f.severity) AS severity, any_value(f.title) AS title, any_value(f.evidence) AS evidence,
    any_value(f.suggestion) AS suggestion, any_value(f.confidence) AS confidence, any_value(f.closed) AS closed
FROM findings f JOIN raw.audits a ON a.audit_id = f.audit_id JOIN current_loads l ON l.load_id = a.load_id
GROUP BY f.audit_id, f.number
ORDER BY CASE any_value(f.severity) WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, uri, line, rule, title;

-- name: cited
-- The lines of numbers on pages.
SELECT uri, list(DISTINCT line ORDER BY line) AS lines FROM (
    SELECT uri, unnest([line, last_line, status_line]) AS line FROM runs
    UNION ALL SELECT coalesce(f.file, r.uri), f.line FROM facts f JOIN runs r USING (run_id)
    UNION ALL SELECT t.uri, f.line FROM facts f JOIN tables t USING (table_id)
    UNION ALL SELECT uri, unnest([header_line, last_line]) FROM tables
    UNION ALL SELECT uri, unnest(heading_lines) FROM tables
    UNION ALL SELECT uri, line FROM statements
    UNION ALL SELECT r.uri, e.line FROM events e JOIN runs r USING (run_id)
    UNION ALL SELECT coalesce(e.file, r.uri), e.line FROM env_flags e JOIN runs r USING (run_id)
    UNION ALL SELECT r.uri, m.line FROM measurements m JOIN runs r USING (run_id)
    UNION ALL SELECT r.uri, e.line FROM evaluations e JOIN runs r USING (run_id)
    UNION ALL SELECT l.uri, f.line FROM findings f JOIN raw.audits a ON a.audit_id = f.audit_id JOIN current_loads l ON l.load_id = a.load_id
    UNION ALL SELECT uri, line FROM jobs
    UNION ALL SELECT file, line FROM annotations WHERE file IN (SELECT uri FROM sources)
    UNION ALL SELECT uri, unnest([first, fastest, slowest, last]) FROM (
        -- Of steps as fast as each other those that a run's page lists: any of them would make
        -- another page each time.
        SELECT r.uri, min(i.line) AS first, max(i.line) AS last,
            arg_min(i.line, (i.step_time_s, i.line)) FILTER (i.step_time_s IS NOT NULL) AS fastest,
            arg_max(i.line, (i.step_time_s, i.line)) FILTER (i.step_time_s IS NOT NULL) AS slowest
        FROM effective_steps i JOIN runs r USING (run_id) GROUP BY r.uri, i.run_id)
) WHERE line IS NOT NULL AND uri IS NOT NULL GROUP BY uri;

-- name: names
SELECT DISTINCT name, value FROM env_flags WHERE value IS NOT NULL
UNION SELECT DISTINCT field, value FROM facts WHERE value IS NOT NULL
UNION SELECT DISTINCT field, raw FROM facts
UNION SELECT DISTINCT '', uri FROM current_uris;
