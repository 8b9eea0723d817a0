"""`bench watch`: logs stored as they grow, and how their runs stand as a table or as lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from ..reports.budget import SECONDS_A_DAY
from ..reports.escape import terminal
from ..reports.format import days_words, significant
from ..reports.format import tokens as as_tokens
from ..schema.errors import FINE, FOUND, Locked, NothingRecognised
from ..watch.follow import Follower
from ..watch.standing import Budget, Standing, standings
from .live import clock
from .messages import detail, say, warn
from .settings import find_db, read_settings
from .tables import Format, choose_format, emit, render

if TYPE_CHECKING:
    from rich.table import Table

    from ..ingest.pipeline import Summary

_HEADS = (
    "log", "status", "iteration", "s/it", "TFLOP/s/GPU", "loss", "tokens", "ETA", "days",
    "last line", "warnings",
)  # fmt: skip
_ROWS = 20  # of the table: the logs that were written last
_POLL_S = 0.1
_SHARE = 2  # looking and storing take at most a third of the time


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command, as given."""

    paths: Sequence[Path]
    db: Path | None
    interval_s: float
    hang_after: float | None
    budget: Budget
    lock_timeout: float

    def follower(self) -> Follower:
        """What follows the logs. Raises BenchError for a path that cannot come to be."""
        found = Follower(self.paths, find_db(self.db), self.lock_timeout, read_settings().formats)
        found.check()
        return found


def show(asked: Asked, form: Format | None) -> int:
    """Store what there is, show it once; 1 when a run has something that is warned of."""
    follower = asked.follower()
    _tell(follower, follower.store())
    rows = _standings(asked, follower)
    if not rows:
        raise NothingRecognised(
            "nothing to watch", why="no run stands in any of these files yet",
            hint="bench watch LOG waits for one; bench doctor LOG shows what is not read",
        )  # fmt: skip
    chosen = choose_format(form)
    people = chosen in (Format.TABLE, Format.MD, Format.HTML)
    if people:
        for row in rows:
            for warning in row.warnings:
                warn(f"{row.uri}: {warning}")
        text = render(_HEADS, [_cells(row) for row in rows], chosen)
    else:
        names = [field.name for field in fields(Standing)]
        text = render(names, [[_plain(value) for value in astuple(row)] for row in rows], chosen)
    emit(text)
    return FOUND if any(row.warnings for row in rows) else FINE


def _plain(value: object) -> object:
    return "; ".join(value) if isinstance(value, tuple) else value


def follow(asked: Asked) -> int:
    """Until somebody stops it: store what is new, show how the runs stand."""
    from ..launch.sweep import Stop, listening

    follower, stop = asked.follower(), Stop()
    screen = _Screen() if sys.stdout.isatty() else _Lines()
    with listening(stop):
        say(f"watching {', '.join(map(str, asked.paths))}; Ctrl-C stores what is there and ends")
        with screen:
            while stop.number is None:
                began = time.monotonic()
                _look(asked, follower, screen.show)
                spent = time.monotonic() - began
                _wait(max(asked.interval_s, _SHARE * spent), lambda: stop.number is not None)
        _tell(follower, follower.finish())
    _link(asked, follower)
    say("stored; next: bench runs; bench watch goes on from here")
    return FINE


def _look(asked: Asked, follower: Follower, show: Callable[[list[Standing]], None]) -> None:
    """One round; a warehouse that somebody else holds is tried again in the next."""
    try:
        _tell(follower, follower.store())
        rows = _standings(asked, follower)
    except Locked as error:
        detail(f"{error.what}: later")
        return
    show(rows)


def _wait(seconds: float, over: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while not over() and (left := until - time.monotonic()) > 0:
        time.sleep(min(_POLL_S, left))


def _standings(asked: Asked, follower: Follower) -> list[Standing]:
    from ..schema.warehouse import open_read

    if not follower.db.exists():
        return []
    with open_read(follower.db, asked.lock_timeout) as warehouse:
        return standings(warehouse, follower.uris(), asked.budget, time.time(), asked.hang_after)


def _link(asked: Asked, follower: Follower) -> None:
    """What belongs to the logs, as after an ingest."""
    from .checking import check_file

    check_file(follower.db, asked.lock_timeout, list(follower.uris()))


def _tell(follower: Follower, summary: Summary) -> None:
    for text in follower.failures(summary):
        warn(text)


def _cells(row: Standing) -> list[str]:
    """A run as people read it."""
    planned = f"/{row.planned}" if row.planned else ""
    return [
        row.uri,
        row.status,
        "" if row.iteration is None else f"{row.iteration}{planned}",
        "" if row.step_time_s is None else significant(row.step_time_s, 4),
        "" if row.tflops is None else significant(row.tflops, 3),
        "" if row.loss is None else f"{row.loss:.4g}",
        "" if row.tokens is None else as_tokens(row.tokens),
        clock(row.eta_s),
        _days(row.days),
        f"{clock(row.age_s)} ago",
        "; ".join(row.warnings),
    ]


def _days(days: float | None) -> str:
    if days is None:
        return ""
    return days_words(days) if days >= 1 else clock(days * SECONDS_A_DAY)


class _Lines:
    """A line for each run whose newest step or warnings changed."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[object, ...]] = {}

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is left open."""

    def show(self, rows: list[Standing]) -> None:
        """Print what is new."""
        for row in rows:
            news = row.run_id, row.status, row.iteration, *(w.split()[0] for w in row.warnings)
            if self._shown.get(row.uri) != news:
                self._shown[row.uri] = news
                named = zip(_HEADS[1:-1], _cells(row)[1:-1], strict=True)
                told = [f"{name} {cell}" for name, cell in named if cell]
                told += [f"WARNING {text}" for text in row.warnings]
                emit(terminal(f"{row.uri}: {', '.join(told)}") + "\n")


class _Screen:
    """A table that moves."""

    def __init__(self) -> None:
        from rich.live import Live

        self._live = Live(self._table([]), auto_refresh=False)

    def __enter__(self) -> _Screen:
        self._live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, rows: list[Standing]) -> None:
        """Draw the runs anew, those that were written last."""
        self._live.update(self._table(rows), refresh=True)

    def _table(self, rows: list[Standing]) -> Table:
        from rich.table import Table
        from rich.text import Text

        newest = sorted(rows, key=lambda row: row.age_s)[:_ROWS]
        more = f", {len(rows) - len(newest)} more" if len(rows) > len(newest) else ""
        title = f"{len(newest)} watched{more}; Ctrl-C stores and ends" if rows else "no run yet"
        table = Table(*_HEADS[:-1], title=title)
        for row in newest:
            cells = [Text(terminal(cell)) for cell in _cells(row)[:-1]]
            table.add_row(*cells, style="red" if row.warnings else "")
            for text in row.warnings:
                table.add_row(Text(terminal(f"  {text}")), style="bold red")
        return table
