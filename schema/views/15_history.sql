-- The git history of documents; of each document the history that was read last.

-- document_histories: the history that counts for each document.
-- document_histories.history_id: one reading of a branch
-- document_histories.document_id: the document, whatever it is called
CREATE OR REPLACE VIEW document_histories AS
SELECT history_id, document_id FROM (
    SELECT history_id, document_id, uri FROM raw.revisions
    QUALIFY row_number() OVER (PARTITION BY history_id, document_id ORDER BY number DESC) = 1)
JOIN raw.histories USING (history_id)
QUALIFY history_id = first_value(history_id) OVER (PARTITION BY uri ORDER BY begun_at DESC, history_id);

-- commits: commits that touched documents, of every history.
-- commits.repository: the repository, as a path relative to the warehouse
-- commits.branch: the branch
CREATE OR REPLACE VIEW commits AS
SELECT h.repository, h.branch, c.* FROM raw.commits c JOIN raw.histories h USING (history_id);

-- revisions: what a commit did to a document.
-- revisions.commit_id: the commit, as git names it
-- revisions.committed_at: committer's date, UTC
CREATE OR REPLACE VIEW revisions AS
SELECT r.*, c.commit_id, c.committed_at FROM raw.revisions r
SEMI JOIN document_histories d ON d.history_id = r.history_id AND d.document_id = r.document_id
JOIN raw.commits c ON c.history_id = r.history_id AND c.number = r.number;

-- row_versions: the content of a row of a document, from which commit to which.
-- row_versions.uri: the document at that commit
-- row_versions.commit_id: the commit, as git names it
-- row_versions.valid_from: its committer's date, UTC
-- row_versions.valid_to: that of the next change of the row; NULL: it is unchanged
-- row_versions.until: the commit of that change
-- row_versions.history_id: the history
-- row_versions.document_id: the document, whatever it is called
-- row_versions.row_id: the row, in all its versions and places
-- row_versions.number: the commit, by its place in the history
-- row_versions.section: the headings above its table
-- row_versions.message: first line of the commit's message
-- row_versions.run_id: the run that this text gives
-- row_versions.kind: added, changed, removed, returned (it was removed before)
-- row_versions.line: its line at this commit, from 1; of a removed one the last
-- row_versions.settings: its configuration, by column
-- row_versions.printed: its results, as written
-- row_versions.numbers: the same as numbers, in the unit of each
-- row_versions.next_number: the next commit that changed the row; NULL: none did
-- row_versions.authored_at: author's date, UTC
-- row_versions.author: digest of name and address; with --authors the two as they are
CREATE OR REPLACE VIEW row_versions AS
SELECT v.*, c.commit_id, c.committed_at AS valid_from, c.authored_at, c.author, c.message, e.commit_id AS until, e.committed_at AS valid_to
FROM (
    SELECT r.*, lead(r.number) OVER (PARTITION BY r.history_id, r.row_id ORDER BY r.number) AS next_number, s.uri
    FROM raw.row_changes r
    SEMI JOIN document_histories d ON d.history_id = r.history_id AND d.document_id = r.document_id
    JOIN raw.revisions s ON s.history_id = r.history_id AND s.number = r.number AND s.document_id = r.document_id
) v
JOIN raw.commits c ON c.history_id = v.history_id AND c.number = v.number
LEFT JOIN raw.commits e ON e.history_id = v.history_id AND e.number = v.next_number;

-- number_changes: the changes of each number of a row between two of its versions.
-- number_changes.uri: the document as it is called now, or was when the row went
-- number_changes.line: the line of the row now, or its last one, from 1
-- number_changes.name: the metric, or the heading of a column
-- number_changes.old: as written before; NULL: it was not there
-- number_changes.new: as written since; NULL: it is not there any more
-- number_changes.old_value: in the unit of the metric
-- number_changes.new_value: in the unit of the metric
-- number_changes.is_same_setting: whether the configuration of the row is the one before
-- number_changes.history_id: the history
-- number_changes.document_id: the document, whatever it is called
-- number_changes.row_id: the row, in all its versions and places
-- number_changes.number: the commit, by its place in the history
-- number_changes.section: the headings above its table
-- number_changes.message: first line of the commit's message
-- number_changes.kind: changed, or returned: it was removed before
-- number_changes.settings: the configuration of the row since
-- number_changes.commit_id: the commit, as git names it
-- number_changes.valid_from: its committer's date, UTC
CREATE OR REPLACE VIEW number_changes AS
WITH stands AS (
    SELECT history_id, document_id, uri, unnest(row_ids) AS row_id, unnest(lines) AS line FROM (
        SELECT * FROM revisions QUALIFY row_number() OVER (PARTITION BY history_id, document_id ORDER BY number DESC) = 1)
    WHERE kind <> 'removed'
), pairs AS (
    SELECT *, lag(settings) OVER w AS old_settings, lag(printed) OVER w AS old_printed, lag(numbers) OVER w AS old_numbers
    FROM row_versions WINDOW w AS (PARTITION BY history_id, row_id ORDER BY number)
), named AS (
    SELECT *, unnest(list_distinct(list_concat(map_keys(printed), map_keys(old_printed)))) AS name
    FROM pairs WHERE kind IN ('changed', 'returned')
)
SELECT n.history_id, n.document_id, n.row_id, n.number, n.kind, coalesce(s.uri, n.uri) AS uri, coalesce(s.line, n.line) AS line,
    n.section, n.name, n.old_printed[n.name] AS old, n.printed[n.name] AS new, n.old_numbers[n.name] AS old_value,
    n.numbers[n.name] AS new_value, n.settings = n.old_settings AS is_same_setting, n.settings, n.commit_id, n.valid_from, n.message
FROM named n LEFT JOIN stands s ON s.history_id = n.history_id AND s.row_id = n.row_id
WHERE n.old_printed[n.name] IS DISTINCT FROM n.printed[n.name];
