"""R5b and R5c: memory against the model and the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from ..book import Book, Row
from ..finding import Finding
from ..memory import capacity, gigabytes, ratio, states
from ..rule import Rule

_UNUSUAL = 1.35
_ABSURD = 20.0
_NEARLY = 0.85  # activations and the allocator take the rest
_ROUNDING = 1.02  # a GB of 2**30 bytes, and what the driver leaves


def check(book: Book) -> Iterator[Finding]:
    """Rows with more memory than the device has, or far from what the like take."""
    doubted = book.doubted()
    for document in book.documents:
        for table in document.tables:
            alike = _alike(table.rows)
            yield from _explained(table.rows)
            units = _units(table.rows)
            for row in table.rows:
                have = gigabytes(row)
                if not have or row.misfits:
                    continue
                limit = capacity(row)
                if limit and have > limit * _ROUNDING:
                    yield Finding(
                        ("R5c",),
                        "error",
                        "high",
                        "more memory than the device has",
                        f"{_raw(row)} on a device with {limit:.0f} GB ({row.device})",
                        (row.at("mem"),),
                    )
                elif row.memory and units and row.memory.unit != units[0] and far(have, units[1]):
                    yield Finding(
                        ("R5b",),
                        "error",
                        "high",
                        "memory in another unit than the column's",
                        f"{_raw(row)}, the other rows are around {units[1]:.3g} GB, in {units[0]}",
                        (row.at("mem"),),
                        f"Mem {row.memory.value:g}{units[0]}",
                    )
                elif (row.uri, row.line) not in doubted:
                    yield from _unusual(row, _like(row, alike))


def _explained(rows: Sequence[Row]) -> Iterator[Finding]:
    """Rows that ran out of memory, as the states of the model alone say they must."""
    found = [
        (row, need, limit)
        for row in rows
        if row.status == "oom" and (need := states(row)) and (limit := capacity(row))
        and need > limit * _NEARLY
    ]  # fmt: skip
    if found:
        yield Finding(
            ("R5b",),
            "note",
            "high",
            "out of memory, as the model's states say",
            "; ".join(
                f"l.{row.line} needs {need:.0f} GB for weights, gradients and optimizer alone, "
                f"the device has {limit:.0f}"
                for row, need, limit in found
            ),
            tuple(row.at("mem") for row, _, _ in found),
        )


Like = dict[tuple[object, ...], list[tuple[str, float]]]


def far(value: float, middle: float) -> bool:
    """Whether a value is of another order than a column."""
    return not 1 / _ABSURD < value / middle < _ABSURD


def _units(rows: Sequence[Row]) -> tuple[str, float] | None:
    """The unit of most rows and their median in GB."""
    count = Counter(row.memory.unit for row in rows if row.memory)
    if sum(count.values()) < 3 or len(count) < 2:
        return None
    unit, number = count.most_common(1)[0]
    values = [
        one for row in rows if row.memory and row.memory.unit == unit and (one := gigabytes(row))
    ]
    return (unit, median(values)) if 2 * number > sum(count.values()) and values else None


def _alike(rows: Sequence[Row]) -> Like:
    found: Like = {}
    for row in rows:
        if one := ratio(row):
            found.setdefault(_key(row), []).append((row.run_id, one))
    return found


def _key(row: Row) -> tuple[object, ...]:
    return (row.params_b, row.layers, row.dp, row.tp, row.pp, row.zero_stage)


def _like(row: Row, alike: Like) -> float | None:
    """The usual ratio of the rows with the same DP, TP and PP, where there are three others."""
    found = [one for run_id, one in alike.get(_key(row), ()) if run_id != row.run_id]
    return median(found) if len(found) >= 3 else None


def _unusual(row: Row, middle: float | None) -> Iterator[Finding]:
    found = ratio(row)
    off = max(found / middle, middle / found) if found and middle else 1.0
    if found and off > _UNUSUAL:
        yield Finding(
            ("R5b",),
            "error" if off > _ABSURD else "warning",
            "high" if off > _ABSURD else "low",
            "memory is far from what rows like it take",
            f"{_raw(row)} is {found:.3g} times what the memory model says; rows with its DP, TP "
            f"and PP have {middle:.3g}",
            (row.at("mem"),),
        )


def _raw(row: Row) -> str:
    return row.memory.raw if row.memory else ""


RULE = Rule(
    "R5b",
    81,
    "Memory against model and device",
    "printed memory over that of a plain model (states, activations, logits) is alike in the rows "
    "of a table with its DP, TP and PP; "
    "it fits into the device (R5c)",
    "three other rows with its DP, TP and PP; 1.35 times off their median is a warning, 20 times "
    "(a wrong unit) an error; "
    "2% above the stated size of the device is an error",
    "error",
    check,
)
