-- From when to when what people state is known, and whose warehouses and records were merged in.
ALTER TABLE raw.facts ADD COLUMN known_since DATE; -- of an annotation, from when it is known; NULL: from when it was read in
ALTER TABLE raw.facts ADD COLUMN withdrawn_on DATE; -- of an annotation, when it was taken back; NULL: it stands

CREATE TABLE raw.merges (
    group_name VARCHAR NOT NULL,    -- what stands in front of the names of its sources
    merged_at TIMESTAMP NOT NULL    -- when something of it was merged in first, UTC
);
