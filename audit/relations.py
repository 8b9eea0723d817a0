"""Products of a row's numbers that are constant over comparable rows, and their values.

Speeds (sequences or tokens a second, of a job or a device) have fixed quotients; a power (TFLOPs,
MFU, HFU) over a speed is constant for a model, and a quotient of two powers for a device.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations, product
from statistics import median
from typing import Any

from ..vocabulary.fields import fields
from ..vocabulary.package_toml import declared
from .input import Row, Table
from .interval import Interval, largest_agreement
from .same_configuration import Texts, device_name, model, texts_of

MEANS = 0.02  # columns are often means over steps, and a mean of rates is not the rate of a mean
COUNTS = ("world", *(one.name for one in fields().values() if one.is_whole))
Powers = Mapping[str, int]
_DECLARED = declared(__package__ or "bench.audit", "equations.toml")
_WORDS: Mapping[str, str] = _DECLARED["words"]
# As the heading states, and as if the rate were per device.
_SPEEDS: tuple[tuple[Powers, bool], ...] = (
    *((powers, True) for powers in _DECLARED["speeds"]),
    *((powers, False) for powers in _DECLARED["speeds_as_of_a_device"]),
)
_POWERS: tuple[Powers, ...] = tuple(_DECLARED["powers"])
WORK: Powers = _DECLARED["work"]
_NOTHING = "none"  # recompute is off
_RATES = ("tflops", "aggregate_pflops")  # the others are shares of a device's peak


@dataclass(frozen=True)
class Relation:
    """Quantities with their powers; the product is constant for rows with the same `key`.

    `identity`: it is 1 for any model, if headings are accurate.
    `plain`: it takes headings literally.
    """

    powers: Powers
    key: Callable[[Row], Hashable]
    identity: bool = False
    plain: bool = True
    metrics: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        metrics = tuple(name for name in self.powers if name not in COUNTS)
        object.__setattr__(self, "metrics", metrics)

    def __str__(self) -> str:
        above = [_WORDS[name] for name, power in self.powers.items() if power > 0]
        below = [_WORDS[name] for name, power in self.powers.items() if power < 0]
        under = f"({' x '.join(below)})" if len(below) > 1 else "".join(below)
        return " x ".join(above) + (f" / {under}" if under else "")

    def value(self, row: Row) -> Interval | None:
        """Its value for a row, within the printed digits; None if an input is missing."""
        found = Interval(1.0, 1.0)
        for name, power in self.powers.items():
            interval = quantity(row, name)
            if interval is None and name == "seq_len":
                continue  # constant for rows that do not state it, too
            if interval is None:
                return None
            found = found * interval if power > 0 else found / interval
        return found.widened(MEANS / 2)

    def point(self, row: Row) -> float:
        """Its value for the numbers as printed."""
        found = 1.0
        for name, power in self.powers.items():
            count = (_count(row, name) or 1) if name in COUNTS else None
            found *= (count or row.printed[name].value) ** power
        return found


def quantity(row: Row, name: str) -> Interval | None:
    """A number of a row: a measurement as printed, or a count; None if not stated."""
    if name in COUNTS:
        count = _count(row, name)
        return Interval(count, count) if count else None
    printed = row.printed.get(name)
    return printed.either if printed and printed.value > 0 else None


def _count(row: Row, name: str) -> int | None:
    """A count of a row; an unstated GBS is computed from its micro-batches."""
    found: int | None = getattr(row, name)
    if name == "gbs" and not found and row.mbs and row.grad_accum and row.data_parallel:
        return row.mbs * row.grad_accum * row.data_parallel
    return found


def _is_length_unstated(row: Row) -> Hashable:
    return row.seq_len is None


def _work(row: Row) -> Hashable:
    return (model(row), row.seq_len, row.recompute, row.heads)


def _fast(row: Row) -> Hashable:
    return (_work(row), device_name(row), row.dtype)


def _kind(row: Row) -> Hashable:
    return (device_name(row), row.dtype)


def _shares(row: Row) -> Hashable:
    """Key for HFU against MFU: equal for any model without recompute."""
    return (_NOTHING, row.seq_len) if row.recompute == _NOTHING else _work(row)


def _with_hfu(key: Callable[[Row], Hashable]) -> Callable[[Row], Hashable]:
    """Key for relations with HFU, which counts recomputed work: by recompute, too."""

    def by_recompute(row: Row) -> Hashable:
        model, hardware = row.printed.get("mfu"), row.printed.get("hfu")
        same = model and hardware and model.value == hardware.value
        return key(row), row.recompute or same

    return by_recompute


def _relations() -> Iterator[Relation]:
    for (one, plain), (two, also) in combinations(_SPEEDS, 2):
        powers = _over(one, two)
        if sum(name not in COUNTS for name in powers) + ("gbs" in powers) > 1:
            yield Relation(powers, _is_length_unstated, identity=True, plain=plain and also)
    for power, (speed, plain) in product(_POWERS, _SPEEDS):
        if not ("tflops" in power and "step_time_s" in speed):  # R1 knows the formula
            work = {name: n for name, n in _over(power, speed).items() if name != "seq_len"}
            rate = any(name in power for name in _RATES)
            key = _with_hfu(_fast) if "hfu" in power else _work if rate else _fast
            yield Relation(work, key, plain=plain)
    for first, second in combinations(_POWERS, 2):
        both = {*first, *second}
        shares = {"mfu", "hfu"} <= both
        key = (
            _shares
            if shares
            else (_work, _kind, _is_length_unstated)[sum(name in _RATES for name in both)]
        )
        key = _with_hfu(key) if "hfu" in both else key
        yield Relation(_over(first, second), key, identity=shares)


def _over(powers: Powers, two: Powers) -> Powers:
    names = dict.fromkeys((*powers, *two))
    found = {name: powers.get(name, 0) - two.get(name, 0) for name in names}
    return {name: power for name, power in found.items() if power}


RELATIONS = tuple(_relations())


@dataclass(frozen=True)
class FittedRelation:
    """A relation, the rows of a table it was fitted on, and those that agree on `span`."""

    relation: Relation
    rows: tuple[Row, ...]
    values: tuple[Interval, ...]
    agreeing: frozenset[int]  # indices into rows
    span: Interval

    @cached_property  # each row that disagrees asks for all of these
    def point(self) -> float:
        """The median over the agreeing rows, as printed."""
        return median(self.relation.point(row) for row in self.others)

    @cached_property
    def texts(self) -> list[Texts]:
        """The cells of the agreeing rows under unknown headings."""
        return texts_of(self.others)

    @property
    def example(self) -> Row:
        return self.rows[min(self.agreeing)]

    @cached_property
    def others(self) -> list[Row]:
        """The rows that agree."""
        return [self.rows[place] for place in sorted(self.agreeing)]

    @cached_property
    def counts(self) -> dict[str, set[Any]]:
        """What the agreeing rows state of the counts that a rate may be divided by."""
        names = ("world", "gbs", "seq_len")
        return {name: {getattr(row, name) for row in self.others} for name in names}

    def has(self, row: Row) -> bool:
        """Whether it was fitted on this row."""
        return id(row) in self._identities

    @cached_property
    def _identities(self) -> frozenset[int]:
        return frozenset(map(id, self.rows))

    def violations(self) -> Iterator[tuple[Row, Interval]]:
        """The rows with a different product under every meaning of their rates."""
        at_one = self.relation.identity and self.span.meets(1.0)
        for place, (row, value) in enumerate(zip(self.rows, self.values, strict=True)):
            if place in self.agreeing or value.meets(self.span):
                continue
            if at_one or not any((value * scale).meets(self.span) for scale in self._scales(row)):
                yield row, value

    def _scales(self, row: Row) -> Iterator[float]:
        """Factors if a rate were per device, sequence or batch, unlike the other rows."""
        for name, theirs in self.counts.items():
            mine, [one, *more] = getattr(row, name), theirs
            if mine and not more and one and one != mine:
                yield from (mine / one, one / mine)


def fitted(table: Table) -> list[FittedRelation]:
    """The relations confirmed by three quarters of a table's rows (at least three)."""
    found: list[FittedRelation] | None = table.counted.get("fitted")
    if found is None:
        found = table.counted["fitted"] = list(_fitted(table))
    return found


def _fitted(table: Table) -> Iterator[FittedRelation]:
    rows = [row for row in table.rows if not row.invalid]
    known = {name for row in rows for name in row.printed}
    for metrics, relations in _by_metrics().items():
        if metrics <= known:
            found = [(relation, _tried(relation, rows)) for relation in relations]
            # A heading is taken literally, unless only another meaning makes the quotient 1.
            at_one = [some for relation, some in found if relation.identity and _at_one(some)]
            yield from next(iter(at_one), None) or next((some for _, some in found if some), [])


def _at_one(fitted_relations: list[FittedRelation]) -> bool:
    return bool(fitted_relations) and all(
        fitted_relation.span.meets(1.0) for fitted_relation in fitted_relations
    )


@cache
def _by_metrics() -> dict[frozenset[str], list[Relation]]:
    groups: dict[frozenset[str], list[Relation]] = {}
    for relation in sorted(RELATIONS, key=lambda relation: not relation.plain):
        same_metrics = groups.setdefault(frozenset(relation.metrics), [])
        if all(other.powers != relation.powers for other in same_metrics):
            same_metrics.append(relation)
    return groups


def _tried(relation: Relation, rows: list[Row]) -> list[FittedRelation]:
    groups: dict[Hashable, list[tuple[Row, Interval]]] = {}
    for row in rows:
        if (value := relation.value(row)) is not None:
            groups.setdefault(relation.key(row), []).append((row, value))
    made = (_majority(relation, members) for members in groups.values())
    return [one for one in made if one is not None]


def _majority(relation: Relation, members: list[tuple[Row, Interval]]) -> FittedRelation | None:
    values = tuple(value for _, value in members)
    main = largest_agreement(list(values)) if len(values) >= 3 else []
    if 3 * len(main) < 2 * len(values) or not main:
        return None
    span = Interval(max(values[p].low for p in main), min(values[p].high for p in main))
    # The value of an identity is known, so two rows confirm it as well as three equal ones.
    sure = relation.identity and relation.plain and span.meets(1.0)
    if not sure and (len(main) < 3 or 4 * len(main) < 3 * len(values)):
        return None
    return FittedRelation(relation, tuple(row for row, _ in members), values, frozenset(main), span)
