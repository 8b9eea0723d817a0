"""`bench watch`: ingest growing logs, and show the status of their runs as a table or lines."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..project.settings import find_db, read_settings
from ..schema.errors import FINE, FOUND, Locked, NothingRecognised
from ..schema.location import is_there
from ..vocabulary.printable import terminal
from ..watch.follow import Follower
from ..watch.status import Budget, RunStatus, statuses
from .messages import detail, info, warn
from .source import Source
from .status import StatusColumn, columns_of, drawn, exact
from .tables import Format, choose_format, emit, render

if TYPE_CHECKING:
    from ..ingest.files.summary import Summary
    from ..launch.sweep import StopRequest

_POLL_S = 0.1
_SHARE = 2  # reading and storing take at most a third of the time


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The options of the command, as given."""

    paths: Sequence[Path]
    source: Source
    interval_s: float
    hang_after: float | None
    budget: Budget
    columns: str | None = None

    def follower(self) -> Follower:
        """The follower of the logs. Raises BenchError for a path whose folder does not exist."""
        found = Follower(
            self.paths, find_db(self.source.db), self.source.lock_timeout, read_settings().formats
        )
        found.check()
        return found


def show(options: WatchOptions, form: Format | None) -> int:
    """Ingest and show the status once; returns 1 if a run has a warning."""
    chosen = choose_format(form)
    people = chosen in (Format.TABLE, Format.MD, Format.HTML)
    columns = columns_of(options.columns, people=people)
    follower = options.follower()
    _warn_failures(follower, follower.store())
    rows = _statuses(options, follower)
    if not rows:
        raise NothingRecognised(
            "nothing to watch", why="no runs found in these files yet",
            hint="bench watch without --once waits for runs; bench doctor LOG lists unread lines",
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


def follow(options: WatchOptions) -> int:
    """Ingest new lines and show the status until stopped."""
    from ..launch.sweep import StopRequest, stop_on_signals

    follower, stop = options.follower(), StopRequest()
    columns = columns_of(options.columns, people=True)
    screen = _Screen(columns) if sys.stdout.isatty() else _Lines(columns)
    with stop_on_signals(stop):
        named = (
            f"{one}{'' if os.path.exists(one) else ' (not there yet)'}" for one in options.paths
        )
        info(f"watching {', '.join(named)}; Ctrl-C to stop")
        with screen:
            while stop.number is None:
                began = time.monotonic()
                _update(options, follower, screen.show)
                spent = time.monotonic() - began
                _wait(max(options.interval_s, _SHARE * spent), lambda: _is_over(stop))
        _warn_failures(follower, follower.finish())
    _link(options, follower)
    with suppress(OSError):
        info("stored; next: bench runs" if follower.found else "nothing stored: no log was there")
    return FINE


def _update(
    options: WatchOptions, follower: Follower, show: Callable[[list[RunStatus]], None]
) -> None:
    """One round; a locked warehouse is tried again in the next."""
    try:
        _warn_failures(follower, follower.store())
        rows = _statuses(options, follower)
    except Locked as error:
        detail(f"{error.what}; will retry")
        return
    show(rows)


def _is_over(stop: StopRequest) -> bool:
    """Whether a signal requested the stop. Raises BrokenPipeError if stdout was closed."""
    poll = select.poll()
    poll.register(sys.stdout, 0)
    if any(event == select.POLLERR for _, event in poll.poll(0)):  # of a terminal: with POLLHUP
        raise BrokenPipeError
    return stop.number is not None


def _wait(seconds: float, over: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while not over() and (left := until - time.monotonic()) > 0:
        time.sleep(min(_POLL_S, left))


def _statuses(options: WatchOptions, follower: Follower) -> list[RunStatus]:
    from ..schema.opening import open_read

    if not is_there(follower.db):
        return []
    with open_read(follower.db, options.source.lock_timeout) as warehouse:
        return statuses(warehouse, follower.uris(), options.budget, time.time(), options.hang_after)


def _link(options: WatchOptions, follower: Follower) -> None:
    """Post-process the logs as after an ingest."""
    from ..project.after_ingest import after_ingest_into

    after_ingest_into(follower.db, options.source.lock_timeout, list(follower.uris()))


def _warn_failures(follower: Follower, summary: Summary) -> None:
    for text in follower.failures(summary):
        warn(text)


class _Lines:
    """Prints a line for each run with a new step or warning."""

    def __init__(self, columns: Sequence[StatusColumn]) -> None:
        self._columns = [c for c in columns if c.name not in ("uri", "warnings")]
        self._shown: dict[str, tuple[object, ...]] = {}

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to close."""

    def show(self, rows: list[RunStatus]) -> None:
        """Print the changed runs."""
        for row in rows:
            news = row.run_id, row.status, row.iteration, *(w.split()[0] for w in row.warnings)
            if self._shown.get(row.uri) != news:
                self._shown[row.uri] = news
                named = ((column.head, column.cell(row)) for column in self._columns)
                cells = [f"{name} {cell}" for name, cell in named if cell]
                cells += [f"WARNING {text}" for text in row.warnings]
                emit(terminal(f"{row.uri}: {', '.join(cells)}") + "\n")


class _Screen:
    """A live table."""

    def __init__(self, columns: Sequence[StatusColumn]) -> None:
        from rich.live import Live

        self._columns = columns
        self._live = Live(auto_refresh=False)

    def __enter__(self) -> _Screen:
        self._live.__enter__()
        self.show([])
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # the terminal was closed
            self._live.__exit__(None, None, None)

    def show(self, rows: list[RunStatus]) -> None:
        """Redraw the runs written last."""
        width, height = self._live.console.size
        with suppress(OSError):  # SIGHUP follows and ends the watch
            self._live.update(drawn(rows, self._columns, width, height), refresh=True)
