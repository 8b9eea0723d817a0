"""How the numbers of `bench days` are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..decide.days import rates
from ..decide.jobs import spread_of
from ..decide.rampup import RampUp, parse_ramp_up, spent
from ..decide.rows import Row
from ..decide.statistics import limit, quantile
from .computed import by_formula
from .decision import Told
from .node import How, Node
from .of_best import deviation, of_budget, of_median, spread
from .pooled import devices, pooled


def days(told: Told, row: Row) -> Node:
    """Days with goodput and ramp-up, and their range."""
    share = goodput(told, row)
    ramp = _ramp(told)
    known = spread_of(row, told.chosen.spreads)
    low, high = row["days_low"], row["days_high"]
    budget = told.world.plan.budget
    slow, fast, _ = rates(row, known, budget)
    note = f"range from {row['range_from']}" + (
        f", {slow:.6g} to {fast:.6g} {'steps' if budget.tokens is None else 'tokens'}/s"
        if low is not None and high is not None
        else ""
    )
    varies = (deviation(told, known),) if known and "repeats" in row["range_from"] else ()
    how, made = of_budget(told, row, " / goodput") if ramp is None else _ramped(told, row, ramp)
    inputs = (*made, share, *varies)
    return Node("days", row["days"], "days", low, high, how, note=note, inputs=inputs)


def _ramped(told: Told, row: Row, ramp: RampUp) -> tuple[How, tuple[Node, ...]]:
    """How days with a ramp-up are made, and from what."""
    plan, steps, more = told.world.plan, ramp_up_steps(told, row), ramp_up_days(told, row)
    spending = tuple(filter(None, (steps, more)))
    if plan.budget.tokens is None:
        expression = "(steps - ramp_up_steps) x step_time_s / 86400 / goodput + ramp_up_days"
        inputs = (plan.node(), pooled(told, row, "step_time_s"), *spending)
        return by_formula("D1", expression), inputs
    tokens = Node("ramp_up_tokens", ramp.samples * row["seq_len"], "tokens",
                  how=How("samples x seq_len"), inputs=tuple(_given(ramp)))  # fmt: skip
    expression = "(tokens - ramp_up_tokens) / tokens_per_s / 86400 / goodput + ramp_up_days"
    rate = pooled(told, row, "tokens_per_s")
    return by_formula("D1", expression), (plan.node(), tokens, rate, *([more] if more else []))


def budget_tokens(told: Told, row: Row) -> Node:
    """The tokens that a row trains in its days."""
    plan, value = told.world.plan, row["budget_tokens"]
    if plan.budget.tokens is not None or value is None:
        return Node("budget_tokens", value, "tokens", inputs=(plan.node(),))
    if (ramp := _ramp(told)) is not None:
        how = How("samples x seq_len + (steps - ramp_up_steps) x tokens_per_step")
        return Node("budget_tokens", value, "tokens", how=how, inputs=(plan.node(), *_given(ramp)))
    return replace(of_budget(told, row)[1][0], name="budget_tokens")


def end(name: str, of: str) -> Callable[[Told, Row], Node | None]:
    """An end of the range of days: the same budget at the other end of the rates."""

    def made(told: Told, row: Row) -> Node | None:
        if row[name] is None:
            return None
        unit = "steps" if told.world.plan.budget.tokens is None else "tokens"
        how = How(f"days at the {of} end of {unit}/s", title=f"range from {row['range_from']}")
        return Node(name, row[name], "days", how=how, inputs=(days(told, row),))

    return made


def goodput(told: Told, row: Row) -> Node:
    """The share of the time that trains, and who says so."""
    note = {"assumed": "assumed: nothing is lost", "--goodput": "as asked for with --goodput"}
    known = str(row["goodput_from"])
    return Node("goodput", row["goodput"], note=note.get(known, known))


def device_hours(told: Told, row: Row) -> Node:
    """Days x 24 x devices."""
    inputs = (days(told, row), devices(told, row))
    how = How(f"days x 24 x {inputs[1].name}")
    return Node("device_hours", row["device_hours"], "device-hours", how=how, inputs=inputs)


def ramp_up_steps(told: Told, row: Row) -> Node | None:
    """Steps while the batch grows."""
    ramp = _ramp(told)
    if ramp is None:
        return None
    stages = ramp.stages(row["gbs"])
    how = How("sum over stages of samples / stages / batch")
    inputs = (*_given(ramp), Node("stages", len(stages), note=f"{stages[0]} to {stages[-1]}"))
    return Node("ramp_up_steps", row["ramp_up_steps"], "steps", how=how, inputs=inputs)


def ramp_up_days(told: Told, row: Row) -> Node | None:
    """Days while the batch grows."""
    ramp, steps = _ramp(told), ramp_up_steps(told, row)
    if ramp is None or steps is None:
        return None
    how = How(
        "sum over stages of steps x step_time_s x (m + (p - 1) / v) / (m_whole + (p - 1) / v)"
        " / 86400 / goodput",
        source="arXiv 2104.04473 section 2.2", counts=f"{spent(row, ramp)[1]:.6g} s in all",
    )  # fmt: skip
    inputs = (steps, pooled(told, row, "step_time_s"), goodput(told, row))
    return Node("ramp_up_days", row["ramp_up_days"], "days", how=how, inputs=inputs)


def said(told: Told) -> Iterator[Node]:
    """Numbers of the sentences that stand in no row."""
    share = told.question.length.goodput
    if share is None:
        yield Node("goodput", 0.9, note="an example of how days grow with time lost")
        how = How("1 / 0.9 - 1")
        yield Node("more days at goodput 0.9", 1 / 0.9 - 1, "of the days", how=how)
    ramp = _ramp(told)
    if ramp is not None and told.answer.rows:
        yield from _given(ramp)
        yield from _schedule(told, told.answer.rows[0], ramp)
    yield from spread(told)
    for row in told.answer.rows:
        known = spread_of(row, told.chosen.spreads)
        if known and "repeats" in row["range_from"]:
            t = quantile(0.975, known.freedom)
            about = limit(known, row["jobs"])
            how = How(f"exp({t:.4g} x deviation x sqrt(1 + {of_median(row['jobs'])})) - 1")
            inputs = (deviation(told, known), Node("jobs", row["jobs"], note="measured"))
            yield Node("repeats", about, "of the time", how=how, inputs=inputs)


def _schedule(told: Told, row: Row, ramp: RampUp) -> Iterator[Node]:
    """How many replicas, devices and nodes a batch feeds."""
    replica = (row["tp"] or 1) * (row["pp"] or 1) * (row["cp"] or 1)
    per_node = row["device_count"] / row["nodes"] if row["nodes"] and row["device_count"] else None
    batch = ramp.start
    while batch <= row["gbs"]:
        given = Node("batch", batch, "sequences", note="twice the one before, from the start on")
        dp = Node("dp", batch // row["mbs"], how=How("batch / mbs"), inputs=(given,))
        many = Node("devices", batch // row["mbs"] * replica, how=How("dp x tp x pp"), inputs=(dp,))
        yield from (given, dp, many)
        if per_node:
            nodes = max(batch // row["mbs"] * replica / per_node, 1)
            yield Node("nodes", nodes, how=How("devices / devices_per_node"), inputs=(many,))
        batch = min(batch * 2, row["gbs"]) if batch < row["gbs"] else row["gbs"] + 1


def _given(ramp: RampUp) -> Iterator[Node]:
    for name, value in (("start", ramp.start), ("increment", ramp.increment),
                        ("samples", ramp.samples)):  # fmt: skip
        yield Node(name, value, "sequences", note="as asked for with --ramp-up")


def _ramp(told: Told) -> RampUp | None:
    text = told.question.length.ramp_up
    return parse_ramp_up(text) if text else None


VALUES = {
    "days": days, "days_low": end("days_low", "high"), "days_high": end("days_high", "low"),
    "budget_tokens": budget_tokens, "goodput": goodput, "device_hours": device_hours,
    "ramp_up_steps": ramp_up_steps, "ramp_up_days": ramp_up_days,
}  # fmt: skip
