-- What users tell of sources with `bench ingest --set`. Insert-only: of a source and field the
-- newest row counts.
CREATE TABLE raw.told (
    source_id VARCHAR NOT NULL,     -- the source it is about, whatever its generation
    field VARCHAR NOT NULL,         -- the column it tells
    value VARCHAR,                  -- as text; NULL: taken back
    told_at TIMESTAMP NOT NULL      -- time when it was told, UTC
);

-- What is declared of paths has no date.
ALTER TABLE raw.user_facts ALTER COLUMN stated_on DROP NOT NULL;
ALTER TABLE raw.user_facts ADD COLUMN origin VARCHAR; -- facts.toml, set (`bench ingest --set`), path (a pattern of bench.toml), record
ALTER TABLE raw.user_facts ADD COLUMN outcome VARCHAR; -- counts, agrees (the source says so too), contradicts (the source says otherwise, and counts), outvoted (what is told elsewhere counts)
ALTER TABLE raw.user_facts ADD COLUMN stated VARCHAR; -- what counts in its place, as text; NULL where it counts
