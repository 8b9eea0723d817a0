"""Which rows speak of the same model, configuration or measurement."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache
from operator import attrgetter

from .book import Row

CONFIGURATION = (
    "nodes",
    "devices",
    "ranks",
    "procs_per_node",
    "dp",
    "tp",
    "pp",
    "cp",
    "ep",
    "vpp",
    "mbs",
    "gbs",
    "grad_accum",
    "zero_stage",
    "seq_len",
    "layers",
    "hidden",
    "heads",
    "recompute",
    "device",
    "dtype",
    "framework",
    "env",
    "words",
)


def model(row: Row) -> Hashable:
    """The model, as far as the row says."""
    return (row.params_b, row.model if row.params_b is None else None, row.layers, row.hidden)


def named(row: Row) -> bool:
    """Whether the row says which model it is."""
    return row.params_b is not None or row.model is not None or row.layers is not None


def configuration(row: Row, *without: str) -> Hashable:
    """All that a row says of its set-up, but for the fields named."""
    return (model(row), _fields(without)(row))


@cache
def _fields(without: tuple[str, ...]) -> attrgetter[tuple[Hashable, ...]]:
    return attrgetter(*(name for name in CONFIGURATION if name not in without))


def groups(rows: Iterable[Row], *without: str) -> list[list[Row]]:
    """Rows of one set-up but for the fields named, in their order; those with company only."""
    return [group for group in _grouped(rows, *without) if len(group) > 1]


def _grouped(rows: Iterable[Row], *without: str) -> list[list[Row]]:
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(configuration(row, *without), []).append(row)
    return list(found.values())


def same_digits(first: Row, second: Row) -> bool:
    """Whether two rows print the same numbers."""
    if first.printed.keys() != second.printed.keys():
        return False
    return all(number.value == second.printed[name].value for name, number in first.printed.items())


__all__ = ["configuration", "groups", "model", "named", "same_digits"]
