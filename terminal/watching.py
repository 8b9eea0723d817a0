"""`bench watch`: logs stored as they grow, and how their runs stand as a table or as lines."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..reports.escape import terminal
from ..schema.errors import FINE, FOUND, Locked, NothingRecognised
from ..watch.follow import Follower
from ..watch.standing import Budget, Standing, standings
from .messages import detail, say, warn
from .settings import find_db, read_settings
from .standing import Column, columns_of, drawn, exact
from .tables import Format, choose_format, emit, render

if TYPE_CHECKING:
    from ..ingest.pipeline import Summary
    from ..launch.sweep import Stop

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
    columns: str | None = None

    def follower(self) -> Follower:
        """What follows the logs. Raises BenchError for a path that cannot come to be."""
        found = Follower(self.paths, find_db(self.db), self.lock_timeout, read_settings().formats)
        found.check()
        return found


def show(asked: Asked, form: Format | None) -> int:
    """Store what there is, show it once; 1 when a run has something that is warned of."""
    chosen = choose_format(form)
    people = chosen in (Format.TABLE, Format.MD, Format.HTML)
    columns = columns_of(asked.columns, people=people)
    follower = asked.follower()
    _tell(follower, follower.store())
    rows = _standings(asked, follower)
    if not rows:
        raise NothingRecognised(
            "nothing to watch", why="no run stands in any of these files yet",
            hint="bench watch LOG waits for one; bench doctor LOG shows what is not read",
        )  # fmt: skip
    if people:
        for row in rows:
            for warning in row.warnings:
                warn(f"{row.uri}: {warning}")
        cells = [[column.cell(row) for column in columns] for row in rows]
        text = render([column.head for column in columns], cells, chosen)
    else:
        exactly = [exact(row, columns) for row in rows]
        text = render([column.name for column in columns], exactly, chosen)
    emit(text)
    return FOUND if any(row.warnings for row in rows) else FINE


def follow(asked: Asked) -> int:
    """Until somebody stops it: store what is new, show how the runs stand."""
    from ..launch.sweep import Stop, listening

    follower, stop = asked.follower(), Stop()
    columns = columns_of(asked.columns, people=True)
    screen = _Screen(columns) if sys.stdout.isatty() else _Lines(columns)
    with listening(stop):
        say(f"watching {', '.join(map(str, asked.paths))}; Ctrl-C stores what is there and ends")
        with screen:
            while stop.number is None:
                began = time.monotonic()
                _look(asked, follower, screen.show)
                spent = time.monotonic() - began
                _wait(max(asked.interval_s, _SHARE * spent), lambda: _is_over(stop))
        _tell(follower, follower.finish())
    _link(asked, follower)
    with suppress(OSError):
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


def _is_over(stop: Stop) -> bool:
    """Whether somebody stops it. Raises BrokenPipeError when nobody reads it any more."""
    poll = select.poll()
    poll.register(sys.stdout, 0)
    if any(event == select.POLLERR for _, event in poll.poll(0)):  # of a terminal: with POLLHUP
        raise BrokenPipeError
    return stop.number is not None


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


class _Lines:
    """A line for each run whose newest step or warnings changed."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = [c for c in columns if c.name not in ("uri", "warnings")]
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
                named = ((column.head, column.cell(row)) for column in self._columns)
                told = [f"{name} {cell}" for name, cell in named if cell]
                told += [f"WARNING {text}" for text in row.warnings]
                emit(terminal(f"{row.uri}: {', '.join(told)}") + "\n")


class _Screen:
    """A table that moves."""

    def __init__(self, columns: Sequence[Column]) -> None:
        from rich.live import Live

        self._columns = columns
        self._live = Live(auto_refresh=False)

    def __enter__(self) -> _Screen:
        self._live.__enter__()
        self.show([])
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # a terminal that was closed
            self._live.__exit__(None, None, None)

    def show(self, rows: list[Standing]) -> None:
        """Draw the runs anew, those that were written last."""
        width, height = self._live.console.size
        with suppress(OSError):  # the signal that tells it comes next, and ends the watch
            self._live.update(drawn(rows, self._columns, width, height), refresh=True)
