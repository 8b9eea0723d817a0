"""The rows that pages show of many thousand runs, selected in SQL.

SQL selects the configurations and curves that may come first; their numbers are computed from
their runs, by `ranking` and `curves_among`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..schema.warehouse import Row, Warehouse
from .budget import Budget
from .eligible import doubts_near, fill
from .rows import CONFIGURATION, THREADS, load, name_systems, read_own, statements, worked_out
from .scaling_curves import FREE, Candidate, curves_of
from .selection import show_every

# What may differ in a curve, or is compared apart.
_FREE = frozenset((*FREE, "size", "model", "gbs", "device_batch", "procs_per_node"))
# What a curve of each kind needs, and the batch that its runs have in common.
_KINDS = {
    "strong": ("batch <> 0", "batch"),
    "weak": ("known AND device_count <> 0", "device_batch, nullif(batch, 0) / device_count"),
    "unknown": ("NOT known", "device_batch, batch"),
}


class PageRows:
    """The runs of the temporary table `selected`."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self.configured = False
        self.own = read_own(warehouse, "selected")
        fill(warehouse, "settings_key", self.own.keys())
        weigh = statements()["weigh"].replace("{worked_out}", worked_out("selected"))
        warehouse.rows(weigh)

    @property
    def may_differ(self) -> bool:
        """Whether runs may differ in a flag or in the recompute."""
        query = "SELECT count(DISTINCT coalesce(recompute, '')) FROM weighed"
        return bool(self.own.env) or self.warehouse.rows(query)[0][0] > 1

    def fastest(self, most: int) -> tuple[list[Row], int]:
        """The runs of configurations that may be the first `most` of their model and system, and
        how many configurations there are in all."""
        self._configure()
        rows = self.warehouse.rows(statements()["fastest"], {"most": most})
        return self._load([run for run, _ in rows]), rows[0][1] if rows else 0

    def repeated(self, plan: Budget, limits: Sequence[tuple[float, float]]) -> list[Row]:
        """The runs of repeated configurations whose device-days may lie within limits."""
        self._configure()
        query = statements()["repeated"]
        parameters = [{"low": low, "high": high, **plan.parameters} for low, high in limits]
        return self._load(
            [run for values in parameters for (run,) in self.warehouse.rows(query, values)]
        )

    def _configure(self) -> None:
        if not self.configured:
            made = statements()
            query = made["configured"].replace("{identity}", made["identity"])
            self.warehouse.rows(query)
            self.configured = True

    def longest(self, most: int) -> list[Candidate] | None:
        """The curves that may be the `most` of most sizes, in their order; None where threads
        follow the ranks, which takes a look at each run."""
        if any(THREADS in (f"env {name}" for name in flags) for flags in self.own.env.values()):
            return None
        show_every(self.warehouse)
        fill(self.warehouse, "doubted", doubts_near(self.warehouse))
        made = statements()
        sound = made["sound"].replace("({worked_out})", "weighed").replace("{here}", "weighed")
        columns = ", ".join(name for name in CONFIGURATION if name not in _FREE)
        scaled = made["scaled"].replace("{sound}", sound).replace("{columns}", columns)
        self.warehouse.rows(scaled)
        longest = made["longest"].replace("{kinds}", " UNION ALL ".join(_kinds()))
        found = self.warehouse.rows(longest, {"most": most})
        rows = {row["run"]: row for row in self._load([run for _, _, run in found])}
        place = {run: at for at, run in enumerate(rows)}
        sets: dict[tuple[int, str], list[str]] = {}
        for kind, number, run in found:
            sets.setdefault((number, kind), []).append(run)
        return [
            curve
            for (_, kind), runs in sets.items()
            for curve in curves_of(kind, [rows[run] for run in sorted(runs, key=place.__getitem__)])
        ]

    def _load(self, runs: list[str]) -> list[Row]:
        if not runs:
            return []
        query = "CREATE OR REPLACE TEMP TABLE few AS SELECT DISTINCT unnest(?::VARCHAR[]) AS run_id"
        self.warehouse.rows(query, [runs])
        name_systems(self.warehouse, "selected")  # others may have named those of fewer runs
        return load(self.warehouse, "(FROM selected SEMI JOIN few USING (run_id))", self.own)


def _kinds() -> Iterator[str]:
    """A query of the sets of each kind."""
    for kind, (where, batch) in _KINDS.items():
        slots = {"kind": f"'{kind}'", "where": where, "batch": batch}
        part = statements()["scaling_set"]
        for name, text in slots.items():
            part = part.replace(f"{{{name}}}", text)
        yield part
