"""What questions are answered from: the selected runs, their budget and the sources' lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..reports.selection import Selection, select
from ..reports.short import Names
from ..schema.held import OF_SOURCES, hold_if_small
from ..schema.warehouse import Warehouse
from .budget import Plan, plan_of
from .case import Case
from .found import Version
from .lines import Lines

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class World:
    """A warehouse with its runs selected."""

    warehouse: Warehouse
    lines: Lines
    plan: Plan
    names: Names
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What many questions ask alike: made for the first of them."""
        if name not in self.kept:
            self.kept[name] = make()
        found: T = self.kept[name]
        return found

    def cases(self, condition: str = "true", *values: object) -> Iterator[Case]:
        """The selected runs for which a condition in our own SQL holds."""
        query = f"SELECT * FROM selected WHERE {condition} ORDER BY uri, line, run_id"
        for row in self.warehouse.dicts(query, list(values)):
            yield Case(self.warehouse, self.lines, row)

    def where(self, uri: str, line: int | None, *more: object) -> str:
        """A place as `bench explain` takes it: 001:29, 001:29.days, 001:29:45."""
        return ":".join(
            str(part) for part in (self.names.short(uri), line, *more) if part is not None
        )

    def versions(self, uris: Iterable[str]) -> Iterator[Version]:
        """What was read of sources, and by which version."""
        query = (
            "SELECT generation, sha256, parser_version FROM sources WHERE list_contains(uris, ?)"
        )
        for uri in sorted(set(uris)):
            for generation, sha256, version in self.warehouse.rows(query, [uri]):
                yield Version(uri, generation, sha256, version, self.lines.state(uri))


def world(
    warehouse: Warehouse,
    root: Path,
    model: str | None = None,
    tokens: int | None = None,
    steps: int | None = None,
) -> World:
    """Select the runs and find their budget; sources lie below `root`."""
    select(warehouse, Selection(model))
    hold_if_small(warehouse, *OF_SOURCES)
    lines = Lines(warehouse, root)
    names = Names(uri for (uri,) in warehouse.rows("SELECT uri FROM sources"))
    return World(warehouse, lines, plan_of(warehouse, lines, tokens, steps), names)
