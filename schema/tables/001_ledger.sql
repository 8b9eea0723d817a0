-- The ledger: which bytes of which file are in the warehouse, and which loads a user has hidden.
-- Only what DuckDB files and DuckLake share: no keys, no sequences, insert-only. One column a line,
-- with what it holds and its unit: docs/warehouse.md is made from these comments.
CREATE TABLE raw.loads (
    uri VARCHAR NOT NULL,           -- path relative to the ingest root, '/' between parts
    generation INTEGER NOT NULL,    -- 1, 2, ...: a changed file is a new generation of its uri
    load_id VARCHAR NOT NULL,       -- the load whose rows hold this content
    source_id VARCHAR NOT NULL,     -- stays the same when the file grows or changes
    sha256 VARCHAR NOT NULL,        -- of bytes [from_byte, to_byte)
    from_byte BIGINT NOT NULL,      -- first byte read, counted from 0
    to_byte BIGINT NOT NULL,        -- the byte behind the last one read
    parser_version INTEGER NOT NULL, -- version of the reading code; a new one reads the file again
    loaded_at TIMESTAMP NOT NULL    -- time of the load, UTC
);

CREATE TABLE raw.sources (
    load_id VARCHAR NOT NULL,       -- the load whose rows hold this content
    source_id VARCHAR NOT NULL,     -- the file, whatever its generation
    kind VARCHAR NOT NULL,          -- document, csv, log
    format VARCHAR,                 -- the format that read most lines
    title VARCHAR,                  -- first heading of a document
    bytes BIGINT NOT NULL,          -- size of the file in bytes
    lines BIGINT NOT NULL,          -- lines of the file
    lines_read BIGINT NOT NULL,     -- lines that gave a record
    lines_known BIGINT NOT NULL,    -- lines known to carry nothing (blank, rules, prose of documents)
    lines_unread BIGINT NOT NULL,   -- lines no format reads
    encoding_errors BIGINT NOT NULL -- bytes that are no UTF-8
);

CREATE TABLE raw.warnings (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    line BIGINT,                    -- line of the source, from 1; NULL: the file as a whole
    code VARCHAR NOT NULL,          -- stable word: ragged_row, short_separator, type_misfit, ...
    message VARCHAR NOT NULL        -- what is odd
);

CREATE TABLE raw.hidden (
    scope VARCHAR NOT NULL,         -- uri or run
    id VARCHAR NOT NULL,            -- the uri or run id
    hidden BOOLEAN NOT NULL,        -- the newest row of a (scope, id) counts
    hidden_at TIMESTAMP NOT NULL    -- time of the decision, UTC
);
