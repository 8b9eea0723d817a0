"""R5c: rows at the edge of their device's memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from ..alike import configuration
from ..book import Book, Document, Row, Table
from ..finding import Finding
from ..memory import capacity_gib, gigabytes
from ..rule import Rule

_FULL, _ROOM = 0.95, 0.90
_ELSEWHERE = ("device", "env", "words")


def check(book: Book) -> Iterator[Finding]:
    """Devices that are all but full, and rows that ran out of memory with room left elsewhere."""
    for document in book.documents:
        yield from _full(document)
        yield from _roomy(document)


def _printed(row: Row) -> float | None:
    """Memory in GiB; a GB is taken as one, since tools that print it mostly mean so."""
    have = gigabytes(row)
    if have is None or row.memory is None:
        return None
    return row.memory.value if row.memory.unit in ("GB", "") else have / 1.073741824


def _cell(table: Table) -> str:
    return "mem" if "mem" in table.columns else "notes"


def _full(document: Document) -> Iterator[Finding]:
    found = [
        (row, have, limit, _cell(table))
        for table in document.tables
        for row in table.rows
        if (have := _printed(row))
        and (limit := capacity_gib(row))
        and _FULL * limit <= have <= limit
        and not row.misfits
    ]
    if found:
        yield Finding(
            ("R5c",),
            "note",
            "medium",
            "the device is all but full",
            ", ".join(
                f"l.{row.line} {have:.3g} of {limit:g} GB" for row, have, limit, _ in found[:12]
            )
            + (f" and {len(found) - 12} more" if len(found) > 12 else "")
            + ": a little more, such as fragmentation, is out of memory",
            tuple(row.at(cell) for row, _, _, cell in found),
        )


def _roomy(document: Document) -> Iterator[Finding]:
    """A set-up that ran out on a device, though a larger one had less in use than that."""
    failed = [row for row in document.rows if row.status == "oom" and capacity_gib(row)]
    if not failed:
        return
    used: dict[Hashable, list[tuple[Row, str]]] = {}
    for table in document.tables:
        for row in table.rows:
            if row.status == "ok" and _printed(row) and not row.misfits:
                key = configuration(row, *_ELSEWHERE)
                used.setdefault(key, []).append((row, _cell(table)))
    for row in failed:
        limit = capacity_gib(row) or 0.0
        for other, cell in used.get(configuration(row, *_ELSEWHERE), []):
            have = _printed(other) or 0.0
            if have < _ROOM * limit and (capacity_gib(other) or 0.0) > limit:
                yield Finding(
                    ("R5c",),
                    "warning",
                    "low",
                    "out of memory, though another device took less than this one has",
                    f"l.{other.line} takes {have:g} GB on {other.device}; {row.device} has "
                    f"{limit:g}",
                    (other.at(cell), row.at()),
                    "the printed memory may not be the peak of the fullest device",
                )
                break


RULE = Rule(
    "R5c",
    82,
    "Edge of the device",
    "memory is below the device's; what ran out of memory takes more than the device has on a "
    "larger one",
    "95% of the size in the device's name is a note; less than 90% of it on a larger device a "
    "warning, since a reading need not be the peak",
    "warning",
    check,
)
