"""What is said of a group of sizes: how it scales, by which laws, and how well they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..reports.format import number, percent, significant
from ..reports.short import Names
from .answer import place, settings_words
from .fits import Fit, chance, likeliest

if TYPE_CHECKING:
    from .scaling import Group


def group_words(names: Names, group: Group) -> str:
    first, last = group.base, group.points[-1]
    row = first.row
    unit = "nodes" if group.unit == "nodes" else "devices"
    kind = {
        "strong": f"strong scaling (GBS {row['batch'] or 0:.10g} at every size)",
        "weak": "weak scaling (GBS grows with them)",
        "unknown": "scaling (no global batch size is stated: strong or weak is not known)",
    }[group.kind]
    what = [row["size"] or row["model"] or "model not stated", names.system(row["system"])]
    what += [f"TP{row['tp']} PP{row['pp']}"] if row["tp"] and row["pp"] else []
    what += [f"MBS {row['mbs']}"] if row["mbs"] else []
    if row["device_batch"] and group.kind != "strong":
        what.append(f"batch {number(row['device_batch'])} a device")
    what += [f"recompute {row['recompute']}"] if row["recompute"] else []
    what += [row["dtype"]] if row["dtype"] else []
    what += [settings_words(row)] if row["settings"] else []
    by = {"tflops": "by printed TFLOPs", "step_time_s": "by sequences/s"}.get(row["measure"])
    what += [by] if by else []
    share = percent(group.efficiency(last), 1)
    rows = [one for point in group.points for one in point.rows]
    days = sorted({one["date"][:10] for one in rows if one["date"]})
    apart = f" Days from {days[0]} to {days[-1]}." if len(days) > 1 else ""
    faster = [one for one in group.points[1:] if group.efficiency(one) > 1]
    slow = f" Above 100% on {number(faster[0].x)} {unit}: noise, or a slow base." if faster else ""
    return (
        f"{kind}, {', '.join(what)}: {share} efficiency on"
        f" {number(last.x)} {unit} against {number(first.x)} ({place(names, row)}).{slow}{apart}"
    )


def fit_words(group: Group, laws: Sequence[Fit]) -> str:
    if not laws:
        return f" {len(group.points)} sizes are too few for a fit."
    told = " ".join(_law_words(law) for law in laws)
    chosen, first = group.law()
    best = likeliest(laws)
    if best and len(laws) > 1:
        plain, richer = laws
        p = f"F test, p = {significant(chance(plain, richer), 2)}"
        told += (
            f" {richer.law} tells them better ({p})."
            if best is richer
            else f" {richer.law} tells them no better than {plain.law} ({p})."
        )
    if first and chosen:
        start = number(group.points[first].x)
        return f" {told} It fits badly; from {start} on: {_law_words(chosen)}"
    return f" {told}" + (" It fits badly." if best and best.misses else "")


def _law_words(law: Fit) -> str:
    alpha = f"alpha {significant(law.alpha, 2)} ({_ends(law.alpha_range)})"
    beta = f", beta {significant(law.beta, 2)} ({_ends(law.beta_range)})"
    errors = f"rms error {percent(law.rms, 1)}, at most {percent(law.worst, 1)}"
    return f"{law.law}: {alpha}{beta if law.law == 'USL' else ''}, {errors}, {law.points} sizes."


def _ends(ends: tuple[float, float]) -> str:
    return " to ".join(significant(end, 2) for end in ends)
