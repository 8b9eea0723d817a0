-- Annotations that counted at a time: without those known only later, with those withdrawn later.
-- A field of a run without such annotations keeps what counts now.
WITH known AS (
    SELECT a.*, k.precedence, coalesce(outcome IN ('withdrawn', 'superseded') AND withdrawn_on > $at::DATE, false) AS stands_again,
        coalesce(known_since > $at::DATE, false) AS comes_later,
        -- An annotation replaced later counted before its replacement.
        CASE outcome WHEN 'superseded' THEN withdrawn_on END AS replaced,
        CASE WHEN outcome IN ('agrees', 'contradicts', 'withdrawn') THEN stated END AS by_source,
        -- An annotation from a record is one of several, of which the strongest counts.
        bool_or(stands_again OR comes_later) OVER (PARTITION BY run_id, field) AS is_other
    FROM main.annotations a JOIN source_kinds k ON k.kind = a.origin
), judged AS (
    SELECT *, first_value(value) OVER strongest AS counting, row_number() OVER strongest AS place
    FROM known WHERE is_other AND NOT comes_later AND (outcome NOT IN ('withdrawn', 'superseded') OR stands_again)
    WINDOW strongest AS (PARTITION BY run_id, field ORDER BY precedence, replaced, file, line, value)
)
SELECT * EXCLUDE (precedence, stands_again, comes_later, replaced, by_source, is_other)
FROM known WHERE NOT is_other OR (outcome IN ('withdrawn', 'superseded') AND NOT stands_again AND NOT comes_later)
UNION ALL BY NAME
SELECT * EXCLUDE (precedence, stands_again, comes_later, replaced, by_source, is_other, counting, place)
    REPLACE (CASE WHEN field = 'boundary' OR by_source IS NULL AND place = 1 THEN 'counts'
            WHEN by_source IS NULL THEN 'outvoted'
            WHEN says_the_same(field, by_source, value) THEN 'agrees' ELSE 'contradicts' END AS outcome,
        CASE WHEN field <> 'boundary' AND (by_source IS NOT NULL OR place > 1) THEN coalesce(by_source, counting) END AS stated)
FROM judged WHERE field = 'boundary' OR by_source IS NOT NULL OR place = 1 OR NOT says_the_same(field, counting, value)
