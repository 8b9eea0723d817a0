"""Overrides of sources by `--set`, stored as text: the newest of each source and field counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from .annotation import SET, Annotation, Match
from .migrate import now_utc
from .warehouse import Warehouse, transaction

Overrides = Mapping[str, str | None]  # field -> value; None withdraws an override

_NEWEST = """SELECT source_id, field, value, told_at FROM raw.told
    QUALIFY row_number() OVER (PARTITION BY source_id, field ORDER BY told_at DESC, value) = 1
    ORDER BY source_id, field"""


def document_overrides(warehouse: Warehouse) -> tuple[Annotation, ...]:
    """The overrides of documents, on which their audit depends."""
    newest = warehouse.rows(_NEWEST)
    logs = {source for (source,) in warehouse.rows(
        "SELECT source_id FROM sources WHERE kind = 'log'"
    )} if newest else set()  # fmt: skip
    return tuple(
        Annotation(Match(source=source), field, value, "given with --set", "", at.date(), "--set",
                   origin=SET)
        for source, field, value, at in newest
        if value is not None and source not in logs
    )  # fmt: skip


def missing_overrides(
    warehouse: Warehouse, uris: Sequence[str], overrides: Overrides
) -> list[tuple[str, str]]:
    """Source and field of overrides that these sources lack, compared as text."""
    if not overrides:
        return []
    known = {(source, field): value for source, field, value, _ in warehouse.rows(_NEWEST)}
    wanted = set(uris)
    query = "SELECT source_id, uris FROM sources WHERE kind <> 'companion' ORDER BY source_id"
    sources = [source for source, names in warehouse.rows(query) if not wanted.isdisjoint(names)]
    return [
        (source, field)
        for source in sources
        for field, value in overrides.items()
        if known.get((source, field)) != value
    ]


def store_overrides(warehouse: Warehouse, uris: Sequence[str], overrides: Overrides) -> None:
    """Store overrides of the sources at these paths, in place of earlier ones."""
    rows = missing_overrides(warehouse, uris, overrides)
    if not rows:
        return
    with transaction(warehouse):
        [(last,)] = warehouse.rows("SELECT max(told_at) FROM raw.told")
        # Later than all before, whatever the clock shows.
        at = now_utc() if last is None else max(now_utc(), last + timedelta(microseconds=1))
        warehouse.con.executemany(
            "INSERT INTO raw.told VALUES (?, ?, ?, ?)",
            [[source, field, overrides[field], at] for source, field in rows],
        )
