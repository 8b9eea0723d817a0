-- continuations: runs of logs that continue from a checkpoint of another run of the folder: one training in several files, or restarts.
-- continuations.run_id: the run
-- continuations.continues: the run before it
-- continuations.iteration: its first one
-- continuations.loaded: the iteration of the checkpoint
-- continuations.repeated: how many logged iterations of the run before it are repeated
CREATE OR REPLACE VIEW continuations AS
WITH load_events AS (
    SELECT e.run_id, e.iteration, e.line, regexp_extract(e.raw, '\S*/\S*') AS path, regexp_replace(r.uri, '[^/]*$', '') AS folder
    FROM events e JOIN runs r ON r.run_id = e.run_id WHERE e.kind = 'load' AND r.origin = 'log'
), spans AS (
    SELECT r.run_id, r.uri, regexp_replace(r.uri, '[^/]*$', '') AS folder, r.line, r.date, r.train_iters, r.layers, r.hidden,
        min(i.iteration) AS first, max(i.iteration) AS last, max(coalesce(i.interval_length, 1)) AS interval, min(i.line) AS first_line,
        [t.dp, t.tp, t.pp, t.cp, t.ep, t.mbs, t.gbs] AS layout
    FROM runs r JOIN iterations i ON i.run_id = r.run_id LEFT JOIN topology t ON t.run_id = r.run_id
    WHERE r.origin = 'log' AND regexp_replace(r.uri, '[^/]*$', '') IN (SELECT folder FROM load_events) GROUP BY ALL
), loads AS (
    -- Checkpoints loaded above the first step; some trainers print no iteration.
    SELECT run_id, max(t.iteration) AS loaded, list(nullif(t.path, '')) AS paths FROM load_events t JOIN spans s USING (run_id)
    WHERE t.line < s.first_line GROUP BY run_id
    HAVING count(DISTINCT t.iteration) <= 1 AND coalesce(loaded, 1) > 0
), saves AS (
    SELECT run_id, iteration, list(nullif(regexp_extract(raw, '\S*/\S*'), '')) AS paths
    FROM events WHERE kind = 'save' GROUP BY run_id, iteration
), pairs AS (
    SELECT b.run_id, a.run_id AS continues, b.first AS iteration, max(coalesce(l.loaded, s.iteration)) AS loaded,
        a.line, a.date, a.uri = b.uri AS same_file, bool_or(s.run_id IS NOT NULL) AS saved,
        bool_or(coalesce(list_has_any(l.paths, s.paths), false)) AS same_path, a.layout IS NOT DISTINCT FROM b.layout AS same_layout
    FROM loads l JOIN spans b ON b.run_id = l.run_id
    JOIN spans a ON a.folder = b.folder AND a.run_id <> b.run_id
        AND a.layers IS NOT DISTINCT FROM b.layers AND a.hidden IS NOT DISTINCT FROM b.hidden
        AND CASE WHEN a.uri = b.uri THEN a.line < b.line ELSE a.date <= b.date OR a.date IS NULL OR b.date IS NULL END
    LEFT JOIN saves s ON s.run_id = a.run_id
        AND CASE WHEN l.loaded IS NULL THEN s.iteration BETWEEN b.first - greatest(a.interval, b.interval) AND b.first - 1 ELSE s.iteration = l.loaded END
    WHERE coalesce(l.loaded, s.iteration) BETWEEN b.first - greatest(a.interval, b.interval) AND b.first - 1
        AND coalesce(l.loaded, s.iteration) BETWEEN a.first AND a.last
        AND coalesce(a.train_iters = b.train_iters, s.run_id IS NOT NULL AND a.train_iters IS NOT DISTINCT FROM b.train_iters)
    GROUP BY ALL
), chosen AS MATERIALIZED (
    SELECT * FROM pairs
    -- Of several candidates the one that saved the checkpoint, of these one of the same path, else layout, else the newest;
    -- without any evidence none. Runs of a sweep save at the same iterations: of several, one of another layout is no evidence.
    QUALIFY (count(*) OVER (PARTITION BY run_id) = 1 OR saved AND count(*) FILTER (saved) OVER (PARTITION BY run_id) = 1
            OR (saved OR same_file OR date IS NOT NULL) AND (same_path OR same_layout OR same_file))
        AND row_number() OVER (PARTITION BY run_id ORDER BY saved DESC, same_path DESC, same_layout DESC, same_file DESC,
            date DESC NULLS LAST, line DESC, continues) = 1
), steps AS MATERIALIZED (
    -- Before anything is joined: no run may go on from another, and there may be 10^8 steps.
    SELECT load_id, run_id, iteration FROM raw.iterations WHERE run_id IN (SELECT continues FROM chosen)
)
SELECT c.run_id, c.continues, c.iteration, c.loaded, coalesce(r.repeated, 0) AS repeated
FROM chosen c LEFT JOIN (
    SELECT o.run_id, count(DISTINCT i.iteration) AS repeated
    FROM steps i SEMI JOIN current_loads USING (load_id) JOIN chosen o ON o.continues = i.run_id
    WHERE i.iteration > o.loaded GROUP BY o.run_id
) r ON r.run_id = c.run_id;
