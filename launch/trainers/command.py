"""Any program: a command line with the words of the plan in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import reduce

from ...schema.errors import BenchError, did_you_mean
from . import Examined, Sizes, Words
from .checker import ask

PLACE = re.compile(r"\{(\w+)\}")
COLUMNS = frozenset({
    "nodes", "dp", "tp", "pp", "mbs", "gbs", "zero_stage", "sequence_parallel", "layers",
    "hidden", "heads", "seq_len", "vocab", "dtype", "recompute",
})  # fmt: skip


class Command:
    """A template such as `python train.py --dp {dp}`; it starts its own processes."""

    framework: str | None = None

    def __init__(self, template: str) -> None:
        self.template = template

    def missing(self) -> str | None:
        """Nothing that we know of."""
        return None

    def examine(self, asked: Sequence[Words]) -> Examined:
        """The settings, the processes that DP x TP x PP come to, and what stands here."""
        return Examined([self._sizes(words) for words in asked], ask([]).device)

    def _sizes(self, words: Words) -> Sizes:
        facts = {name: value for name, value in words.items() if name in COLUMNS}
        if "iterations" in words:
            facts["train_iters"] = words["iterations"]
        cuts = [value for name in ("dp", "tp", "pp") if isinstance(value := words.get(name), int)]
        if cuts:
            facts["ranks"] = reduce(lambda a, b: a * b, cuts)
        self.command(words, facts)  # a word that the plan lacks is an error before anything runs
        return Sizes(facts)

    def command(self, asked: Words, facts: Words) -> list[str]:
        """The template split as a shell does, then filled in: a value is never split."""
        try:
            parts = shlex.split(self.template)
        except ValueError as error:
            raise BenchError(
                "the command of the plan cannot be read", why=str(error), where=self.template
            ) from error
        words = {**facts, **asked}
        return [PLACE.sub(lambda found: self._value(found[1], words), part) for part in parts]

    def _value(self, name: str, words: Words) -> str:
        if name not in words:
            raise BenchError(
                f"the command of the plan names {{{name}}}, which the plan does not set",
                where=self.template,
                hint=did_you_mean(name, sorted(words)),
            )
        return str(words[name])
