"""Whether steps that begin again are of another training, though no line says that one starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .record import Fields
from .step import OPEN_STEPS, members_of

if TYPE_CHECKING:
    from .steps import Steps

FIRST_STEPS = (0, 1)  # a training that goes on from a checkpoint does not begin with them
COUNTS = ("consumed_tokens", "consumed_samples")
AS_BEFORE = 0.05  # of the first loss: models differ, and losses are means
FALLEN = 0.9  # of the first loss: the training has learned


def begins_anew(steps: Steps, fields: Fields) -> bool:
    """Whether a step is the first of another training than these steps.

    It has the number of their first one, and what grows or falls is where it was: a count, the
    learning rate, else the loss. A line with the first one's loss is a late copy of it.
    """
    first, newest = steps.beginning, steps.newest
    if newest is None or steps.segment > 1 or fields.get("iteration") != steps.begins_at:
        return False
    if steps.begins_at not in FIRST_STEPS or newest.iteration < steps.begins_at + OPEN_STEPS:
        return False
    if fields.get("loss") == first.get("loss") or _epoch(fields) > _epoch(newest.fields):
        return False
    for name in COUNTS:
        if fields.get(name) is not None and fields.get(name) == first.get(name):
            return True
    rate, lr = newest.fields.get("lr"), fields.get("lr")
    if rate is not None and lr is not None:
        return lr == first.get("lr") != rate
    before, last, loss = (row.get("loss") for row in (first, newest.fields, fields))
    if isinstance(before, float) and isinstance(last, float) and isinstance(loss, float):
        return last < FALLEN * before and abs(loss - before) <= AS_BEFORE * before
    return False


def _epoch(fields: Fields) -> float:
    printed = fields.get("epoch", members_of(fields.get("more")).get("epoch"))
    try:
        return float(str(printed))
    except ValueError:
        return 0.0
