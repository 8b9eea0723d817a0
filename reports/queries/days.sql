-- Days to train a budget of tokens, fastest first. Reads the temporary table `selected`.
-- Parameters: $tokens, the budget, else NULL and $steps of each row; $most, the rows shown of each system (0: all).

-- computed: ranked
-- from model: boundaries annotations

-- name: left_out
-- Runs with a time that are excluded from rankings, each with its reasons; copies are told apart.
SELECT uri, line, left_out AS reason FROM selected
WHERE left_out IS NOT NULL AND left_out <> 'copy' AND kind = 'measured'
ORDER BY uri, line;
