"""The work of one sequence, from printed time and TFLOPs: constant for the rows of a model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from typing import NamedTuple

from ..vocabulary.experts import has_experts
from .formula_detection import testable, time_of
from .input import Row, Table
from .interval import Interval, largest_agreement
from .same_configuration import Texts, model, named, set_apart, texts_of


def work_of(row: Row) -> Interval:
    """TFLOP of one sequence, as printed."""
    assert row.tflops is not None and row.world and row.gbs
    # A node's TFLOPs are its processes' rounded value times their number, so its digits mislead.
    per_node = row.nodes and row.world > row.nodes and row.procs_stated
    units = row.nodes if per_node and row.nodes else row.world
    rate = row.tflops.rounded
    if per_node and row.nodes:
        slack = row.tflops.half * (row.world // row.nodes - 1)
        rate = Interval(max(0.0, rate.low - slack), rate.high + slack)
    return rate * time_of(row) * (units / row.gbs)


def usable(row: Row) -> bool:
    """Whether it prints everything needed to compute its work."""
    return bool(testable(row) and row.gbs and row.world and named(row))


def agrees(table: Table, row: Row) -> bool:
    """Whether two thirds of its model's rows in the table (at least three) have the same work."""
    found = _majority(table, row)
    return found is not None and id(row) in found.members


def share_of(table: Table, row: Row) -> Interval | None:
    """The work of a sequence that two thirds of its model's rows agree on."""
    found = _majority(table, row)
    return found.share if found else None


class Agreement(NamedTuple):
    """The rows of a model that agree: their identities, other cells and common work."""

    rows: Sequence[Row]
    members: Set[int]
    texts: Sequence[Texts]
    share: Interval


def _majority(table: Table, row: Row) -> Agreement | None:
    """The agreeing rows of its model, if two thirds agree and nothing sets the row apart."""
    if not usable(row):
        return None
    found: dict[Hashable, Agreement | None] | None = table.counted.get("majorities")
    if found is None:
        groups: dict[Hashable, list[Row]] = {}
        for other in filter(usable, table.rows):
            groups.setdefault(_key(other), []).append(other)
        found = {key: agreement(rows) for key, rows in groups.items()}
        table.counted["majorities"] = found
    main = found.get(_key(row))
    return None if main is None or set_apart(row, main.texts) else main


def agreement(rows: Sequence[Row]) -> Agreement | None:
    """The rows of the same work, if they are two thirds of three or more."""
    if len(rows) < 3:
        return None
    works = [work_of(row) for row in rows]
    places = largest_agreement(works)
    if 3 * len(places) < 2 * len(rows):
        return None
    main = [rows[place] for place in places]
    share = Interval(max(works[at].low for at in places), min(works[at].high for at in places))
    return Agreement(main, frozenset(map(id, main)), texts_of(main), share)


def _key(row: Row) -> Hashable:
    return (model(row), row.seq_len, row.recompute)


def token_share(row: Row) -> float | None:
    """TFLOPs over tokens per second of a device, as a multiple of 6 FLOP a parameter.

    None if the row does not print them, or for mixtures of experts.
    """
    rate, tokens = row.tflops, tokens_of(row)
    dense = (row.ep or 1) == 1 and not has_experts(row.model or "")
    if not (rate and rate.scope != "job" and tokens and row.params_b and dense) or row.invalid:
        return None
    return rate.value * 1e12 / tokens / (6e9 * row.params_b)


def tokens_of(row: Row) -> float | None:
    """Tokens a second and device, as printed."""
    each, total = row.printed.get("tokens_per_s_per_device"), row.printed.get("tokens_per_s")
    if each and each.value:
        return each.value
    known = total and total.value and (total.scope or row.world == 1)
    return total.value / row.world if total and known and row.world else None
