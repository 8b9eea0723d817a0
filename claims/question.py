"""The grammar of a claim's question; it is stored as data and never executed as SQL directly.

    best METRIC for MODEL [on DEVICE] [where EXPR]     the first row of `bench best --by METRIC`
    days [METRIC] for MODEL [on DEVICE] [where EXPR]   that of `bench days`; or device_hours
    value METRIC for MODEL [on DEVICE] [where EXPR]    a metric of the only run that fits

MODEL `all` matches any model; EXPR is as in `--where`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..decide.query import RANKED_BY, Query
from ..decide.selection import listed_columns
from ..schema.errors import BenchError, did_you_mean
from ..schema.warehouse import Warehouse
from ..schema.where_words import tokenize

ANY = "all"
OF_DAYS = ("days", "device_hours")
# Columns that depend on file paths, which differ between machines.
_PLACES = frozenset(("uri", "run_id", "run", "where"))
_EXAMPLE = "best tokens_per_s_per_device for 1.3B on V100 where tp = 1"
Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=1, le=10**18)]


class Part(BaseModel):
    """A part of a claim: strict types, no unknown keys, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Question(Part):
    """A question. Its budgets are the claim's own: the verifier's settings do not apply."""

    answer: Literal["best", "days", "value"] = Field(description="Which answer is claimed.")
    metric: Word = Field(description="The metric, as bench best, days or explain names it.")
    model: Name | None = Field(default=None, description="Size or model label; null: any.")
    device: Name | None = Field(default=None, description="Device, or a part of its name.")
    where: Annotated[str, Field(min_length=1, max_length=2000)] | None = Field(
        default=None, description="Condition in the grammar of --where."
    )
    tokens: Count | None = Field(default=None, description="Training length in tokens, if given.")
    steps: Count | None = Field(default=None, description="Training length in steps, if given.")

    @model_validator(mode="after")
    def _is_known(self) -> Question:
        if self.metric not in metrics(self.answer):  # a ranking would be by its default
            raise ValueError(f"no metric {self.metric!r} of {self.answer!r}")
        if (self.tokens or self.steps) and self.metric not in OF_DAYS:
            raise ValueError(f"a training length does not belong to {self.metric}")
        return self

    def __str__(self) -> str:
        words = [self.answer] if self.answer == self.metric else [self.answer, self.metric]
        words += ["for", self.model or ANY]
        words += ["on", self.device] if self.device else []
        return " ".join([*words, *(["where", self.where] if self.where else [])])

    def query(self, warehouse: Warehouse) -> Query:
        """The question as a query; raises BenchError for an unknown device.

        The temporary table `selected` must hold all runs.
        """
        _refuse_places(self.where, listed_columns(warehouse))
        by = self.metric if self.answer == "best" else None
        query = Query(model=self.model, where=self.where, by=by, tokens=self.tokens,
                      steps=self.steps)  # fmt: skip
        return query.also(self._on(warehouse)) if self.device else query

    def _on(self, warehouse: Warehouse) -> str:
        """The condition for runs on the device: V100 also matches V100-32GB, but not GV100."""
        plain = re.escape((self.device or "").casefold())
        wanted = re.compile(rf"(?<![a-z0-9]){plain}(?![a-z0-9])")
        query = "SELECT DISTINCT device FROM selected WHERE device IS NOT NULL ORDER BY device"
        known = [str(device) for (device,) in warehouse.rows(query)]
        found = [device for device in known if wanted.search(device.casefold())]
        if not found:
            stated = ", ".join(known[:20]) or "none is stated"
            raise BenchError(f"no run on {self.device!r}", why=f"devices: {stated}")
        quoted = (device.replace("'", "''") for device in found)
        return "device in ('" + "', '".join(quoted) + "')"


def parse_question(text: str) -> Question:
    """Parse a question; raises BenchError for a syntax error or an unknown metric."""
    head, where = _cut(text.strip(), "where")
    head, device = _cut(head, "on")
    answer, model = _cut(head, "for")
    kind, _, metric = answer.partition(" ")
    metric = metric.strip() or ("days" if kind == "days" else "")
    if kind not in ("best", "days", "value") or not model or not re.fullmatch(r"\w+", metric):
        raise BenchError(f"cannot read the question {text!r}", hint=_EXAMPLE)
    known = metrics(kind)
    if metric not in known:
        raise BenchError(f"no metric {metric!r} of {kind!r}", hint=did_you_mean(metric, known))
    if max(map(len, (model, device))) > 200 or len(where) > 2000:
        raise BenchError("the question is too long", hint=_EXAMPLE)
    return Question.model_validate({
        "answer": kind, "metric": metric, "model": None if model == ANY else model,
        "device": device or None, "where": where or None,
    })  # fmt: skip


def metrics(kind: str) -> tuple[str, ...]:
    """The metrics that a kind of question asks for."""
    if kind == "best":
        # A claim has no prices, and the verifier's own do not apply.
        return tuple(name for name in RANKED_BY if name != "cost")
    if kind == "days":
        return OF_DAYS
    from ..explain.columns import names

    return tuple(name for name in names() if name not in ("days", "device_days"))


def _cut(text: str, word: str) -> tuple[str, str]:
    """The text before and after the first occurrence of the word."""
    match = re.search(rf"\s{word}\s", text, re.I)
    return (text[: match.start()].strip(), text[match.end() :].strip()) if match else (text, "")


def _refuse_places(where: str | None, columns: dict[str, str]) -> None:
    named = {token.text for token in tokenize(where or "", columns) if token.kind == "column"}
    if wrong := sorted(named & _PLACES):
        raise BenchError(
            f"a claim cannot ask for {wrong[0]!r}", where=where or "",
            why="paths and ids depend on file locations", hint="name line, date, device or sizes",
        )  # fmt: skip
