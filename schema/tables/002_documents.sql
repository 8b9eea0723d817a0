-- Published tables as found, and what documents state around them.
CREATE TABLE raw.tables (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    source_id VARCHAR NOT NULL,     -- the document
    table_id VARCHAR NOT NULL,      -- the table
    number INTEGER,                 -- benchmark tables of a document count from 1; NULL: not a benchmark table
    form VARCHAR NOT NULL,          -- markdown, csv, tsv
    header_line BIGINT NOT NULL,    -- line of the headings, from 1
    separator_line BIGINT,          -- line of the dashes, from 1
    last_line BIGINT NOT NULL,      -- last line of the table
    headings VARCHAR[] NOT NULL,    -- header cells as written
    columns VARCHAR[] NOT NULL,     -- our column names; '' where the heading is unknown
    alignment VARCHAR[] NOT NULL,   -- left, right, center, none
    heading_path VARCHAR[] NOT NULL, -- headings of the sections around it, outermost first
    heading_lines BIGINT[] NOT NULL, -- their lines
    filler_lines BIGINT[] NOT NULL  -- rows of blanks
);

CREATE TABLE raw.cells (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    table_id VARCHAR NOT NULL,      -- the table
    line BIGINT NOT NULL,           -- line of the source, from 1
    row_number INTEGER NOT NULL,    -- from 1
    column_number INTEGER NOT NULL, -- from 1; beyond the header: a surplus cell
    name VARCHAR,                   -- our column name
    raw VARCHAR NOT NULL,           -- trimmed text as written
    kind VARCHAR NOT NULL,          -- number, label, text, missing, failure, symbolic, range, pair, flag, settings
    value DOUBLE,                   -- number, in the unit printed
    decimals INTEGER,               -- printed digits after the point
    unit VARCHAR,                   -- unit as printed in the cell
    text VARCHAR,                   -- words left after value, unit and marks
    marks VARCHAR[] NOT NULL,       -- footnote marks, in order
    misfit VARCHAR,                 -- why the cell does not fit its column
    pieces VARCHAR                  -- JSON: the typed pieces that give the cell's text back
);

CREATE TABLE raw.facts (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    run_id VARCHAR,                 -- of a run, or
    table_id VARCHAR,               -- of a table
    field VARCHAR NOT NULL,         -- the column it is about
    value VARCHAR,                  -- typed text; NULL: stated as absent
    raw VARCHAR NOT NULL,           -- as written
    line BIGINT,                    -- line that states it, from 1
    scope VARCHAR NOT NULL,         -- cell, heading, line, section, document, legend, arguments, header, quote
    how VARCHAR NOT NULL            -- stated, user
);

CREATE TABLE raw.statements (
    load_id VARCHAR NOT NULL,       -- the load it belongs to
    line BIGINT NOT NULL,           -- line of the source, from 1
    kind VARCHAR NOT NULL,          -- plan, days, formula, constraint, legend, notation, summary, comment, boundary
    subject VARCHAR,                -- the mark, symbol or quantity it speaks of
    value DOUBLE,                   -- the number, in `unit`
    unit VARCHAR,                   -- unit of the number
    detail MAP(VARCHAR, VARCHAR),   -- further parts, as text
    raw VARCHAR NOT NULL            -- as written
);
