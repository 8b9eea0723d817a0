"""Scaling: the efficiency of each size, the law that fits, and the pipeline's bubble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..schema.warehouse import Row
from .fits import Fit, chance, likeliest
from .provenance import Column, Derivation, Number, input_number
from .rows import Decision
from .scaling_curves import RATES, Group, Point, groups

_LAW = "1 / efficiency = c x (1 + alpha x (n - 1) + beta x n x (n - 1))"
_F_TEST = "P(F >= (plain - richer) / (richer / (points - 3))), of sums of squared errors"
_SOURCE = 'Gunther, "A General Theory of Computational Scalability", arXiv 0808.1431'
_WORDS = {
    "alpha": f"least squares of relative errors of {_LAW}, alpha and beta at least 0",
    "beta": f"least squares of relative errors of {_LAW}, alpha and beta at least 0",
    "rms_error": "sqrt(mean((fitted / measured - 1)^2))",
    "worst_error": "max(abs(fitted / measured - 1))",
}
_NO_FIT: dict[str, Any] = {"laws": [], "best": None, "p": None, "second_base": None, "law": None}
FITTED = ("alpha", "beta", "rms_error", "worst_error")


def bubble(row: Row) -> float | None:
    """The share of a step that pipeline stages wait: (p - 1) / (v m + p - 1), of v chunks a stage.

    arXiv 2104.04473 section 2.2, for m micro-batches a step and stages of equal length.
    """
    p, batch = row["pp"], (row["mbs"] or 0) * (row["dp"] or 0)
    step = row["gbs"] or row.get("batch")
    if not p or p == 1 or not batch or not step or step % batch:
        return None
    chunks = (row["vpp"] or 1) * (step // batch)
    return float((p - 1) / (chunks + p - 1))


def scaling(kept: Sequence[Row], left_out: Sequence[Row], most: int = 0) -> Decision:
    """The groups in order, with their fits; at most `most` groups, those with most sizes, are
    fitted, as a law takes thousands of refits (0: all)."""
    found, alone = groups(kept)
    longest = sorted(range(len(found)), key=lambda at: -len(found[at].points))[: most or None]
    fitted = set(longest)
    sets = [
        [_row(at + 1, group, point, at in fitted) for point in group.points]
        for at, group in enumerate(found)
    ]
    for group, members in zip(found, sets, strict=True):
        _add_derivations(group, members)
    rows = [row for members in sets for row in members]
    reason = "no run of another size with its settings"
    left = (*left_out, *({**row, "left_out": reason} for row in alone))
    facts = {
        "groups": [
            {**curve(group), **(_fit_of(group) if at in fitted else _NO_FIT)}
            for at, group in enumerate(found)
        ],
        "numbers": [n for at in sorted(fitted) for n in _numbers(found[at], sets[at])],
    }
    return Decision("scaling", tuple(rows), left, facts)


def curve(group: Group) -> dict[str, Any]:
    """The summary of a group, without its laws, which take thousands of refits."""
    rows = [row for point in group.points for row in point.rows]
    ends = (*group.base.rows, *group.points[-1].rows)
    faster = [point.x for point in group.points[1:] if group.efficiency(point) > 1]
    return {
        "kind": group.kind,
        "unit": group.unit,
        "base": group.base.row,
        "base_size": group.base.x,
        "last_size": group.points[-1].x,
        "efficiency": group.efficiency(group.points[-1]),
        "sizes": len(group.points),
        "days": sorted({row["date"][:10] for row in rows if row["date"]}),
        "above_all": faster[0] if faster else None,
        "marked": [row for row in ends if row.get("time_is_marked")],
    }


def _fit_of(group: Group) -> dict[str, Any]:
    """How the laws of a group fit."""
    laws = group.laws
    chosen, first = group.law
    return {
        "laws": laws,
        "best": likeliest(laws),
        "p": chance(*laws) if len(laws) > 1 else None,
        "second_base": group.points[first].x if first else None,
        "law": chosen,
    }


def _row(at: int, group: Group, point: Point, fitted: bool) -> dict[str, Any]:
    row, base = point.row, group.base
    share = group.efficiency(point)
    waits, at_base = bubble(row), bubble(base.row)
    without = share * (1 - at_base) / (1 - waits) if waits and at_base is not None else None
    # The least of one over the most of the other: the full range, not a confidence interval.
    scale = base.x / point.x
    return {
        **row,
        **(_fitted(group, point) if fitted else {}),
        "group": at,
        "scaling": group.kind,
        "base_devices": base.row["device_count"],
        "efficiency": share,
        "efficiency_low": point.low / base.high * scale if point.low and base.high else None,
        "efficiency_high": point.high / base.low * scale if point.high and base.low else None,
        "bubble": waits,
        "efficiency_without_bubble": without,
        "left_out": None,
    }


def _fitted(group: Group, point: Point) -> Mapping[str, Any]:
    """The law that fits the group best, and its prediction for a point relative to its base."""
    law, first = group.law
    start = group.points[first]
    if law is None or point.x < start.x:
        return {}
    fit = law.efficiency(point.x / start.x) * group.efficiency(start)
    return {**_law_columns(law), "efficiency_fit": fit, "fit_from": start.x}


def _add_derivations(group: Group, rows: Sequence[dict[str, Any]]) -> None:
    """How the numbers of a group's rows are made; they refer to each other."""
    base, unit = rows[0], group.unit
    fitted = [row for row in rows if row.get("alpha") is not None]
    laws = {}
    if fitted:
        points = tuple(Column("efficiency", row) for row in fitted)
        laws = {name: _of_law(fitted[0]["law"], name, points) for name in FITTED}
    start = next((row for row in rows if row[unit] == row.get("fit_from")), base)
    for row in rows:
        rate = RATES[row["measure"]]
        of_base = f"{rate}_of_the_base", f"{unit}_of_the_base"
        made = {**row["derivations"], **laws}
        made["efficiency"] = Derivation(
            expression=f"{rate} / {unit} / ({of_base[0]} / {of_base[1]})",
            inputs=(
                Column(rate), Column(unit, called=unit),
                Column(rate, base, of_base[0]), Column(unit, base, of_base[1]),
            ),
        )  # fmt: skip
        if row["bubble"] is not None:
            made["bubble"] = _of_bubble(row)
        waits = ["bubble"] if row["bubble"] else []
        made["efficiency_without_bubble"] = Derivation(
            expression="efficiency x (1 - bubble_of_the_base) / (1 - bubble)",
            inputs=("efficiency", *waits, Column("bubble", base, "bubble_of_the_base")),
        )
        if row.get("alpha") is not None:
            made["efficiency_fit"] = _of_fit(group, row, start)
        row["derivations"] = made


def _of_fit(group: Group, row: Row, start: Row) -> Derivation:
    unit, at_base = group.unit, "efficiency_of_the_fit_base"
    size = Derivation(expression=f"{unit} / {unit} of the fit's base")
    n = Number("n", row[unit] / start[unit], size)
    note = "time of the base by the law over its measured time"
    return Derivation(
        expression=f"{at_base} / (c x (1 + alpha x (n - 1) + beta x n x (n - 1)))",
        inputs=(
            n, input_number("c", row["fit_base"], note=note), Column("efficiency", start, at_base),
            "alpha", "beta",
        ),
        title=row["law"], source=_SOURCE,
    )  # fmt: skip


def _of_bubble(row: Row) -> Derivation:
    count = int(row["batch"]) // (row["mbs"] * row["dp"])
    of = Derivation(
        expression="gbs / (mbs x dp)", inputs=("gbs", "mbs", "dp"), unit="micro-batches"
    )
    chunks = input_number("v", row["vpp"] or 1, "chunks of a stage")
    return Derivation(
        expression="(p - 1) / (v m + p - 1)",
        inputs=(Column("pp", called="p"), chunks, Number("m", count, of)),
        source="arXiv 2104.04473 section 2.2",
    )


def _of_law(law: str, name: str, points: tuple[Column, ...]) -> Derivation:
    """A parameter or an error of a fit, from the efficiencies that it goes through."""
    refits = "interval: 2,000 refits to points with noise as large as the errors (95%)"
    note = refits if name in ("alpha", "beta") else ""
    return Derivation(expression=_WORDS[name], inputs=points, title=law, source=_SOURCE, note=note)


def _numbers(group: Group, rows: Sequence[Row]) -> Iterator[Number]:
    """Numbers of the sentences: the laws of all points and from the second on, and their points."""
    yield input_number("sizes", len(rows), note="of the group")
    chosen, first = group.law
    for law in (*group.laws, *([chosen] if chosen and first else [])):
        points = tuple(Column("efficiency", row) for row in rows[-law.points :])
        yield input_number("points", law.points, note=f"that {law.law} is fitted to")
        fitted_columns = _law_columns(law)
        for name in FITTED:
            low, high = (fitted_columns.get(f"{name}_{end}") for end in ("low", "high"))
            yield Number(name, fitted_columns[name], _of_law(law.law, name, points), low, high)
        if len(group.laws) > 1 and law is group.laws[1]:
            test = Derivation(expression=_F_TEST, title="F test", inputs=points)
            yield Number("p", chance(*group.laws), test)


def _law_columns(law: Fit) -> dict[str, Any]:
    """A law as columns."""
    return {
        "law": law.law, "fit_base": law.base, "alpha": law.alpha, "alpha_low": law.alpha_range[0],
        "alpha_high": law.alpha_range[1], "beta": law.beta, "beta_low": law.beta_range[0],
        "beta_high": law.beta_range[1], "rms_error": law.rms, "worst_error": law.worst,
    }  # fmt: skip
