-- What git keeps of documents: when a number appeared, changed and went. Two times are kept: when a
-- commit was made, and when it was read. Nothing here shows among the runs of today. Insert-only.
CREATE TABLE raw.histories (
    history_id VARCHAR NOT NULL,    -- one reading of a branch from its beginning
    repository VARCHAR NOT NULL,    -- the repository, as a path relative to the warehouse
    branch VARCHAR NOT NULL,        -- the branch, followed by first parents
    path VARCHAR NOT NULL,          -- the file or folder that was asked for; '': all of it
    since TIMESTAMP,                -- where it begins, UTC; NULL: with the first commit
    authors BOOLEAN NOT NULL,       -- whether names and addresses of authors are kept
    reading_version INTEGER NOT NULL, -- version of the reading code; a new one reads from the beginning
    begun_at TIMESTAMP NOT NULL     -- when the reading began, UTC
);

CREATE TABLE raw.commits (
    history_id VARCHAR NOT NULL,    -- the history
    number INTEGER NOT NULL,        -- 1, 2, ...: its place in it, the oldest first; 0: what there was before `since`
    commit_id VARCHAR NOT NULL,     -- as git names it, whole
    parent_id VARCHAR,              -- its first parent; NULL: it has none
    parents INTEGER NOT NULL,       -- how many parents it has: 2 and more are a merge
    authored_at TIMESTAMP NOT NULL, -- author's date, UTC
    committed_at TIMESTAMP NOT NULL, -- committer's date, UTC
    author VARCHAR NOT NULL,        -- digest of name and address; with --authors the two as they are
    message VARCHAR NOT NULL,       -- first line of the message, secrets taken out
    read_at TIMESTAMP NOT NULL      -- when it was read in, UTC
);

CREATE TABLE raw.revisions (
    history_id VARCHAR NOT NULL,    -- the history
    number INTEGER NOT NULL,        -- the commit
    document_id VARCHAR NOT NULL,   -- the document, whatever it is called
    uri VARCHAR NOT NULL,           -- its path relative to the warehouse
    renamed_from VARCHAR,           -- what it was called before this commit, if it was renamed
    kind VARCHAR NOT NULL,          -- added, changed, renamed, removed
    blob VARCHAR,                   -- its content, as git names it; NULL: it was removed
    row_ids VARCHAR[] NOT NULL,     -- its rows in their order
    lines BIGINT[] NOT NULL         -- where each of them stands, from 1
);

CREATE TABLE raw.row_changes (
    history_id VARCHAR NOT NULL,    -- the history
    number INTEGER NOT NULL,        -- the commit
    document_id VARCHAR NOT NULL,   -- the document
    row_id VARCHAR NOT NULL,        -- the row, whatever it says and wherever it stands
    run_id VARCHAR NOT NULL,        -- the run that this text gives
    kind VARCHAR NOT NULL,          -- added, changed, removed, returned (it was removed before)
    line BIGINT NOT NULL,           -- its line at this commit, from 1; of a removed one the last
    section VARCHAR NOT NULL,       -- the headings above its table
    settings MAP(VARCHAR, VARCHAR), -- what configures it, by column
    printed MAP(VARCHAR, VARCHAR),  -- what was measured, as written
    numbers MAP(VARCHAR, DOUBLE)    -- the same as numbers, in the unit of each
);
