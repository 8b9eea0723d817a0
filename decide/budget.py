"""How many tokens a page's days are for, and who said so."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.format import number
from ..vocabulary.format import tokens as as_tokens
from ..vocabulary.sizes import parse_size
from .provenance import Derivation, Number, given

STEPS, TOKENS_PER_STEP = 362_000, 1_048_576  # the documents' plan: 362k steps of 1024 x 1024 tokens
REFERENCE_TIMES_S = (0.5, 1.0, 2.0, 3.0, 10.0)
SECONDS_A_DAY = 86_400
_DEFAULT = "the plan of the documents, 362,000 steps of 1,048,576 tokens, since "
UNEQUAL = "rows of another batch do not do equal work in equal steps; --tokens compares equal work"


@dataclass(frozen=True, slots=True)
class Budget:
    """A training budget; `uri` and `line` say where a document states it.

    `tokens` is None if a number of steps was given: each row runs them at its own batch.
    `others`: the budgets that the sources state, where they do not agree on one.
    """

    tokens: int | None
    steps: int
    tokens_per_step: int | None
    origin: str  # --tokens, --steps, stated, default
    uri: str | None = None
    line: int | None = None
    others: tuple[Budget, ...] = ()

    @property
    def amount(self) -> str:
        """What is trained, in words."""
        if self.tokens is None:
            return f"{number(self.steps)} steps"
        return f"{as_tokens(self.tokens)} tokens"

    @property
    def caveat(self) -> str:
        """What has to be said beside it."""
        return f": {UNEQUAL}" if self.tokens is None else ""

    @property
    def parameters(self) -> dict[str, float | None]:
        """The budget as queries take it: $tokens, or $steps."""
        if self.tokens is None:
            return {"tokens": None, "steps": float(self.steps)}
        return {"tokens": float(self.tokens), "steps": None}

    def tokens_of(self, row: Mapping[str, Any]) -> int | None:
        """The tokens that a row trains; None: not known."""
        if self.tokens is not None:
            return self.tokens
        return self.steps * row["tokens_per_step"] if row["tokens_per_step"] else None

    @property
    def size(self) -> int:
        """Tokens, else steps."""
        return self.steps if self.tokens is None else self.tokens

    def work(self, row: Mapping[str, Any]) -> Hashable:
        """Equal for rows that do equal work: of equal steps, those of one batch."""
        if self.tokens is not None:
            return None
        return row["tokens_per_step"], row["gbs"], row["device_batch"]

    def speed(self, row: Mapping[str, Any], end: str = "") -> float | None:
        """What a row trains of the budget in a second; `end`, _low or _high: of its range."""
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
        if self.tokens is None and not (row["tokens_per_s"] and row["tokens_per_step"]):
            inputs: tuple[str | Number, ...] = (self.number, "step_time_s")
            words = f"steps x step_time_s / {SECONDS_A_DAY}{goodput}"
        else:
            inputs = (self.tokens_number(row), "tokens_per_s")
            words = f"tokens / tokens_per_s / {SECONDS_A_DAY}{goodput}" if goodput else ""
        return Derivation(formula="D1", expression=words, inputs=inputs, unit="days")

    @property
    def number(self) -> Number:
        """The budget and who said so: tokens, or so many steps of each run."""
        if self.tokens is None:
            return self.steps_number
        if self.origin == "--tokens":
            return given("tokens", self.tokens, "tokens", "as asked for with --tokens")
        made = Derivation(unit="tokens", note="" if self._line else "of the same plan")
        per_step = Number("tokens_per_step", self.tokens_per_step, made, line=self._line)
        return Number("tokens", self.tokens, _tokens_from(self.steps_number, per_step))

    def tokens_number(self, row: Mapping[str, Any]) -> Number:
        """The tokens that a row trains; of so many steps those at its own batch."""
        if self.tokens is not None:
            return self.number
        made = _tokens_from(self.steps_number, "tokens_per_step")
        return Number("tokens", self.tokens_of(row), made)

    @property
    def steps_number(self) -> Number:
        """The steps of the budget and who said so."""
        several = "the sources do not agree" if self.others else "no source states one"
        who = {"stated": "stated by the line", "default": _DEFAULT + several}
        note = who.get(self.origin, f"as asked for with {self.origin}")
        return Number("steps", self.steps, Derivation(unit="steps", note=note), line=self._line)

    @property
    def _line(self) -> tuple[str, int] | None:
        return (self.uri, self.line) if self.uri is not None and self.line is not None else None


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


def budget(
    plans: Sequence[Mapping[str, Any]], sizes: set[float], tokens: int | None, steps: int | None
) -> Budget:
    """The budget by --tokens or --steps, else what sources agree on, else the tokens of 362k steps.

    Raises BenchError if both are given.
    """
    if tokens is not None and steps is not None:
        raise BenchError(
            "--tokens and --steps are two budgets", why="each tells the length of the training",
            hint="give one of them",
        )  # fmt: skip
    found = [budget for plan in plans if (budget := _stated(plan, sizes))]
    # Two documents with one plan agree; with two, no guess which is meant.
    differ = {budget.tokens or 0: budget for budget in reversed(found)}
    stated = found[0] if len(differ) == 1 else None
    per_step = (stated and stated.tokens_per_step) or TOKENS_PER_STEP
    if tokens is not None:
        return Budget(tokens, round(tokens / per_step), per_step, "--tokens")
    if steps is not None:
        return Budget(None, steps, None, "--steps")
    if stated:
        return stated
    others = tuple(differ[tokens] for tokens in sorted(differ))
    return Budget(STEPS * TOKENS_PER_STEP, STEPS, TOKENS_PER_STEP, "default", others=others)


def planned(warehouse: Warehouse, tokens: int | None, steps: int | None) -> Budget:
    """The budget for the runs of the temporary table `selected`."""
    return budget(*plans(warehouse), tokens, steps)


def plans(warehouse: Warehouse) -> tuple[list[dict[str, Any]], set[float]]:
    """What the selected sources state of the training's length, and the sizes selected."""
    stated = warehouse.dicts(
        """SELECT uri, line, value, unit, detail FROM statements
           WHERE kind = 'plan' AND uri IN (SELECT uri FROM selected) ORDER BY uri, line"""
    )
    sizes = {
        size
        for (size,) in warehouse.rows(
            "SELECT DISTINCT params_b FROM selected WHERE params_b IS NOT NULL"
        )
    }
    return stated, sizes


def references(plan: Budget, printed: Sequence[Mapping[str, Any]]) -> list[Reference]:
    """The reference list of the documents, computed; beside it what they print, to its digits."""
    stated = {row["step_time_s"]: row for row in printed}
    return [
        _reference(plan, time, stated.get(time)) for time in sorted({*REFERENCE_TIMES_S, *stated})
    ]


def _reference(plan: Budget, time: float, row: Mapping[str, Any] | None) -> Reference:
    days = plan.steps * time / SECONDS_A_DAY
    if row is None:
        return Reference(time, days, None, None, False)
    digits = len(str(row["days"]).partition(".")[2])
    differs = abs(row["days"] - days) > 0.5 * 10.0**-digits
    return Reference(time, days, row["days"], row["line"], differs)


def _stated(plan: Mapping[str, Any], sizes: set[float]) -> Budget | None:
    detail = plan["detail"] or {}
    size = parse_size(detail["size"]) if detail.get("size") else None
    # A plan for 13B says nothing of the 1.3B runs in the same document.
    if size is not None and sizes and size not in sizes:
        return None
    # What a sentence gives as a plan may be any number.
    if not 0 < plan["value"] < 1e18:
        return None
    if plan["unit"] == "tokens":
        tokens = round(plan["value"])
        return Budget(
            tokens,
            round(tokens / TOKENS_PER_STEP),
            TOKENS_PER_STEP,
            "stated",
            plan["uri"],
            plan["line"],
        )
    if not (detail.get("gbs") and detail.get("seq_len")):
        return None
    per_step, steps = int(detail["gbs"]) * int(detail["seq_len"]), round(plan["value"])
    if not per_step:
        return None
    return Budget(steps * per_step, steps, per_step, "stated", plan["uri"], plan["line"])
