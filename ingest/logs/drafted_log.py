"""The lines of a log that a format is drafted from: those that no known format reads as steps.

An engine below an unknown trainer, and a bar, print steps too. What the trainer prints is joined
to them by number, so its numbers have to be theirs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from .dialect import Dialect
from .drafted import MOST_LINES, Draft, drafted
from .lines import Line

ALIKE = 0.8  # of the drafted steps have the number of the engine's step above or below


def drafted_beside(lines: Iterable[Line], known: Sequence[Dialect]) -> Draft | None:
    """A draft from lines that `known` formats do not read; None if these number steps otherwise."""
    rest: list[Line] = []
    engine: list[tuple[int, int]] = []
    for _, line in zip(range(MOST_LINES), lines, strict=False):
        records = filter(None, (dialect.read(line.text) for dialect in known))
        steps = [record.fields.get("iteration") for record in records]
        engine += [(line.number, step) for step in steps if isinstance(step, int)]
        if not steps:
            rest.append(line)
    draft = drafted(rest)
    return draft if draft and _agree(draft, rest, engine) else None


def _agree(draft: Draft, lines: Sequence[Line], engine: Sequence[tuple[int, int]]) -> bool:
    places = [number for number, _ in engine]
    checked = alike = 0
    for line in lines:
        record = draft.dialects[0].read(line.text)
        if record is None:
            continue
        at = bisect_left(places, line.number)
        near = {step for _, step in engine[max(0, at - 1) : at + 1]}
        checked += 1
        alike += record.fields.get("iteration") in near
    return not engine or alike >= ALIKE * checked
