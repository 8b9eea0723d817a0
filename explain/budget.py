"""How days are made: the budget that a page speaks of, and what a run makes of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..reports.budget import SECONDS_A_DAY, Budget, budget, plans
from ..schema.warehouse import Warehouse
from .case import Case
from .computed import by_formula, count, tokens_per_s
from .lines import Lines
from .node import How, Node, Place

_GIVEN = "the plan of the documents, 362,000 steps of 1,048,576 tokens, since "


@dataclass(frozen=True, slots=True)
class Plan:
    """The budget of a page, with the lines that may state it."""

    budget: Budget
    lines: Lines

    @property
    def tokens(self) -> int:
        return self.budget.tokens

    def node(self) -> Node:
        """The tokens of the budget and who said so."""
        plan = self.budget
        steps = Node("steps", plan.steps, "steps", place=self._place(), note=self._who())
        per_step = Node("tokens_per_step", plan.tokens_per_step, "tokens", place=self._place())
        if plan.origin == "--tokens":
            return Node("tokens", plan.tokens, "tokens", note="as asked for with --tokens")
        how = How("steps x tokens_per_step")
        return Node("tokens", plan.tokens, "tokens", how=how, inputs=(steps, per_step))

    def _place(self) -> Place | None:
        uri, line = self.budget.uri, self.budget.line
        return Place(uri, line, None, self.lines.text(uri, line)) if uri else None

    def _who(self) -> str:
        if self.budget.origin == "stated":
            return "stated by the line"
        if self.budget.origin != "default":
            return f"as asked for with {self.budget.origin}"
        several = "the sources do not agree" if self.budget.others else "no source states one"
        return _GIVEN + several


def plan_of(warehouse: Warehouse, lines: Lines, tokens: int | None, steps: int | None) -> Plan:
    """The budget of a page on the runs of `selected`."""
    return Plan(budget(*plans(warehouse), tokens, steps), lines)


def days(case: Case, plan: Plan) -> Node:
    """Days to train the budget on one run's speed."""
    row = case.row
    inputs = (plan.node(), tokens_per_s(case))
    value, low, high = (
        plan.tokens / speed / SECONDS_A_DAY if speed else None
        for speed in (row["tokens_per_s"], row["tokens_per_s_high"], row["tokens_per_s_low"])
    )
    return Node("days", value, "days", low, high, by_formula("D1"), inputs=inputs)


def device_days(case: Case, plan: Plan) -> Node:
    """Days times devices (processes of a source that states no devices)."""
    one, number = days(case, plan), count(case)
    value = (
        one.value * number.value
        if isinstance(one.value, float) and isinstance(number.value, int)
        else None
    )
    how = How(f"days x {number.name}")
    return Node("device_days", value, "device-days", how=how, inputs=(one, number))
