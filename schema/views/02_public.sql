-- The public tables: stable names and columns for queries from outside.

-- tables: published tables as found.
-- tables.uri: the document
CREATE OR REPLACE VIEW tables AS
SELECT t.* EXCLUDE (load_id), l.uri FROM raw.tables t JOIN current_loads l USING (load_id);

-- cells: every cell of the published tables, surplus ones too.
-- cells.kind: number, label, text, missing, failure, symbolic, range, pair, flag, settings, words (a remark in place of a number), misfit
-- cells.invalid_reason: why the cell does not fit its column
-- cells.misfit: why the cell does not fit its column; the next version of this view has invalid_reason alone
CREATE OR REPLACE VIEW cells AS
SELECT c.* EXCLUDE (load_id), c.misfit AS invalid_reason FROM raw.cells c SEMI JOIN current_loads USING (load_id);

-- statements: other numbers and remarks of documents.
-- statements.uri: the document
CREATE OR REPLACE VIEW statements AS
SELECT l.uri, s.* EXCLUDE (load_id) FROM raw.statements s JOIN current_loads l USING (load_id);

-- warnings: irregularities in a file, found while it was read.
-- warnings.uri: the file
CREATE OR REPLACE VIEW warnings AS
SELECT l.uri, w.* EXCLUDE (load_id) FROM raw.warnings w JOIN current_loads l USING (load_id);

-- runs: runs of logs, rows of published tables, quoted log lines; as stated, else NULL.
-- runs.uri: the log or document
CREATE OR REPLACE VIEW runs AS
SELECT l.uri, r.* EXCLUDE (load_id) FROM judged_runs r JOIN current_loads l USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = r.run_id;

-- brought_statements: statements about runs in records and merged warehouses. Those of a record that is replaced by another one, or by
-- the source itself in a warehouse of several groups, still count, for the run that is shown in its place.
-- brought_statements.run_id: the run that is shown
-- brought_statements.origin: bundle (a sidecar file that the record has read), record
-- brought_statements.outcome: counts, withdrawn
-- brought_statements.how: stated, user, withdrawn
-- brought_statements.reason: why
CREATE OR REPLACE VIEW brought_statements AS
WITH of_records AS (
    SELECT f.run_id, f.raw AS sha256, r.origin, r.line, r.row_number
    FROM raw.facts f SEMI JOIN current_loads USING (load_id) JOIN raw.runs r ON r.load_id = f.load_id AND r.run_id = f.run_id
    WHERE f.scope = 'record' AND f.field = 'record_of'
), every AS (
    FROM of_records
    UNION ALL
    SELECT r.run_id, u.sha256, r.origin, r.line, r.row_number FROM raw.runs r JOIN current_uris u USING (load_id)
    WHERE EXISTS (FROM raw.merges)
), twins AS (
    SELECT DISTINCT o.run_id, e.run_id AS shown FROM of_records o JOIN every e ON e.sha256 = o.sha256 AND e.origin = o.origin
        AND e.line IS NOT DISTINCT FROM o.line AND e.row_number IS NOT DISTINCT FROM o.row_number
    WHERE o.run_id IN (SELECT run_id FROM raw.facts WHERE how IN ('user', 'withdrawn'))
)
SELECT f.* FROM (
    SELECT coalesce(t.shown, f.run_id) AS run_id, f.field, f.value,
        coalesce(f.file, l.uri) AS file, coalesce(f.line, 1) AS line, f.raw AS reason, coalesce(f.author, '') AS author, f.stated_on,
        CASE f.how WHEN 'stated' THEN 'bundle' ELSE 'record' END AS origin,
        CASE f.how WHEN 'withdrawn' THEN f.how ELSE 'counts' END AS outcome, f.how, f.known_since, f.withdrawn_on
    FROM raw.facts f JOIN current_loads l USING (load_id) LEFT JOIN twins t ON t.run_id = f.run_id AND f.how IN ('user', 'withdrawn')
    WHERE (f.how IN ('user', 'withdrawn') OR f.scope = 'bundle') AND f.value IS NOT NULL AND f.run_id IS NOT NULL
) f
ANTI JOIN hidden_runs h ON h.run_id = f.run_id;

-- annotations: statements about runs outside of their sources, field by field: by users and by sidecar files of the job.
-- annotations.run_id: the run
-- annotations.file: the file that states it; --set: the command line
-- annotations.line: its line, from 1
-- annotations.field: the column it states, or boundary
-- annotations.value: as text
-- annotations.reason: why
-- annotations.author: its author
-- annotations.stated_on: when
-- annotations.origin: facts.toml, set (`bench ingest --set`), bundle (a sidecar file), path (a pattern of bench.toml), record
-- annotations.outcome: counts, agrees (the source states the same), contradicts (the source states another value, which counts), outvoted (a stronger annotation counts), superseded (by a later one of its author), withdrawn
-- annotations.stated: the value that counts instead, as text; NULL where it counts
-- annotations.known_since: from when it is known; NULL: from its first ingest
-- annotations.withdrawn_on: when it was withdrawn or superseded; NULL: it is in force
CREATE OR REPLACE VIEW annotations AS
WITH imported AS (
    FROM brought_statements
), newest AS (
    SELECT f.run_id, f.field, f.value, f.file, f.line, f.raw AS reason, f.author, f.stated_on, f.source_kind AS origin,
        f.outcome, f.counting AS stated, f.known_since, f.withdrawn_on
    FROM raw.facts f SEMI JOIN newest_fact_set s ON s.set_id = f.load_id
    ANTI JOIN hidden_runs h ON h.run_id = f.run_id
), standing AS (
    -- The annotations in force at the origin of a record, unless withdrawn; those of this warehouse have precedence.
    FROM imported f
    ANTI JOIN newest n ON n.run_id = f.run_id AND n.field = f.field AND n.outcome = 'counts'
    ANTI JOIN (FROM imported WHERE outcome = 'withdrawn') w ON w.run_id = f.run_id AND w.field = f.field AND w.value = f.value
    WHERE f.outcome = 'counts'
), newer AS (
    SELECT o.run_id, o.field, o.value, o.author, o.stated_on, max_by(n.value, n.stated_on) AS stated,
        min(coalesce(n.known_since, n.stated_on)) AS superseded_on
    FROM standing o JOIN standing n ON n.run_id = o.run_id AND n.field = o.field AND n.author = o.author
        AND n.stated_on > o.stated_on AND n.value <> o.value
    WHERE o.author <> ''
    GROUP BY ALL
)
SELECT * FROM newest
UNION ALL BY NAME
SELECT * EXCLUDE (how) FROM imported WHERE outcome = 'withdrawn'
UNION ALL BY NAME
SELECT s.* EXCLUDE (how) REPLACE ('superseded' AS outcome, n.superseded_on AS withdrawn_on), n.stated
FROM standing s JOIN newer n USING (run_id, field, value, author, stated_on)
UNION ALL BY NAME
SELECT f.* EXCLUDE (how) FROM standing f ANTI JOIN newer n USING (run_id, field, value, author, stated_on)
QUALIFY row_number() OVER (PARTITION BY f.run_id, f.field ORDER BY f.how DESC, f.value) = 1;

-- beside: the name of annotations in earlier versions.
CREATE OR REPLACE VIEW beside AS SELECT * FROM annotations;

-- user_facts: statements of users about runs: in facts.toml, with --set, by patterns of paths; the newest set, and those in records.
CREATE OR REPLACE VIEW user_facts AS SELECT * FROM annotations WHERE origin <> 'bundle';

-- companions: sidecar files of logs, each with its runs; also event files and W&B's output that repeat a log's steps, and logs of
-- other ranks of a job, which print no steps.
-- companions.source_id: the file, as one of the sources
-- companions.run_id: the run; NULL: none
-- companions.rule: why it belongs to the run, or to none
-- companions.format: what it is
-- companions.uri: the file
CREATE OR REPLACE VIEW companions AS
SELECT s.source_id, s.uri, s.format, k.run_id, coalesce(k.rule, 'not looked at yet') AS rule
FROM sources s
LEFT JOIN (
    SELECT k.* FROM raw.links k SEMI JOIN newest_link_set newest ON newest.set_id = k.set_id
    ANTI JOIN hidden_runs h ON h.run_id = k.run_id
) k ON k.source_id = s.source_id
WHERE s.kind = 'companion' OR k.rule IN ('same steps', 'ranks of one job');

-- facts: statements of sources and their sidecar files about runs and tables, outside of cells; with how = 'user', of users where those have none.
-- facts.how: stated, user, derived (from lines of steps, where it is not stated)
-- facts.file: the companion that states it; NULL: the source itself
-- Hidden runs are left out of all parts at once: with an anti join in a part, DuckDB 1.5 waits for itself from 120,000 rows on.
CREATE OR REPLACE VIEW facts AS
SELECT f.* FROM (
    SELECT f.run_id, f.table_id, f.field, f.value, f.raw, f.line, f.scope, f.how, NULL::VARCHAR AS file
    FROM raw.facts f SEMI JOIN current_loads USING (load_id)
    WHERE f.how <> 'user' AND f.scope <> 'bundle' AND coalesce(f.run_id, f.table_id) IS NOT NULL
    UNION ALL BY NAME
    SELECT c.run_id, f.field, f.value, f.raw, f.line, f.scope, f.how, c.uri AS file
    FROM companions c JOIN sources s USING (source_id) JOIN raw.facts f ON f.load_id = s.load_id
    WHERE c.run_id IS NOT NULL AND f.scope NOT IN ('column', 'step') AND (f.run_id IS NULL OR c.rule = 'ranks of one job')
    UNION ALL BY NAME
    SELECT s.run_id, 'seq_len' AS field, s.median::BIGINT::VARCHAR AS value,
        printf('actual seqlen, else consumed tokens / consumed samples: the same in %d %s, iterations %d-%d', s.lines,
            CASE s.lines WHEN 1 THEN 'line' ELSE 'lines' END, s.first_iteration, s.last_iteration) AS raw, 'steps' AS scope, 'derived' AS how
    FROM raw.run_stats s SEMI JOIN current_loads USING (load_id)
    LEFT JOIN superseded_steps d ON d.run_id = s.run_id
    WHERE s.metric = 'seq_len' AND s.min = s.max AND s.min = floor(s.min) AND s.redone_from IS NOT DISTINCT FROM d.iteration
    UNION ALL BY NAME
    -- No line: it is not in the source.
    SELECT run_id, field, value,
        concat_ws(', ', CASE WHEN origin NOT IN ('set', 'record') THEN file || ':' || line END, reason, nullif(author, ''),
            stated_on::VARCHAR) AS raw,
        CASE origin WHEN 'bundle' THEN 'bundle' ELSE 'user' END AS scope, CASE origin WHEN 'bundle' THEN 'stated' ELSE 'user' END AS how,
        CASE origin WHEN 'bundle' THEN file END AS file
    FROM annotations WHERE outcome = 'counts' AND field <> 'boundary'
) f
ANTI JOIN hidden_runs h ON h.run_id = f.run_id;

-- topology: how the ranks of a run are laid out, as stated.
CREATE OR REPLACE VIEW topology AS
SELECT t.* EXCLUDE (load_id) FROM raw.topology t SEMI JOIN current_loads USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = t.run_id;

-- env_flags: environment variables, scheduler and launcher settings, clocks, variants of tables; of companions what the source does not state.
-- env_flags.file: the companion that states it; NULL: the source itself
CREATE OR REPLACE VIEW env_flags AS
WITH own AS (
    SELECT e.* EXCLUDE (load_id) FROM raw.env_flags e SEMI JOIN current_loads USING (load_id)
    ANTI JOIN hidden_runs h ON h.run_id = e.run_id
)
SELECT *, NULL::VARCHAR AS file FROM own
UNION ALL BY NAME
SELECT c.run_id, e.* EXCLUDE (load_id, run_id), c.uri AS file
FROM companions c JOIN sources s USING (source_id) JOIN raw.env_flags e ON e.load_id = s.load_id
ANTI JOIN own ON own.run_id = c.run_id AND own.name = e.name
WHERE c.rule = 'ranks of one job'
QUALIFY row_number() OVER (PARTITION BY c.run_id, e.name ORDER BY c.uri, e.line DESC) = 1
UNION ALL BY NAME
-- Of a scheduler's settings only those that change the speed: names and limits of jobs would distinguish equal runs.
SELECT f.run_id, f.field AS name, f.value, f.scope AS kind, f.line, f.file
FROM facts f ANTI JOIN own ON own.run_id = f.run_id AND own.name = f.field
WHERE f.file IS NOT NULL AND (f.scope IN ('env', 'launcher')
    OR (f.scope = 'scheduler' AND f.field IN ('freq', 'eco_state', 'retention_state', 'throttling_state', 'boost',
        '--cpu-freq', '--gpu-freq', '--constraint', '--hint', '--distribution', '--cpu-bind', '--exclusive')))
QUALIFY row_number() OVER (PARTITION BY f.run_id, f.field ORDER BY f.file, f.line DESC) = 1;

-- measurements: values reported as such, with the range that their digits allow.
CREATE OR REPLACE VIEW measurements AS
SELECT m.* EXCLUDE (load_id) FROM raw.measurements m SEMI JOIN current_loads USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = m.run_id;

-- iterations: one row a logged interval of a log, repeated ones too.
CREATE OR REPLACE VIEW iterations AS
SELECT i.* EXCLUDE (load_id, loss_name)
    REPLACE (coalesce(losses, CASE WHEN loss_name IS NOT NULL THEN MAP {loss_name: loss} END) AS losses)
FROM raw.iterations i SEMI JOIN current_loads USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = i.run_id;

-- effective_steps: the intervals of a log that count: of a repeated iteration, in the run or in its continuation, only the later one.
CREATE OR REPLACE VIEW effective_steps AS
SELECT i.* FROM iterations i ANTI JOIN superseded_steps d ON d.run_id = i.run_id AND d.iteration <= i.iteration
QUALIFY row_number() OVER (PARTITION BY run_id, iteration ORDER BY segment DESC, line DESC) = 1;

-- counted_iterations: the name of effective_steps in earlier versions.
CREATE OR REPLACE VIEW counted_iterations AS SELECT * FROM effective_steps;

-- timers: timers that logs print.
CREATE OR REPLACE VIEW timers AS
SELECT t.* EXCLUDE (load_id) FROM raw.timers t SEMI JOIN current_loads USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = t.run_id;

-- The bytes of a unit of memory; NULL for one that is not known.
CREATE OR REPLACE MACRO bytes_of(unit) AS
    CASE unit WHEN 'B' THEN 1e0 WHEN 'bytes' THEN 1e0 WHEN 'kB' THEN 1e3 WHEN 'KB' THEN 1e3 WHEN 'MB' THEN 1e6 WHEN 'GB' THEN 1e9
        WHEN 'TB' THEN 1e12 WHEN 'KiB' THEN 1024e0 WHEN 'MiB' THEN 1048576e0 WHEN 'GiB' THEN 1073741824e0
        WHEN 'TiB' THEN 1099511627776e0 END;

-- memory: readings of memory that logs print.
CREATE OR REPLACE VIEW memory AS
SELECT m.* EXCLUDE (load_id) FROM raw.memory m SEMI JOIN current_loads USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = m.run_id;

-- events: saves, phases, ends and failures of logs.
CREATE OR REPLACE VIEW events AS
SELECT e.* EXCLUDE (load_id) FROM raw.events e SEMI JOIN current_loads USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = e.run_id;

-- evaluations: losses on validation and test sets.
CREATE OR REPLACE VIEW evaluations AS
SELECT e.* EXCLUDE (load_id) FROM raw.evaluations e SEMI JOIN current_loads USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = e.run_id;

-- run_stats: statistics over the iterations of a run, with the rule that made them.
CREATE OR REPLACE VIEW run_stats AS
SELECT r.* EXCLUDE (load_id) FROM raw.run_stats r SEMI JOIN current_loads USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = r.run_id
LEFT JOIN superseded_steps d ON d.run_id = r.run_id
WHERE r.redone_from IS NOT DISTINCT FROM d.iteration;

-- quantities: times and rates of a log's steps, each with its scope and the equation that shows it.
CREATE OR REPLACE VIEW quantities AS
SELECT q.* EXCLUDE (load_id) FROM raw.quantities q SEMI JOIN current_loads USING (load_id)
ANTI JOIN hidden_runs h ON h.run_id = q.run_id;

-- findings: findings of the audit in documents, one row for each doubted cell; of each document the newest audit.
CREATE OR REPLACE VIEW findings AS
SELECT f.* EXCLUDE (load_id) FROM raw.findings f SEMI JOIN current_loads USING (load_id)
SEMI JOIN newest_audits a ON a.load_id = f.load_id AND a.audit_id = f.audit_id
ANTI JOIN hidden_runs h ON h.run_id = f.run_id;
