-- Facts with dates that close findings: what was closed at an earlier time is judged by them.
CREATE TABLE raw.closings (
    load_id VARCHAR NOT NULL,       -- the load that was audited
    audit_id VARCHAR NOT NULL,      -- the audit
    number INTEGER NOT NULL,        -- the finding, as the audit counts them
    place INTEGER NOT NULL,         -- the fact, from 1: of those in force the first closes
    reason VARCHAR NOT NULL,        -- why it is closed, who says so and when
    known_since DATE,               -- from when the fact is known; NULL: from the audit on
    withdrawn_on DATE               -- when it was taken back; NULL: it stands
);
