"""A block of steps that one format reads at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .dialect import Dialect
from .record import Fields

if TYPE_CHECKING:
    from .blocks import Whole


@dataclass(frozen=True, slots=True)
class StepBlock:
    """A block of steps of one format, in the order of the log."""

    dialect: Dialect
    iterations: Whole
    lines: Whole
    rank_prefix: str
    texts: Sequence[str]  # the newest lines, which a copy may repeat
    fields: Callable[[int], Fields]  # of the step at a place
