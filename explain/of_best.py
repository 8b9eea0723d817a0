"""How the numbers of `bench best` are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..decide.best import order_by
from ..decide.jobs import Spread, spread_of
from ..decide.rows import Row
from ..decide.statistics import ENOUGH, LEVEL
from ..decide.statistics import limit as limit_of
from ..decide.work import Work, model_of, work
from .budget import by_steps
from .computed import by_formula, tokens_per_step, world_size
from .decision import Told
from .node import How, Node
from .places import of_places
from .pooled import devices, pooled


def days(told: Told, row: Row) -> Node:
    """Days of the budget at the rate of the row, goodput 1."""
    how, inputs = of_budget(told, row)
    return Node("days", row["days"], "days", how=how, inputs=inputs)


def of_budget(told: Told, row: Row, more: str = "") -> tuple[How, tuple[Node, ...]]:
    """How days are made of the budget and the speed of a row, and from what."""
    plan = told.world.plan
    if by_steps(plan, row):
        how = by_formula("D1", f"steps x step_time_s / 86400{more}")
        return how, (plan.node(), pooled(told, row, "step_time_s"))
    tokens = plan.of(row, lambda: tokens_per_step(told.case(row["runs"][0][0])))
    how = by_formula("D1", f"tokens / tokens_per_s / 86400{more}" if more else "")
    return how, (tokens, pooled(told, row, "tokens_per_s"))


def device_hours(told: Told, row: Row) -> Node:
    """Days x 24 x devices."""
    inputs = (days(told, row), devices(told, row))
    how = How(f"days x 24 x {inputs[1].name}")
    return Node("device_hours", row["device_hours"], "device-hours", how=how, inputs=inputs)


def normalised(told: Told, row: Row) -> Node | None:
    """The rate that the row would have with the shape of the first, at its FLOP/s."""
    if row.get("tokens_per_s_normalised") is None:
        return None
    rows = told.answer.rows
    known = told.world.once("work", lambda: work(rows))
    if known is None:
        return None
    inputs = (
        pooled(told, row, "tokens_per_s"),
        _per_token(told, row, known, row["rank"] - 1, "flops_per_token"),
        _per_token(told, rows[0], known, 0, "flops_per_token_of_the_first"),
    )
    how = How(
        "tokens_per_s x flops_per_token / flops_per_token_of_the_first",
        title="tokens/s at equal FLOP/s with the shape of the first row",
    )
    value = row["tokens_per_s_normalised"]
    return Node("tokens_per_s_normalised", value, "tokens/s", how=how, inputs=inputs)


def rank(told: Told, row: Row) -> Node:
    """The place in the order."""
    by = _ordering(told, row)
    note = f"of {len(told.answer.rows)} rows, ordered by {by.name}"
    return Node("rank", row["rank"], note=note, inputs=(by,))


def _ordering(told: Told, row: Row) -> Node:
    """What the rows are ranked by."""
    by = told.question.ranked_by or "tokens_per_s"
    need = {"mem": "memory", "tflops": "tflops"}.get(by, "tokens_per_s")
    column = told.world.once(
        "ranked by", lambda: order_by(by, told.chosen.sorted_out(need).kept).column
    )
    return device_hours(told, row) if column == "device_hours" else pooled(told, row, column)


def rank_normalised(told: Told, row: Row) -> Node | None:
    """The place in the order of normalised rates."""
    made = normalised(told, row)
    if made is None:
        return None
    how = How("1 + rows of a higher tokens_per_s_normalised")
    return Node("rank_normalised", row["rank_normalised"], how=how, inputs=(made,))


def ties_with(told: Told, row: Row) -> Node | None:
    """The rank of the row above that it cannot be told from."""
    if row.get("ties_with") is None:
        return None
    known = spread_of(row, told.chosen.spreads)
    leader = told.answer.rows[row["ties_with"] - 1]
    note = "closer than printed digits, or repeats of one configuration, tell"
    inputs = (_ordering(told, leader), _ordering(told, row))
    more = (limit(told, known, leader["jobs"]),) if known else ()
    return Node("ties_with", row["ties_with"], note=note, inputs=(*inputs, *more))


def limit(told: Told, known: Spread, jobs: int) -> Node:
    """By how much jobs of one configuration may differ from the median of so many others."""
    how = How(
        f"exp(t x deviation x sqrt({of_median(jobs)} + 1)) - 1",
        title="95 in 100 differences between jobs of one configuration are less",
        counts=f"t: of Student at {1 - LEVEL / 2} with {known.freedom} degrees of freedom",
    )
    inputs = (deviation(told, known), Node("jobs", jobs, note="measured of the first"))
    return Node("limit", limit_of(known, jobs), "of the time", how=how, inputs=inputs)


def of_median(jobs: int) -> str:
    """The variance of the median of so many jobs over that of one, as a formula."""
    return "1 / jobs" if jobs < 3 else "(pi / 2) / (jobs + pi / 2 - 1)"


def deviation(told: Told, known: Spread) -> Node:
    """The standard deviation of ln(time) between jobs of one configuration."""
    how = How(f"pooled over repeats, {known.freedom} degrees of freedom")
    clusters = Node("clusters", known.clusters, note="configurations whose jobs fall into two")
    inputs = (
        *of_places(told, known.places),
        Node("freedom", known.freedom, note="jobs - sets"),
        *([clusters] if known.clusters else []),
    )
    return Node("deviation", known.deviation, how=how, inputs=inputs)


def said(told: Told) -> Iterator[Node]:
    """Numbers of the sentences that stand in no row."""
    yield from spread(told)


def spread(told: Told) -> Iterator[Node]:
    """What is said of the spread between jobs, and of runs on another side of a boundary."""
    rows = told.answer.rows
    known = spread_of(rows[0], told.chosen.spreads) if rows else None
    if known is not None:
        yield deviation(told, known)
        yield limit(told, known, rows[0]["jobs"])
        yield Node("jobs a side", ENOUGH, note="from which a rank test can tell")
    others = sum(str(row["left_out"]).startswith("other epoch") for row in told.answer.left_out)
    if others:
        yield Node("other epoch", others, note="runs on another side of a boundary")


def _per_token(told: Told, row: Row, known: Work, at: int, name: str) -> Node:
    value = known.per_token[at]
    inputs: tuple[Node, ...]
    if known.method.startswith("F5"):
        case = told.case(row["runs"][0][0])
        params = case.stated("params_b", "params_b", row["params_b"])
        how, inputs = How("6e9 x params_b", "F5"), (params,)
    else:
        column = "model_tflops" if known.method.startswith("F7") else "tflops"
        processes = world_size(told.case(row["runs"][0][0]))
        inputs = (pooled(told, row, column), processes, pooled(told, row, "tokens_per_s"))
        expression = f"{column} x 1e12 x world_size / tokens_per_s"
        models = told.world.once("models", lambda: Counter(map(model_of, told.answer.rows)))
        if (many := models[model_of(row)]) > 1:
            expression = f"median over the {many} rows of its model: {expression}"
        how = How(expression, title=known.method)
    return Node(name, value, "FLOP a token", how=how, inputs=inputs)


VALUES = {
    "rank": rank, "ties_with": ties_with, "days": days, "device_hours": device_hours,
    "tokens_per_s_normalised": normalised, "rank_normalised": rank_normalised,
}  # fmt: skip
