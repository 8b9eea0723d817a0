"""The rule for the statistics of logs, from run_stats.sql."""

from __future__ import annotations

from .sql import sql_file

_JUDGED = """), judged AS (
    SELECT g.* EXCLUDE (grade), j.now AS grade, j.least FROM graded g JOIN grades j
        ON j.run_id = g.run_id AND j.before = g.grade AND j.gbs IS NOT DISTINCT FROM g.gbs
)"""


def judged_intervals() -> str:
    """The WITH clause up to `judged`: the intervals of $load_ids with their grade.

    Grade 1 is used, 2 contains an evaluation or a save, 3 is warm-up, 4 has another batch; a run's
    statistics use its lowest grade, its `least`.
    """
    text = sql_file("run_stats")
    return text[text.index("WITH requested") : text.index("), long AS")] + _JUDGED
