"""Changes of one cell that make all numbers of a row consistent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter

from .formula_detection import expected, rate_of, time_of
from .formula_fixes import as_in_cell, in_thousands, number, with_printed, with_value
from .input import Row, Table, title
from .interval import Interval, Printed
from .relations import COUNTS, WORK, Powers, fitted, quantity
from .same_configuration import set_apart
from .sequence_flops import share_of, work_of
from .topology import broken, contradicts

_CELLS = {"step_time_s": "step_time", "memory": "mem", "aggregate_pflops": "agg_pflops"}
_EXACTLY = 1e-6  # fixed by other counts: any whole number is accepted
_UNITS = ("nodes", "devices")
_PERCENT = ("mfu", "hfu", "peak_share")


@dataclass(frozen=True)
class RequiredFactor:
    """A required correction: the factor by which a product of quantities is off."""

    powers: Powers
    scale: Interval
    point: float  # of the numbers as printed
    rough: float  # relative uncertainty

    @property
    def met(self) -> bool:
        return self.scale.meets(1.0)


@dataclass(frozen=True)
class Fix:
    """A new value for one cell: our column name, and the text to write."""

    name: str
    text: str
    whole: bool = False

    def __str__(self) -> str:
        return f"{title(self.name)}{'=' if self.whole else ' '}{self.text}"


def demands(table: Table, row: Row) -> list[RequiredFactor]:
    """The corrections that every equation needs for a row, except time against TFLOPs."""
    found = []
    for one in fitted(table):
        if not one.relation.identity and set_apart(row, one.texts):
            continue
        value = one.relation.value(row)
        if value is not None and one.has(row):
            scale = one.point / one.relation.point(row)
            rough = 1 - one.span.low / one.span.high
            found.append(RequiredFactor(one.relation.powers, one.span / value, scale, rough))
    return [*found, *_batch(table, row), *_nodes(table, row)]


def _work(table: Table, row: Row) -> Iterator[RequiredFactor]:
    if not (row.time and row.tflops and row.time.value > 0):
        return
    detected = table.detected
    wanted = expected(row, detected.reading) if detected and detected.certain else None
    if wanted is not None and detected is not None:
        rate = rate_of(row, detected.reading)
        exact = wanted.low * time_of(row).high / row.time.value
        rough = 2 * min(row.tflops.half / row.tflops.value, row.time.half / row.time.value)
        yield RequiredFactor(WORK, wanted / rate, exact / row.tflops.value, rough)
    elif (share := share_of(table, row)) is not None:
        mine = work_of(row)
        rough = 1 - share.low / share.high
        yield RequiredFactor(WORK, share / mine, share.middle / mine.middle, rough)


def _batch(table: Table, row: Row) -> Iterator[RequiredFactor]:
    """MBS x GA x DP is GBS, if three quarters of the table confirm it."""
    right: list[Row] | None = table.counted.get("batches")
    if right is None:
        tested = [row for row in table.rows if _batch_of(row)]
        right = [one for one in tested if _batch_of(one) == one.gbs]
        right = right if len(tested) >= 3 and 4 * len(right) >= 3 * len(tested) else []
        table.counted["batches"] = right
    if right and (slots := _batch_of(row)) and row.gbs:
        powers = {"mbs": 1, "grad_accum": 1, "gbs": -1}
        powers |= {"dp": 1} if row.dp else {"world": 1, "tp": -1, "pp": -1}
        scale = row.gbs / slots
        yield RequiredFactor(powers, _exactly(scale), scale, 0.0)


def _nodes(table: Table, row: Row) -> Iterator[RequiredFactor]:
    """The usual number of devices per node, if both are printed."""
    if (usual := devices_a_node(table)) and row.nodes and row.devices:
        scale = usual * row.nodes / row.devices
        yield RequiredFactor({"world": 1, "nodes": -1}, _exactly(scale), scale, 0.0)


def devices_a_node(table: Table) -> float | None:
    """Devices per node in at least three quarters of a table's rows (and three rows), else None."""
    if "devices_a_node" not in table.counted:
        both = {"nodes", "devices"} <= set(table.columns)
        ratios = Counter(row.devices / row.nodes for row in table.rows if row.devices and row.nodes)
        usual, many = ratios.most_common(1)[0] if both and ratios else (0.0, 0)
        clear = many >= 3 and 4 * many >= 3 * sum(ratios.values())
        table.counted["devices_a_node"] = usual if clear else None
    found: float | None = table.counted["devices_a_node"]
    return found


def _batch_of(row: Row) -> int:
    copies = row.data_parallel or (row.world if row.tp is None and row.pp is None else None)
    return (row.mbs or 0) * (row.grad_accum or 0) * (copies or 0)


def _exactly(value: float) -> Interval:
    return Interval(value, value)


def consistent(table: Table, row: Row, changed: Row) -> bool:
    """Whether a row with one cell changed agrees with the other equations of its table."""
    if not all(
        (demand.scale / _moved(demand, row, changed)).meets(1.0) for demand in demands(table, row)
    ):
        return False
    return _fine(row, changed) and not _is_duplicate(table, row, changed)


def _moved(demand: RequiredFactor, row: Row, changed: Row) -> float:
    """The factor by which a changed row changes a product."""
    found = 1.0
    for name, power in demand.powers.items():
        old, new = quantity(row, name), quantity(changed, name)
        if old and new and old != new:
            found *= (new.middle / old.middle) ** power
    return found


def _fine(row: Row, changed: Row) -> bool:
    """Whether batch, heads and processes still divide; a division that was uneven may stay so."""
    return (not broken(changed) or bool(broken(row))) and (
        not contradicts(changed) or contradicts(row)
    )


def suggest_fixes(table: Table, row: Row) -> list[Fix]:
    """The changes of one cell that meet every demand; counts change to a nearby whole number only.

    A count that comes out whole, or two swapped numbers, are stronger evidence than a rate, which
    can take any value. Counts that many rows have go first.
    """
    required = [*demands(table, row), *_work(table, row)]
    open_names = [set(one.powers) for one in required if not one.met]
    if not open_names:
        return []
    counts, rates = [], []
    for name in sorted(set.intersection(*open_names)):
        scale = _common(name, required)
        if scale is None:
            continue
        if name in COUNTS:
            counts += list(_count(table, row, name, scale))
        elif row.printed.get(name):
            rates.append(_rate(row, name, required, scale))
    counts.sort(
        key=lambda count: -sum(str(getattr(o, count.name)) == count.text for o in table.rows)
    )
    return counts or list(_exchanged(table, row, set.union(*open_names))) or rates


def _common(name: str, required: Sequence[RequiredFactor]) -> Interval | None:
    """The factors of one quantity that meet every demand."""
    low, high = 0.0, float("inf")
    for demand in required:
        power = demand.powers.get(name, 0)
        if power == 0:
            if not demand.met:
                return None
            continue
        scale = demand.scale if power > 0 else _exactly(1.0) / demand.scale
        low, high = max(low, scale.low), min(high, scale.high)
    return Interval(low, high) if low <= high * (1 + 1e-9) and high > 0 else None


def _rate(row: Row, name: str, required: Sequence[RequiredFactor], limits: Interval) -> Fix:
    """A measurement corrected by the most precise demand."""
    best = min(
        (demand for demand in required if demand.powers.get(name)), key=lambda demand: demand.rough
    )
    scale = best.point if best.powers[name] > 0 else 1 / best.point
    scale = min(max(scale, limits.low), limits.high)
    printed = row.printed[name]
    scale_of_cell, suffix = (100.0, "%") if name in _PERCENT else (1.0, "")
    if name == "step_time_s":
        scale_of_cell, suffix = as_in_cell(printed)
    elif name.startswith("tokens_per_s"):
        scale_of_cell, suffix = in_thousands(printed)
    text = number(scale_of_cell * printed.value * scale, scale_of_cell * printed.half)
    rough = best.rough * printed.value * scale > 4 * printed.half
    return Fix(_CELLS.get(name, name), f"{'about ' if rough else ''}{text}{suffix}")


def _count(table: Table, row: Row, name: str, scale: Interval) -> Iterator[Fix]:
    """A whole count at a simple ratio to the printed one, or one that another row has."""
    cell = name if name != "world" else "devices" if row.devices else "nodes"
    old = getattr(row, cell)
    if len(table.rows) > _COMPARED or not old or cell not in table.columns:
        return
    if scale.high - scale.low > 0.1 * scale.high:
        return
    ratio = round(max(scale.middle, 1 / scale.middle))
    values = {getattr(other, cell) for other in table.rows} | {old * ratio}
    values |= {old // ratio} if old % ratio == 0 else set()
    # An exact scale leaves one candidate, even if no other row has that count.
    if scale.high - scale.low < _EXACTLY * scale.high:
        values.add(round(old * scale.middle))
    for new in sorted(values - {None, 0, old}):
        changed = with_value(row, cell, new)
        near = scale.widened(1e-9).meets(new / old)
        if near and _fine(row, changed) and not _is_duplicate(table, row, changed):
            yield Fix(cell, str(new), whole=True)


def _exchanged(table: Table, row: Row, names: set[str]) -> Iterator[Fix]:
    """Two swapped measurements."""
    found = [name for name in sorted(names) if name in row.printed]
    for first, second in combinations(found, 2):
        one, two = row.printed[first], row.printed[second]
        if not (_plain(one) and _plain(two)) or one.raw == two.raw:
            continue
        scale = float(two.raw) / float(one.raw)
        changed = with_printed(with_printed(row, first, scale), second, 1 / scale)
        if all((demand.scale / _moved(demand, row, changed)).meets(1.0)
               for demand in [*demands(table, row), *_work(table, row)]):  # fmt: skip
            yield Fix(_CELLS.get(first, first), two.raw, whole=True)
            yield Fix(_CELLS.get(second, second), one.raw, whole=True)
            return


def _plain(printed: Printed) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d+)?", printed.raw)) and float(printed.raw) > 0


def is_free(table: Table, row: Row, name: str) -> bool:
    """Whether no other equation of the table constrains a quantity of the row."""
    return not any(name in demand.powers for demand in demands(table, row))


_COMPARED = 1000  # rows; longer tables are not searched for duplicates, so no fix is suggested
_SETUP = attrgetter("nodes", "devices", "dp", "tp", "pp", "mbs", "gbs", "grad_accum", "seq_len",
                    "params_b", "layers", "hidden", "env", "other_cells")  # fmt: skip


def _is_duplicate(table: Table, row: Row, changed: Row) -> bool:
    """Whether the change would duplicate the configuration of another measured row."""
    if _SETUP(changed) == _SETUP(row):
        return False
    return len(table.rows) > _COMPARED or any(
        one.line != row.line and one.measured and _SETUP(one) == _SETUP(changed)
        for one in table.rows
    )


def suggestion(fixes: Sequence[Fix]) -> str:
    """The changes as text: alternatives joined by "or", a swap as two changes."""
    exchanged = len(fixes) == 2 and fixes[0].whole and fixes[0].name not in (*COUNTS, *_UNITS)
    return (", " if exchanged else ", or ").join(map(str, fixes[:3]))
