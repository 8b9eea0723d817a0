-- No facts: what the file system says of a file whose bytes were read, so that they need not be read again.
CREATE TABLE raw.stamps (
    uri VARCHAR NOT NULL,           -- the file
    sha256 VARCHAR NOT NULL,        -- of its bytes
    inode UBIGINT NOT NULL,         -- number of the file on its file system
    bytes BIGINT NOT NULL,          -- size of the file in bytes
    modified_ns BIGINT NOT NULL,    -- last change of its bytes (mtime), ns since 1970
    changed_ns BIGINT NOT NULL,     -- last change of its bytes, name or rights (ctime), ns since 1970
    seen_ns BIGINT NOT NULL         -- when this was looked up, before its bytes were read, ns since 1970
);
