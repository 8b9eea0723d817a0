"""How days are made: the budget that a page speaks of, and what a run makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..reports.budget import Budget, budget, plans
from ..schema.warehouse import Warehouse
from .case import Case
from .computed import by_formula, count, measured, tokens_per_s, tokens_per_step
from .lines import Lines
from .node import How, Node, Place

_GIVEN = "the plan of the documents, 362,000 steps of 1,048,576 tokens, since "


@dataclass(frozen=True, slots=True)
class Plan:
    """The budget of a page, with the lines that may state it."""

    budget: Budget
    lines: Lines

    def steps(self) -> Node:
        """The steps of the budget and who said so."""
        return Node("steps", self.budget.steps, "steps", place=self._place(), note=self._who())

    def of(self, row: Mapping[str, Any], each: Callable[[], Node]) -> Node:
        """The tokens that a row trains; of so many steps those at its own batch, which `each`
        explains."""
        if self.budget.tokens is not None:
            return self.node()
        made = each()
        if row["basis"] == "fit":
            made = Node(made.name, row["tokens_per_step"], made.unit, note="of the size asked for")
        value, how = self.budget.tokens_of(row), How("steps x tokens_per_step")
        return Node("tokens", value, "tokens", how=how, inputs=(self.steps(), made))

    def node(self) -> Node:
        """The budget and who said so: tokens, or so many steps of each run."""
        plan, steps = self.budget, self.steps()
        if plan.tokens is None:
            return steps
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
    value, low, high = (plan.budget.days(case.row, end) for end in ("", "_high", "_low"))
    if by_steps(plan, case.row):
        how = by_formula("D1", "steps x step_time_s / 86400")
        inputs = (plan.node(), measured(case, "step_time_s"))
    else:
        how, inputs = (
            by_formula("D1"),
            (plan.of(case.row, lambda: tokens_per_step(case)), tokens_per_s(case)),
        )
    return Node("days", value, "days", low, high, how, inputs=inputs)


def by_steps(plan: Plan, row: Mapping[str, Any]) -> bool:
    """Whether days are made of steps and their time alone, since no batch is known."""
    return plan.budget.tokens is None and not (row["tokens_per_s"] and row["tokens_per_step"])


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
