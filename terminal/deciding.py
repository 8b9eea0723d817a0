"""`bench best`, `bench days` and computed reports: open, ask, write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .answers import Source, fitted, write
from .messages import say
from .tables import Format

if TYPE_CHECKING:
    from ..decide.asked import Asked, Length


def best(
    source: Source,
    asked: Asked,
    by: str,
    next_to: bool,
    form: Format | None,
    output: Path | None,
) -> None:
    """Rank configurations, or plan those next to the best."""
    from ..decide.answers import answered

    with source.opened(asked.table) as warehouse:
        answer = answered(warehouse, "best", asked, by)
        if next_to:
            from .planning import plan

            plan(warehouse, asked, answer, form, output)
            return
    write(fitted(answer, asked), form, output, "best.md")
    say(f"{len(answer.rows)} ranked, {len(answer.left_out)} left out; next: bench show FILE:LINE")


def days(
    source: Source, asked: Asked, length: Length, form: Format | None, output: Path | None
) -> None:
    """Tell days and device-hours."""
    from ..decide.answers import lasting

    with source.opened(asked.table) as warehouse:
        answer = lasting(warehouse, asked, length)
    write(fitted(answer, asked), form, output, "days.md")
    say(f"{len(answer.rows)} rows, {len(answer.left_out)} left out; next: bench best")


def report(
    name: str, source: Source, asked: Asked, form: Format | None, output: Path | None
) -> None:
    """Write a report that is computed: `best` or `scaling`."""
    from ..decide.answers import answered

    with source.opened(asked.table) as warehouse:
        answer = answered(warehouse, name, asked)
    write(fitted(answer, asked), form, output, f"{name}.md")
    say(f"{len(answer.rows)} rows, {len(answer.left_out)} left out")


__all__ = ["best", "days", "report"]
