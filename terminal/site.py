"""`bench site`: build once, or repeatedly as results arrive."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import BenchError, Locked
from ..vocabulary.format import counted, number
from .messages import info, warn
from .source import Source

if TYPE_CHECKING:
    from ..decide.query import Query
    from ..site.build import BuildCounts, Options

EVERY_S = 5.0  # between two checks of the warehouse of a served site
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_every(text: str) -> float:
    """Parse the interval of builds: 60s, 5m, 1h. Raises BenchError."""
    match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d{1,3})?)\s*(s|min|m|h)?\s*", text)
    seconds = float(match[1]) * _UNITS[match[2] or ""] if match else 0.0
    if seconds < 1:
        raise BenchError(
            f"{text!r} is no time between two builds", hint="--every 60s, 5m, 1h; at least 1s"
        )
    return seconds


def site(
    source: Source,
    query: Query,
    output: Path,
    options: Options,
    port: int | None,
    every: float | None,
) -> None:
    """Build the site; with a port or interval, repeat until interrupted."""
    if port is None and every is None:
        _tell(_built(source, query, output, options), output)
        return
    with ExitStack() as stack:
        _tell(_built(source, query, output, options), output)
        if port is not None:
            from ..site.serve import serving

            info(f"serving {stack.enter_context(serving(output, port))}; Ctrl-C ends it")
        _follow(source, lambda: _built(source, query, output, options), every or EVERY_S)


def _follow(source: Source, again: Callable[[], BuildCounts], every: float) -> None:
    """Rebuild whenever the warehouse has changed, or after every interval for paths."""
    seen = _state(source)
    while True:
        time.sleep(every)
        now = _state(source)
        if now is not None and now == seen:
            continue
        try:
            built = again()
        except Locked:  # being written: rebuilt at the next check
            continue
        except BenchError as error:
            warn(str(error))
            continue
        seen = now
        if built.written > 1:
            info(f"{counted(built.runs, 'run')}, {counted(built.written, 'file')} written")


def _state(source: Source) -> tuple[int, int] | None:
    """A fingerprint of the warehouse for detecting changes; None for paths."""
    from ..project.settings import find_db

    if source.paths:
        return None
    try:
        found = find_db(source.db).stat()
    except OSError:
        return (0, 0)
    return found.st_mtime_ns, found.st_size


def _built(source: Source, query: Query, output: Path, options: Options) -> BuildCounts:
    from ..site.build import build

    with source.opened() as warehouse:
        return build(warehouse, source.root, output, query, options)


def _tell(built: BuildCounts, output: Path) -> None:
    removed = f", {built.removed} removed" if built.removed else ""
    info(
        f"{counted(built.runs, 'run')}: {counted(built.files, 'file')}, "
        f"{number(built.written)} written{removed}; open {output}/index.html"
    )
