"""What `--set` tells of sources: stored as told, the newest of each source and column counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from .migrate import now_utc
from .user_facts import SET, Match, UserFact
from .warehouse import Warehouse, transaction

Told = Mapping[str, str | None]  # column -> value; None takes back what was told

_NEWEST = """SELECT source_id, field, value, told_at FROM raw.told
    QUALIFY row_number() OVER (PARTITION BY source_id, field ORDER BY told_at DESC, value) = 1
    ORDER BY source_id, field"""


def told_facts(warehouse: Warehouse) -> tuple[UserFact, ...]:
    """What counts of all that was told, as facts about sources."""
    return tuple(
        UserFact(
            Match(source=source), field, value, "told with --set", "", at.date(), "--set",
            origin=SET,
        )
        for source, field, value, at in warehouse.rows(_NEWEST)
        if value is not None
    )  # fmt: skip


def untold(warehouse: Warehouse, uris: Sequence[str], told: Told) -> list[tuple[str, str]]:
    """Source and column of what these sources were not told yet, in this very word."""
    known = {(source, field): value for source, field, value, _ in warehouse.rows(_NEWEST)}
    wanted = set(uris)
    query = "SELECT source_id, uris FROM sources WHERE kind <> 'companion' ORDER BY source_id"
    sources = [source for source, names in warehouse.rows(query) if not wanted.isdisjoint(names)]
    return [
        (source, field)
        for source in sources
        for field, value in told.items()
        if known.get((source, field)) != value
    ]


def tell(warehouse: Warehouse, uris: Sequence[str], told: Told) -> None:
    """Store what is told of the sources at these paths, in place of what was told before."""
    rows = untold(warehouse, uris, told)
    if not rows:
        return
    with transaction(warehouse):
        [(last,)] = warehouse.rows("SELECT max(told_at) FROM raw.told")
        # Later than all before, whatever the clock says.
        at = now_utc() if last is None else max(now_utc(), last + timedelta(microseconds=1))
        warehouse.con.executemany(
            "INSERT INTO raw.told VALUES (?, ?, ?, ?)",
            [[source, field, told[field], at] for source, field in rows],
        )
