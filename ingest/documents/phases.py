"""Reinforcement learning: columns of generation and of training next to each other.

Under `Generation TP | Training TP` the latter is of the run, the former of another set of processes
that measures nothing here. The time of a phase is not that of a step, nor the time to train.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary.headings import column_of
from .grid import Table

_EDGE = r"[\s:/|(\[,_-]"
_GENERATION = re.compile(
    r"\W*(?:gen(?:erat(?:ion|or|e))?\.?|roll-?outs?|inference|infer|sampling|sampler|decod(?:e|ing)"
    r"|vllm|sglang)"
    rf"(?=$|{_EDGE}|\))|\W*G-(?=\w)",  # `G-TP | T-TP`
    re.I,
)
_ROLLOUT = re.compile(rf"(?!\W*infer){_GENERATION.pattern}", re.I)  # of a step of the training
_TRAINING = re.compile(
    r"\W*(?:train(?:ing|er|s)?|(?:actor|policy|model|gradient)[ _-](?:train(?:ing)?|updates?)"
    r"|actor|policy|learner|updates?)"
    rf"(?=$|{_EDGE}|\))[\s:/|,_-]*|\W*T-(?=\w)",
    re.I,
)
_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,40})[)\]]")
_TIMES = frozenset(("step_time", "train_time", "days"))
_PHASE = "Training phase"  # before a heading of a time, so that it is no step time


def with_training_alone(table: Table) -> Table:
    """The table with the columns of training named as those of runs; unchanged without both phases.

    Columns of generation keep their headings, by which they are not read, and belong to no group.
    """
    heads = table.header.cells
    if not has_both_phases(heads):
        return table
    served = not any(_ROLLOUT.match(head) for head in heads)
    cells = tuple(_renamed(head, served=served) for head in heads)
    groups = tuple(
        "" if _GENERATION.match(head) or _TRAINING.match(head) else group
        for head, group in zip(heads, table.groups, strict=False)
    )
    same = cells == heads and groups == table.groups
    return table if same else replace(
        table, header=replace(table.header, cells=cells), groups=groups
    )  # fmt: skip


def has_both_phases(headings: Sequence[str]) -> bool:
    """Whether some of the headings are of generation and others of training."""
    return any(map(_GENERATION.match, headings)) and any(map(_TRAINING.match, headings))


def without_generation(headings: Sequence[str]) -> list[str]:
    """The headings but those of generation."""
    return [heading for heading in headings if not _GENERATION.match(heading)]


def _renamed(heading: str, *, served: bool) -> str:
    """The heading as that of a run; `served`: what generates is the trained model, afterwards."""
    if _GENERATION.match(heading):
        return f"Generation phase: {heading}" if column_of(heading) else heading
    match = _TRAINING.match(heading)
    if match is None:
        return heading
    rest = heading[match.end() :].strip()
    column = column_of(rest) or column_of(heading)
    bare = _BRACKETS.sub(r"\1", rest).strip()
    if column is None:
        column, rest = column_of(bare), bare
    if column is None:
        return heading
    own = column_of(heading)
    if served and own and own.name == "train_time":
        return heading
    if column.name in _TIMES:
        return f"{_PHASE}: {heading}" if column_of(heading) else heading
    return rest if column_of(rest) else heading
