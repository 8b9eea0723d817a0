-- continuations: runs of logs that go on from a checkpoint of another run of the folder: one training over several files, or starts.
-- continuations.run_id: the run
-- continuations.continues: the run before it
-- continuations.iteration: its first one
-- continuations.repeated: how many iterations of the run before it are done again
CREATE OR REPLACE VIEW continuations AS
WITH loads AS (
    SELECT run_id, min(iteration) AS loaded FROM events
    WHERE kind = 'load' AND iteration > 0 GROUP BY run_id HAVING min(iteration) = max(iteration)
), spans AS (
    SELECT r.run_id, r.uri, regexp_replace(r.uri, '[^/]*$', '') AS folder, r.line, r.date, r.train_iters, r.layers, r.hidden,
        min(i.iteration) AS first, max(i.iteration) AS last, max(coalesce(i.interval_length, 1)) AS interval
    FROM runs r JOIN iterations i ON i.run_id = r.run_id
    WHERE r.origin = 'log' AND r.train_iters IS NOT NULL GROUP BY ALL
), pairs AS (
    SELECT b.run_id, a.run_id AS continues, b.first AS iteration, a.last, a.line, a.date,
        a.uri = b.uri AS same_file, s.run_id IS NOT NULL AS saved
    FROM loads l JOIN spans b ON b.run_id = l.run_id AND b.first BETWEEN l.loaded + 1 AND l.loaded + b.interval
    JOIN spans a ON a.folder = b.folder AND a.run_id <> b.run_id AND a.train_iters = b.train_iters
        AND a.layers IS NOT DISTINCT FROM b.layers AND a.hidden IS NOT DISTINCT FROM b.hidden
        AND a.first <= l.loaded AND l.loaded <= a.last
        AND CASE WHEN a.uri = b.uri THEN a.line < b.line ELSE a.date <= b.date OR a.date IS NULL OR b.date IS NULL END
    LEFT JOIN (SELECT DISTINCT run_id, iteration FROM events WHERE kind = 'save') s
        ON s.run_id = a.run_id AND s.iteration = l.loaded
    -- Where several could be meant, the one that saved the checkpoint, of these the newest; without any sign none.
    QUALIFY (count(*) OVER (PARTITION BY b.run_id) = 1 OR saved OR same_file OR a.date IS NOT NULL)
        AND row_number() OVER (PARTITION BY b.run_id ORDER BY saved DESC, same_file DESC, a.date DESC NULLS LAST, a.line DESC, a.run_id) = 1
)
SELECT run_id, continues, iteration,
    (SELECT count(DISTINCT i.iteration) FROM iterations i WHERE i.run_id = p.continues AND i.iteration >= p.iteration) AS repeated
FROM pairs p;
