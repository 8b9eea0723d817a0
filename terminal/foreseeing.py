"""`bench predict` and `bench plan`: open, answer, write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..schema.errors import BenchError
from .answers import fitted, write
from .messages import info
from .source import Source
from .tables import Format

if TYPE_CHECKING:
    from ..decide.query import Query

_RECOMPUTE = ("none", "selective", "full")
_SHOWN = 20  # rows of a ranking that people are shown


def predict(
    source: Source,
    query: Query,
    asked: Mapping[str, Any],
    every: bool,
    form: Format | None,
    output: Path | None,
) -> None:
    """Write what is predicted of one configuration, or of all."""
    from ..foresight.answers import predicted
    from ..reports.computed import names_of, presented

    if asked.get("recompute", "none") not in _RECOMPUTE:
        raise BenchError(
            f"--recompute {asked['recompute']!r} is unknown", hint=f"one of {', '.join(_RECOMPUTE)}"
        )
    with source.opened(query.table) as warehouse:
        made = predicted(warehouse, query, asked, every)
        names = names_of(warehouse)
    write(fitted(presented(made, names, _SHOWN), query), form, output, "predict.md")
    counted = f"{len(made.rows)} rows, {len(made.left_out)} excluded"
    info(f"{counted}; next: bench plan --next 5" if every else f"{counted}; --all ranks all splits")
