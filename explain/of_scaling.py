"""How the numbers of `bench report scaling` are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..decide.rows import Row
from ..decide.scaling import FITTED
from .computed import gbs
from .decision import Derive, Told
from .node import How, Node
from .pooled import devices, pooled

_LAW = "1 / efficiency = c x (1 + alpha x (n - 1) + beta x n x (n - 1))"
_F_TEST = "P(F >= (plain - richer) / (richer / (points - 3))), of sums of squared errors"
_SOURCE = 'Gunther, "A General Theory of Computational Scalability", arXiv 0808.1431'


def efficiency(told: Told, row: Row) -> Node:
    """The rate per node or device against that of the base."""
    base = _group(told, row)[0]
    unit = _unit(told, row)
    rates = _rate(told, row), _rate(told, base)
    name = rates[0].name
    inputs = (
        rates[0], _size(told, row, unit, unit),
        _named(rates[1], f"{name}_of_the_base"), _size(told, base, unit, f"{unit}_of_the_base"),
    )  # fmt: skip
    how = How(f"{name} / {unit} / ({name}_of_the_base / {unit}_of_the_base)")
    low, high = row["efficiency_low"], row["efficiency_high"]
    return Node("efficiency", row["efficiency"], "", low, high, how, inputs=inputs)


def _rate(told: Told, row: Row) -> Node:
    """Tokens/s of the job, sequences/s where no length of these is stated, or the TFLOP/s of all
    its devices where those alone are printed."""
    if row["measure"] == "tokens_per_s":
        return pooled(told, row, "tokens_per_s")
    if row["measure"] == "step_time_s":
        of = (gbs(told.case(row["runs"][0][0])), pooled(told, row, "step_time_s"))
        rate = row["batch"] / row["step_time_s"]
        how = How("gbs / step_time_s")
        return Node("sequences_per_s", rate, "sequences/s", how=how, inputs=of)
    inputs = (pooled(told, row, "tflops"), devices(told, row))
    value = row["tflops"] * row["device_count"]
    how = How("tflops x devices")
    return Node("tflops_of_all", value, "TFLOP/s", how=how, inputs=inputs)


def fitted(told: Told, row: Row) -> Node | None:
    """The efficiency that the fitted law gives."""
    if row.get("efficiency_fit") is None:
        return None
    unit = _unit(told, row)
    start = next(one for one in _group(told, row) if one[unit] == row["fit_from"])
    n = Node("n", row[unit] / start[unit], how=How(f"{unit} / {unit} of the fit's base"))
    at_base = _named(efficiency(told, start), "efficiency_of_the_fit_base")
    of = f"{at_base.name} / (c x (1 + alpha x (n - 1) + beta x n x (n - 1)))"
    how = How(of, row["law"], source=_SOURCE)
    laws = tuple(node for name in ("alpha", "beta") if (node := _law(told, row, name)))
    c = Node("c", row["fit_base"], note="what the base took at the law's rate over what it took")
    return Node("efficiency_fit", row["efficiency_fit"], how=how, inputs=(n, c, at_base, *laws))


def bubble(told: Told, row: Row) -> Node | None:
    """The share of a step that pipeline stages wait."""
    if row.get("bubble") is None:
        return None
    case = told.case(row["runs"][0][0])
    of = (gbs(case), case.stated("mbs"), case.stated("dp", value=row["dp"]))
    count = int(row["batch"]) // (row["mbs"] * row["dp"])
    m = Node("m", count, "micro-batches", how=How("gbs / (mbs x dp)"), inputs=of)
    inputs = (case.stated("pp", "p"), Node("v", row["vpp"] or 1, "chunks of a stage"), m)
    how = How("(p - 1) / (v m + p - 1)", source="arXiv 2104.04473 section 2.2")
    return Node("bubble", row["bubble"], how=how, inputs=inputs)


def without_bubble(told: Told, row: Row) -> Node | None:
    """The efficiency if no stage waited."""
    if row.get("efficiency_without_bubble") is None:
        return None
    waits, base = bubble(told, row), bubble(told, _group(told, row)[0])
    inputs = (efficiency(told, row), *([waits] if waits else []),
              *([_named(base, "bubble_of_the_base")] if base else []))  # fmt: skip
    how = How("efficiency x (1 - bubble_of_the_base) / (1 - bubble)")
    value = row["efficiency_without_bubble"]
    return Node("efficiency_without_bubble", value, how=how, inputs=inputs)


def said(told: Told) -> Iterator[Node]:
    """The laws that sentences tell, of all points and from the second on, and their points."""
    for laws, rows in _laws(told):
        sizes = Node("sizes", len(rows), note="of the group")
        yield sizes
        for law in laws:
            points = tuple(efficiency(told, row) for row in rows[-law["points"] :])
            yield Node("points", law["points"], note=f"that {law['law']} is fitted to")
            for name in FITTED:
                if name in law:
                    yield _fit_node(law, name, points)
            if "p" in law:
                yield Node("p", law["p"], how=How(_F_TEST, "F test"), inputs=points)


def _law(told: Told, row: Row, name: str) -> Node | None:
    if row.get(name) is None:
        return None
    points = told.world.once(
        f"points of {row['group']}",
        lambda: tuple(
            efficiency(told, one) for one in _group(told, row) if one.get("alpha") is not None
        ),
    )
    return _fit_node({**row, "points": len(points)}, name, points)


def _fit_node(law: Row, name: str, points: Sequence[Node]) -> Node:
    """A parameter or an error of a fit, from the efficiencies that it goes through."""
    words = {
        "alpha": f"least squares of relative errors of {_LAW}, alpha and beta at least 0",
        "beta": f"least squares of relative errors of {_LAW}, alpha and beta at least 0",
        "rms_error": "sqrt(mean((fitted / measured - 1)^2))",
        "worst_error": "max(abs(fitted / measured - 1))",
    }
    low, high = law.get(f"{name}_low"), law.get(f"{name}_high")
    how = How(words[name], str(law["law"]), source=_SOURCE)
    note = "interval: 2,000 refits to points with noise as large as the errors (95%)"
    return Node(name, law[name], "", low, high, how, note=note if low is not None else "",
                inputs=tuple(points))  # fmt: skip


def _laws(told: Told) -> Iterator[tuple[list[Row], list[Row]]]:
    from ..decide.scaling import groups, laws_of

    found, _ = groups(told.chosen.sorted_out("rate").kept)
    rows = _groups(told.answer.rows)
    for at, group in enumerate(found, 1):
        yield [dict(law) for law in laws_of(group)], rows[at]


def _group(told: Told, row: Row) -> list[Row]:
    groups = told.world.once("groups", lambda: _groups(told.answer.rows))
    return groups[row["group"]]


def _groups(rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["group"], []).append(row)
    return found


def _unit(told: Told, row: Row) -> str:
    return "nodes" if all(one["nodes"] for one in _group(told, row)) else "device_count"


def _size(told: Told, row: Row, unit: str, name: str) -> Node:
    if unit == "nodes":
        return told.case(row["runs"][0][0]).stated("nodes", name, row["nodes"])
    return _named(devices(told, row), name)


def _named(node: Node, name: str) -> Node:
    return replace(node, name=name)


def _parameter(name: str) -> Derive:
    return lambda told, row: _law(told, row, name)


VALUES: Mapping[str, Derive] = {
    "efficiency": efficiency, "efficiency_fit": fitted, "bubble": bubble,
    "efficiency_without_bubble": without_bubble,
    **{name: _parameter(name) for name in FITTED},
}  # fmt: skip
