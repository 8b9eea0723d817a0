-- What is stated of runs outside of their sources stands in the table of facts, with who says it: one
-- table answers who says what, of which run, where. Insert-only: the newest set of annotations counts.
ALTER TABLE raw.facts ADD COLUMN source_kind VARCHAR; -- of an annotation, what states it: facts.toml, set, bundle, path; NULL: the source that was read
ALTER TABLE raw.facts ADD COLUMN file VARCHAR; -- of an annotation, the file that states it; --set: the command line
ALTER TABLE raw.facts ADD COLUMN author VARCHAR; -- of an annotation, who says so
ALTER TABLE raw.facts ADD COLUMN stated_on DATE; -- of an annotation, when
ALTER TABLE raw.facts ADD COLUMN outcome VARCHAR; -- of an annotation: counts, agrees (the source says so too), contradicts (the source says otherwise, and counts), outvoted (a stronger annotation counts)
ALTER TABLE raw.facts ADD COLUMN counting VARCHAR; -- of an annotation, what counts in its place, as text; NULL where it counts

INSERT INTO raw.facts (load_id, run_id, field, value, raw, line, scope, how, source_kind, file, author, stated_on, outcome, counting)
SELECT set_id, run_id, field, value, reason, line, 'annotation', CASE WHEN origin = 'bundle' THEN 'stated' ELSE 'user' END,
    coalesce(origin, 'facts.toml'), file, author, stated_on, coalesce(outcome, 'counts'), stated
FROM raw.user_facts;

DROP TABLE raw.user_facts;
