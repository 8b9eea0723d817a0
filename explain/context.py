"""The context of an explanation: the selected runs, their budget and the sources' lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..decide.budget import Budget
from ..decide.budget_choice import by_model, planned
from ..decide.query import EVERYTHING, Query
from ..decide.selection import select
from ..project.short_names import ShortNames
from ..schema.materialized import OF_SOURCES, materialize_if_cheap
from ..schema.warehouse import Warehouse
from .run import Lines, RunContext, run_context
from .tree import Version

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExplainContext:
    """A warehouse with its runs selected."""

    warehouse: Warehouse
    lines: Lines
    budget: Budget
    names: ShortNames
    by_model: Mapping[float, Budget] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def cached(self, name: str, make: Callable[[], T]) -> T:
        """The cached result of `make` for this key."""
        if name not in self.kept:
            self.kept[name] = make()
        found: T = self.kept[name]
        return found

    def budget_of(self, row: Mapping[str, Any]) -> Budget:
        """The budget of a run: that of its model, as on the page of that model."""
        return self.by_model.get(row["params_b"], self.budget)

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """That of the runs selected, those of single models, and those of single documents."""
        known = (self.budget, *self.by_model.values())
        return tuple(dict.fromkeys((*known, *(one for budget in known for one in budget.others))))

    def runs(self, condition: str = "true", *values: object) -> Iterator[RunContext]:
        """The selected runs that satisfy a trusted SQL condition."""
        query = f"SELECT * FROM selected WHERE {condition} ORDER BY uri, line, run_id"
        for row in self.warehouse.dicts(query, list(values)):
            made = partial(RunContext, self.warehouse, self.lines, row)
            yield self.cached(f"run {row['run_id']}", made)

    def run(self, run_id: str) -> RunContext:
        """A run, cached; raises BenchError if it is not selected."""
        return self.cached(f"run {run_id}", lambda: run_context(self.warehouse, self.lines, run_id))

    def where(self, uri: str, line: int | None, *more: object) -> str:
        """A place in the syntax of `bench explain`: FILE:29, FILE:29.days, FILE:29:45."""
        return ":".join(
            str(part) for part in (self.names.short(uri), line, *more) if part is not None
        )

    def versions(self, uris: Iterable[str]) -> Iterator[Version]:
        """The digests of sources as read, and the version of the reading code."""
        query = (
            "SELECT generation, sha256, parser_version FROM sources WHERE list_contains(uris, ?)"
        )
        # The version that was read; the file may have changed since.
        for uri in sorted(set(uris)):
            for generation, sha256, version in self.warehouse.rows(query, [uri]):
                yield Version(uri, generation, sha256, version, self.lines.state(uri))


def explain_context(warehouse: Warehouse, root: Path, query: Query = EVERYTHING) -> ExplainContext:
    """Select the runs and find their budget; sources lie below `root`."""
    select(warehouse, query)
    budget, models = planned(warehouse, query), by_model(warehouse, query)
    # All runs of the model, whatever the query: a derivation may depend on any of them.
    if (query.where, query.document, query.since) != (None, None, None):
        select(warehouse, Query(model=query.model))
    materialize_if_cheap(warehouse, *OF_SOURCES)
    names = ShortNames.of(warehouse)
    return ExplainContext(warehouse, Lines(warehouse, root), budget, names, models)
