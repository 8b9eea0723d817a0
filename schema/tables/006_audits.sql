-- What the audit has looked at, and what users state beside the sources. Insert-only: the newest
-- audit of a load and the newest set of facts count.
CREATE TABLE raw.audits (
    load_id VARCHAR NOT NULL,       -- the load that was audited
    audit_id VARCHAR NOT NULL,      -- the audit
    rules_version INTEGER NOT NULL, -- version of the rules
    facts VARCHAR NOT NULL,         -- digest of the user's facts in force
    made_at TIMESTAMP NOT NULL      -- time of the audit, UTC
);

ALTER TABLE raw.findings ADD COLUMN audit_id VARCHAR; -- the audit that made it
ALTER TABLE raw.findings ADD COLUMN number INTEGER; -- findings of an audit count from 1; a finding has a row for each doubted cell
ALTER TABLE raw.findings ADD COLUMN rules VARCHAR[]; -- every rule that it comes from, the first in order first
ALTER TABLE raw.findings ADD COLUMN confidence VARCHAR; -- high, medium, low
ALTER TABLE raw.findings ADD COLUMN name VARCHAR; -- our name of the doubted column; '': the whole line
ALTER TABLE raw.findings ADD COLUMN closed VARCHAR; -- why a person has closed it; '': it is open

CREATE TABLE raw.fact_sets (
    set_id VARCHAR NOT NULL,        -- digest of what the user's files of facts say
    made_at TIMESTAMP NOT NULL      -- time when they were read, UTC
);

CREATE TABLE raw.user_facts (
    set_id VARCHAR NOT NULL,        -- the set it belongs to
    run_id VARCHAR NOT NULL,        -- the run it is about
    field VARCHAR NOT NULL,         -- the column it states, or boundary
    value VARCHAR NOT NULL,         -- as text
    file VARCHAR NOT NULL,          -- the file of facts
    line BIGINT NOT NULL,           -- its line, from 1
    reason VARCHAR NOT NULL,        -- why
    author VARCHAR NOT NULL,        -- who says so
    stated_on DATE NOT NULL         -- when
);
