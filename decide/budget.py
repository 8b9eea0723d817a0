"""A training budget: the days it takes at the speed of a run, and where it is stated."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..vocabulary.cell_pieces import half_digit_of
from ..vocabulary.format import number
from ..vocabulary.format import tokens as as_tokens
from ..vocabulary.sizes import parse_size
from .provenance import Derivation, Number

A_SECOND = 1.0  # of a step: days at any other time follow
SECONDS_A_DAY = 86_400
IN_SETTINGS = "bench.toml"
_FEW = 3  # budgets of sources that a derivation lists
UNEQUAL = "rows of another batch do not do equal work in equal steps; --tokens compares equal work"


@dataclass(frozen=True, slots=True)
class Budget:
    """A training budget; `uri` and `line`: where a document states it.

    `tokens` is None if the budget is a number of steps: each row runs them at its own batch.
    `steps` and `tokens_per_step` are None if only tokens are known. Without a stated budget it is
    a unit, and days are a rate: days per 100B tokens.
    `others`: the budgets that the sources state, where they do not agree on one. `stated_by`: every
    document that states it, each with the size of the model that it is for, in 1e9 parameters; None
    is each of the document's.
    """

    tokens: int | None
    steps: int | None
    tokens_per_step: int | None
    origin: str  # --tokens, --steps, bench.toml, stated, unit
    uri: str | None = None
    line: int | None = None
    others: tuple[Budget, ...] = ()
    stated_by: tuple[tuple[str, float | None], ...] = ()

    def of_document(self, row: Mapping[str, Any]) -> tuple[Budget, ...]:
        """Those of `others` that the document of a run states for its model."""
        known = ((row["uri"], parse_size(row["size"] or "")), (row["uri"], None))
        return tuple(one for one in self.others if any(each in one.stated_by for each in known))

    @property
    def amount(self) -> str:
        """What is trained, in words."""
        if self.tokens is None:
            return f"{number(self.steps)} steps"
        return f"{as_tokens(self.tokens)} tokens"

    @property
    def in_words(self) -> str:
        """The amount with its steps: 362,000 steps x 1,048,576 tokens = 379.6B tokens."""
        if not (self.steps and self.tokens_per_step):
            return self.amount
        return f"{number(self.steps)} steps x {number(self.tokens_per_step)} tokens = {self.amount}"

    @property
    def is_unit(self) -> bool:
        """Whether days are per so many tokens, because no budget is stated."""
        return self.origin == "unit"

    @property
    def purpose(self) -> str:
        """What days are for: for 379.6B tokens, per 100B tokens."""
        return f"{'per' if self.is_unit else 'for'} {self.amount}"

    @property
    def caveat(self) -> str:
        """The caveat that follows the amount; empty for tokens."""
        return f": {UNEQUAL}" if self.tokens is None else ""

    @property
    def parameters(self) -> dict[str, float | None]:
        """The budget as queries take it: $tokens, or $steps."""
        if self.tokens is None:
            return {"tokens": None, "steps": float(self.size)}
        return {"tokens": float(self.tokens), "steps": None}

    def tokens_of(self, row: Mapping[str, Any]) -> int | None:
        """The tokens that a row trains; None: not known."""
        if self.tokens is not None:
            return self.tokens
        return self.size * row["tokens_per_step"] if row["tokens_per_step"] else None

    @property
    def size(self) -> int:
        """Tokens, else steps."""
        return (self.steps or 0) if self.tokens is None else self.tokens

    def work(self, row: Mapping[str, Any]) -> Hashable:
        """Equal for rows that do equal work: of equal steps, those of one batch."""
        if self.tokens is not None:
            return None
        return row["tokens_per_step"], row["gbs"], row["device_batch"]

    def speed(self, row: Mapping[str, Any], end: str = "") -> float | None:
        """Tokens or steps of the budget per second of a row; `end`, _low or _high: of its range."""
        rate: float | None = row[f"tokens_per_s{end}"]
        if self.tokens is not None:
            return rate
        if rate and row["tokens_per_step"]:
            return rate / float(row["tokens_per_step"])
        time = row[{"": "step_time_s", "_low": "step_time_high", "_high": "step_time_low"}[end]]
        return 1 / float(time) if time else None

    def days(self, row: Mapping[str, Any], end: str = "") -> float | None:
        """Days at that speed (D1); None: not known."""
        speed = self.speed(row, end)
        return self.size / speed / SECONDS_A_DAY if speed else None

    def days_from(self, row: Mapping[str, Any], goodput: str = "") -> Derivation:
        """How those days are made; `goodput` is further arithmetic, such as ` / goodput`."""
        if self.tokens is not None:
            return _days_of_tokens(self, goodput)
        if row["tokens_per_s"] and row["tokens_per_step"]:
            return _at_rate(self.tokens_number(row), goodput)
        words = f"steps x step_time_s / {SECONDS_A_DAY}{goodput}"
        inputs = (self.number, "step_time_s")
        return Derivation(formula="D1", expression=words, inputs=inputs, unit="days")

    @property
    def number(self) -> Number:
        """The budget with its origin: tokens, or steps of each run."""
        if self.tokens is None:
            return self.steps_number
        if self.steps is None:
            derivation = Derivation(unit="tokens", note=self._origin_text)
            return Number("tokens", self.tokens, derivation, line=self._line)
        derivation = Derivation(unit="tokens", note="" if self._line else self._origin_text)
        per_step = Number("tokens_per_step", self.tokens_per_step, derivation, line=self._line)
        return Number("tokens", self.tokens, _tokens_from(self.steps_number, per_step))

    def tokens_number(self, row: Mapping[str, Any]) -> Number:
        """The tokens that a row trains: of a budget in steps, those at its own batch."""
        if self.tokens is not None:
            return self.number
        derivation = _tokens_from(self.steps_number, "tokens_per_step")
        return Number("tokens", self.tokens_of(row), derivation)

    @property
    def steps_number(self) -> Number:
        """The steps of the budget with their origin."""
        derivation = Derivation(unit="steps", note=self._origin_text)
        return Number("steps", self.steps, derivation, line=self._line)

    @property
    def lacking(self) -> str:
        """Why days are per unit: no budget is stated, or several."""
        if not self.others:
            return "no source states a budget"
        if len(self.others) == 1:
            return "the budget stated is not for every run here"
        return "the sources state several budgets"

    @property
    def _origin_text(self) -> str:
        if self.is_unit:
            stated = ", ".join(
                f"{one.amount} in {one.uri}:{one.line}" for one in self.others[:_FEW]
            )
            more = ", ..." if len(self.others) > _FEW else ""
            return f"a unit, not a budget: {self.lacking}{f': {stated}{more}' if stated else ''}"
        if self.origin == "stated":
            return "stated by the line"
        return f"as {'set in' if self.origin == IN_SETTINGS else 'requested with'} {self.origin}"

    @property
    def _line(self) -> tuple[str, int] | None:
        return (self.uri, self.line) if self.uri is not None and self.line is not None else None


@cache  # alike for all rows of a ranking
def _days_of_tokens(plan: Budget, goodput: str) -> Derivation:
    return _at_rate(plan.number, goodput)


def _at_rate(tokens: Number, goodput: str) -> Derivation:
    words = f"tokens / tokens_per_s / {SECONDS_A_DAY}{goodput}" if goodput else ""
    return Derivation(formula="D1", expression=words, inputs=(tokens, "tokens_per_s"), unit="days")


def _tokens_from(steps: Number, per_step: Number | str) -> Derivation:
    return Derivation(expression="steps x tokens_per_step", inputs=(steps, per_step), unit="tokens")


@dataclass(frozen=True, slots=True)
class Reference:
    """Days at one step time: computed, and as a document prints them."""

    step_time_s: float
    days: float
    printed: float | None
    line: int | None
    differs: bool


def references(plan: Budget, printed: Sequence[Mapping[str, Any]]) -> list[Reference]:
    """Days at one second per step and at the step times that documents name, each compared with the
    days printed there, within their digits.

    Empty where the steps of the budget or their tokens are not stated.
    """
    if plan.steps is None or plan.tokens_per_step is None:
        return []
    stated = {row["step_time_s"]: row for row in printed}
    return [_reference(plan.steps, time, stated.get(time)) for time in sorted({A_SECOND, *stated})]


def _reference(steps: int, time: float, row: Mapping[str, Any] | None) -> Reference:
    days = steps * time / SECONDS_A_DAY
    if row is None:
        return Reference(time, days, None, None, False)
    differs = abs(row["days"] - days) > half_digit_of(row["days"])
    return Reference(time, days, row["days"], row["line"], differs)
