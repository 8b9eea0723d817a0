-- The rows of the public views: those of the newest generation of each file that is not hidden.
-- A line `-- view.column: text` describes a column that no table has.

-- current_uris: the newest load of each file that is not hidden.
CREATE OR REPLACE VIEW current_uris AS
SELECT * FROM raw.loads
WHERE uri NOT IN (
    SELECT id FROM raw.hidden WHERE scope = 'uri' GROUP BY id HAVING max_by(hidden, hidden_at))
QUALIFY row_number() OVER (PARTITION BY uri ORDER BY generation DESC, loaded_at DESC, load_id) = 1;

-- current_loads: the loads behind them, each once; of a log that grew also the parts that it was read in.
-- current_loads.load_id: the load, or the part, as the rows have it
-- current_loads.uri: the file; the first by name of those with these bytes
-- current_loads.shown_by: the load; of a part the newest one, which shows it
CREATE OR REPLACE VIEW current_loads AS
-- Nearly every view reads this one, a page some hundred times if no view is stored: it reads current_uris once.
SELECT load_id, min(uri) AS uri, min(shown_by) AS shown_by
FROM (
    SELECT u.uri, u.load_id AS shown_by, unnest(list_prepend(u.load_id, coalesce(r.parts, []))) AS load_id
    FROM current_uris u
    LEFT JOIN (
        SELECT n.load_id, list(p.part_id) AS parts
        FROM raw.parts n JOIN raw.parts p ON p.chain_id = n.chain_id AND p.number <= n.number GROUP BY n.load_id
    ) r ON r.load_id = u.load_id
)
GROUP BY load_id;

-- hidden_runs: runs that a user has hidden.
-- hidden_runs.run_id: the run
CREATE OR REPLACE VIEW hidden_runs AS
SELECT id AS run_id FROM raw.hidden WHERE scope = 'run'
GROUP BY id HAVING max_by(hidden, hidden_at);

-- superseded_steps: iterations of logs that a later run repeats from a checkpoint before them: they do not count.
-- superseded_steps.run_id: the run
-- superseded_steps.iteration: the first of its repeated iterations
-- superseded_steps.superseded_by: the run that continues from the checkpoint before it
CREATE OR REPLACE VIEW superseded_steps AS
SELECT run_id, iteration, again AS superseded_by FROM (
    SELECT * FROM raw.redone QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY found_at DESC, iteration) = 1)
WHERE iteration IS NOT NULL;

-- newest_fact_set: the annotations that count: of several sets the newest.
-- newest_fact_set.set_id: the set
CREATE OR REPLACE VIEW newest_fact_set AS
SELECT set_id FROM raw.fact_sets QUALIFY row_number() OVER (ORDER BY made_at DESC, set_id) = 1;

-- newest_link_set: the links of sidecar files that count: of several sets the newest.
-- newest_link_set.set_id: the set
CREATE OR REPLACE VIEW newest_link_set AS
SELECT set_id FROM raw.link_sets QUALIFY row_number() OVER (ORDER BY made_at DESC, set_id) = 1;

-- newest_audits: of each load the audit that counts, the newest.
-- newest_audits.load_id: the load that was audited
-- newest_audits.audit_id: the audit
CREATE OR REPLACE VIEW newest_audits AS
SELECT load_id, audit_id FROM raw.audits
QUALIFY row_number() OVER (PARTITION BY load_id ORDER BY made_at DESC, audit_id) = 1;

-- merges: whose warehouses and records were merged in.
-- merges.group_name: the prefix of the names of its sources
CREATE OR REPLACE VIEW merges AS SELECT * FROM raw.merges;

-- redone: the name of superseded_steps in earlier versions.
-- redone.again: the run that continues from the checkpoint before it
CREATE OR REPLACE VIEW redone AS SELECT run_id, iteration, superseded_by AS again FROM superseded_steps;

-- loads: the ledger, every generation of every file.
CREATE OR REPLACE VIEW loads AS SELECT * FROM raw.loads;

-- sources: the files, one row each; the same bytes at several paths are one source with several uris.
-- sources.uri: the file; the first by name of those with these bytes
-- sources.uris: every file with these bytes
CREATE OR REPLACE VIEW sources AS
SELECT u.uri, u.uris, u.generation, u.sha256, u.parser_version, s.*
FROM raw.sources s
JOIN (
    SELECT load_id, min(uri) AS uri, list(uri ORDER BY uri) AS uris, max(generation) AS generation,
           min(sha256) AS sha256, max(parser_version) AS parser_version
    FROM current_uris GROUP BY load_id
) u USING (load_id);
