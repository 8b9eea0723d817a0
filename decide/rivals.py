"""Which runs may be ranked against each other: models of about one size, on one side of every
boundary."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable
from itertools import pairwise

from ..reports.short import Names
from .rows import Row, Rows

_MOST = 1.5  # models that differ more in size are not compared


def far_apart(found: Iterable[Row]) -> tuple[float, ...]:
    """The sizes, in parameters, at which another group of models begins: of each more than half as
    large again as the one before it. Empty where all are rivals."""
    known = sorted({size for row in found if (size := _parameters(row))})
    return tuple(large for small, large in pairwise(known) if large > _MOST * small)


def rivals(row: Row, apart: tuple[float, ...]) -> Hashable:
    """Equal for runs of one system, and of models of about one size where others are far apart;
    of models whose size nothing tells, for those of one label."""
    size = _parameters(row)
    of = bisect_right(apart, size) if size else row["model"]
    return (row["system"], of if apart or not size else None)


def labels_apart(found: Iterable[Row]) -> list[str]:
    """The labels of models that nothing tells the size of, where there are several."""
    labels = {row["model"] for row in found if row["model"] and not _parameters(row)}
    return sorted(labels) if len(labels) > 1 else []


def _parameters(row: Row) -> float | None:
    return row["params_stated"] or (row["params_b"] or 0) * 1e9 or row["params_computed"]


def of_one_epoch(rows: Rows) -> Rows:
    """Of the rivals in a document, or in logs, that stand on several sides of boundaries, those
    behind the last one; the others are left out."""
    apart = far_apart(rows.kept)
    last: dict[Hashable, tuple[tuple[bool, int, str], str]] = {}
    for row in rows.kept:
        if row["epoch"]:
            at = (_since(row), row["line"] if row["origin"] == "row" else 0, row["date"] or "")
            of = _drawn(row, apart)
            last[of] = max(last.get(of, (at, row["epoch"])), (at, row["epoch"]))
    kept: list[Row] = []
    left: list[Row] = []
    for row in rows.kept:
        known = last.get(_drawn(row, apart))
        if known is None or row["epoch"] in (None, known[1]):
            kept.append(row)
        else:
            left.append({**row, "left_out": f"other epoch ({row['epoch']})"})
    return Rows(tuple(kept), (*rows.left_out, *left))


def epoch_words(names: Names, rows: Rows) -> tuple[str, ...]:
    """Which side of the boundaries is ranked, and how to ask for another."""
    others = [row for row in rows.left_out if str(row["left_out"]).startswith("other epoch")]
    if not others:
        return ()
    sources = {row["uri"] for row in others}
    ranked = sorted(
        {
            f"{names.short(row['uri'])} {row['epoch']}" if row["origin"] == "row" else row["epoch"]
            for row in rows.kept
            if row["epoch"] and (row["uri"] in sources or row["origin"] == "log")
        }
    )
    return (
        f"A boundary lies between these runs, across which numbers do not compare: taken are those"
        f' of {", ".join(ranked)}; {len(others)} others are left out (--where "epoch ='
        f" '{others[0]['epoch']}'\" takes them).",
    )


def _since(row: Row) -> bool:
    return str(row["epoch"]).startswith("since ")


def _drawn(row: Row, apart: tuple[float, ...]) -> Hashable:
    """Equal for rivals that the same boundaries stand between."""
    return (row["uri"] if row["origin"] == "row" else None, rivals(row, apart))
