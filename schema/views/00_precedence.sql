-- The kinds of sources for a field of a run, and their precedence.

-- source_kinds: sources that may state a field of a run, the strongest first: of several the first counts.
-- source_kinds.precedence: from 1
-- source_kinds.kind: as annotations.origin has it
-- source_kinds.meaning: what it is
CREATE OR REPLACE VIEW source_kinds AS
FROM (VALUES
    (1, 'source', 'the log, the row of a table or the quoted line itself'),
    (2, 'facts.toml', 'a file of facts next to the sources'),
    (3, 'set', 'bench ingest --set'),
    (4, 'bundle', 'a sidecar file of the job, or the log of another of its ranks'),
    (5, 'path', 'a pattern of bench.toml that matches the path of a log'),
    (6, 'record', 'an annotation in a record of the run')
) AS kinds (precedence, kind, meaning);

-- Whether a source and an annotation agree on a field: 1 and 1.0, A64FX and `A64FX 2.2GHz`.
CREATE OR REPLACE MACRO says_the_same(field, stated, other) AS
    lower(trim(stated)) = lower(trim(other))
    OR coalesce(try_cast(stated AS DECIMAL(38, 12)) = try_cast(other AS DECIMAL(38, 12)), false)
    OR (field IN ('device', 'framework', 'model')
        AND (contains(lower(trim(stated)), lower(trim(other))) OR contains(lower(trim(other)), lower(trim(stated)))));
