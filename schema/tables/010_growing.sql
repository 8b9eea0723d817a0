-- Logs that grow: the rows that no later line changes are stored once, part by part.
CREATE TABLE raw.parts (
    load_id VARCHAR NOT NULL,       -- the load that shows this part, and those of its chain before it
    chain_id VARCHAR NOT NULL,      -- the load that began to read the log from its first line
    number INTEGER NOT NULL,        -- 1, 2, ...: place in the chain
    part_id VARCHAR NOT NULL,       -- the rows of the part have it as their load_id
    from_byte BIGINT NOT NULL,      -- where reading went on, counted from 0
    to_byte BIGINT NOT NULL         -- behind the last whole line: where it goes on when the log grows
);

-- No facts: how far a reader has come, kept for the newest load of a chain only.
CREATE TABLE raw.checkpoints (
    load_id VARCHAR NOT NULL,       -- the load behind which the reader goes on
    state BLOB NOT NULL             -- what it knows there: packed JSON
);
