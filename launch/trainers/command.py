"""Any program: a command template filled with values of the plan."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from ...schema.errors import BenchError, did_you_mean
from ..trainer import CheckedCases, Sizes, Trainer, Words, check_flags

if TYPE_CHECKING:
    from ..plan import Plan

AXES = ("dp", "tp", "pp", "cp")  # their product is the number of processes
PLACE = re.compile(r"\{(\w+)\}")
COLUMNS = frozenset({
    "nodes", "dp", "tp", "pp", "cp", "ep", "vpp", "mbs", "gbs", "zero_stage",
    "sequence_parallel", "layers", "hidden", "heads", "seq_len", "vocab", "dtype", "recompute",
})  # fmt: skip


class Command(Trainer):
    """A template such as `python train.py --dp {dp}` that starts its own processes."""

    needs = "command"
    example = 'trainer = "command" and command = "python train.py --dp {dp}"'
    starts_all_ranks = True

    def __init__(self, template: str) -> None:
        self.template = template

    @classmethod
    def of(cls, plan: Plan) -> Command:
        """The template of the plan."""
        return cls(plan.command or "")

    def examine(self, requested: Sequence[Words]) -> CheckedCases:
        """The settings, DP x TP x PP x CP processes, and the local device."""
        return CheckedCases([self._sizes(words) for words in requested], check_flags([]).device)

    def _sizes(self, words: Words) -> Sizes:
        facts = {name: value for name, value in words.items() if name in COLUMNS}
        if "iterations" in words:
            facts["train_iters"] = words["iterations"]
        cuts = [value for name in AXES if isinstance(value := words.get(name), int)]
        if cuts:
            facts["ranks"] = reduce(lambda a, b: a * b, cuts)
        self.command(words, facts)  # raises before anything runs if a value is missing
        return Sizes(facts)

    def command(self, requested: Words, facts: Words) -> list[str]:
        """The template split as in a shell, then filled in, so that values are never split."""
        try:
            parts = shlex.split(self.template)
        except ValueError as error:
            raise BenchError(
                "cannot parse the plan's command", why=str(error), where=self.template
            ) from error
        words = {**facts, **requested}
        return [PLACE.sub(lambda match: self._value(match[1], words), part) for part in parts]

    def _value(self, name: str, words: Words) -> str:
        if name not in words:
            raise BenchError(
                f"the plan's command uses {{{name}}}, which is not set",
                where=self.template,
                hint=did_you_mean(name, sorted(words)),
            )
        return str(words[name])
