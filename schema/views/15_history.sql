-- What git keeps of documents; of each document the history that was read last.

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

-- row_versions: what a row of a document said, from which commit to which.
-- row_versions.uri: the document at that commit
-- row_versions.commit_id: the commit, as git names it
-- row_versions.valid_from: its committer's date, UTC
-- row_versions.valid_to: that of the next change of the row; NULL: it still says so
-- row_versions.until: the commit of that change
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
