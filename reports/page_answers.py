"""Computed parts of a page: the ranking, effects, scaling, missing step times.

`-- computed: NAME NAME` in the head of `queries/REPORT.sql` requests them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..decide.answers import curves, effects, summaries
from ..decide.best import best
from ..decide.budget import Budget
from ..decide.eligible import Candidates, candidates
from ..decide.page_rows import PageRows
from ..decide.query import Query
from ..decide.ranking import ranking, with_ties
from ..project.short_names import ShortNames
from ..schema.warehouse import Warehouse

_MOST = 4  # sentences on effects, and on scaling
FEW = (
    500  # runs, up to which each is loaded once for all parts: SQL would take longer to choose some
)


@dataclass(frozen=True)
class PageRuns:
    """The runs of a page (the temporary table `selected`), its query, and limits of rows."""

    warehouse: Warehouse
    query: Query
    plan: Budget
    names: ShortNames
    most: int

    @cached_property
    def chosen(self) -> Candidates:
        """The runs of the page, as candidates for decisions."""
        return candidates(self.warehouse, self.query)

    @cached_property
    def few(self) -> bool:
        """Whether each part looks at all runs."""
        [(runs,)] = self.warehouse.rows("SELECT count(*) FROM selected")
        return not self.most or int(runs) <= FEW

    @cached_property
    def reduced(self) -> PageRows:
        """The same runs, reduced to those that the page shows."""
        return PageRows(self.warehouse)

    def ranked(self) -> list[dict[str, Any]]:
        """The configurations, the fastest first, with days."""
        if self.few:
            found = ranking(self.chosen.rows, self.plan, self.most)
            if any(row["jobs"] > 1 for row in found):
                eligible, spreads = self.chosen.eligible("tokens_per_s"), self.chosen.spreads
                with_ties(found, best(eligible, "tokens_per_s", self.plan, spreads).rows)
            return found
        rows, timed = self.reduced.fastest(self.most)
        return ranking(rows, self.plan, self.most, timed)

    def effects(self) -> list[str]:
        """The effects of each flag and of recompute, a sentence each."""
        found = effects(self.chosen, ("framework",)) if self.few or self.reduced.may_differ else []
        return self._sentences("_effects.j2", {"decisions": found})

    def scaling(self) -> list[str]:
        """The scaling of each group of runs, a sentence each."""
        found = None if self.few else self.reduced.longest(_MOST)
        most = self.most and _MOST
        groups = curves(self.chosen, most) if found is None else summaries(found, most)
        if self.most:
            groups = groups[:_MOST]
        return self._sentences("_scaling.j2", {"groups": groups}, _MOST + 1)

    def seconds(self) -> dict[str, float]:
        """Step times implied by printed TFLOPs, by run id, for runs that state none."""
        return implied_seconds(self.warehouse)

    def _sentences(self, template: str, context: Mapping[str, Any], most: int = _MOST) -> list[str]:
        from .computed.sentences import part_sentences

        found = part_sentences(self.names, template, context)
        return found[:most] if self.most else found


def implied_seconds(warehouse: Warehouse) -> dict[str, float]:
    """The same for the runs in the temporary table `selected`."""
    lacking = """SELECT DISTINCT uri FROM selected WHERE step_time_s IS NULL
                 AND tokens_per_s IS NULL AND tflops IS NOT NULL AND left_out IS NULL
                 AND origin = 'row'"""
    uris = [uri for (uri,) in warehouse.rows(lacking)]
    if not uris:
        return {}
    from ..audit.restate import implied_times  # slow import, rarely needed

    return implied_times(warehouse, uris)


COMPUTED: Mapping[str, Callable[[PageRuns], Any]] = {
    "ranked": PageRuns.ranked,
    "effects": PageRuns.effects,
    "scaling": PageRuns.scaling,
    "seconds": PageRuns.seconds,
}
