"""Names of sources, runs and published tables, as users write them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..project.settings import aliased, read_settings
from ..project.short_names import ShortNames
from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.format import counted
from ..vocabulary.printable import typed

_LISTED = 20  # names of sources, and places, in a message
# What most often tells the runs of one line apart; so many of them in a message.
_APART, _FEW = ("devices", "nodes", "size", "device", "dtype", "seq_len", "mbs", "recompute"), 2
_ID = 6  # letters of the shortest prefix of a run id


def source_named(warehouse: Warehouse, name: str, *, whole: bool = False) -> str:
    """The uri of a source by its path, file name, stem or a prefix of it.

    Unless the name has to be `whole`, any part that occurs in one source alone matches.
    """
    uris = _uris(warehouse)
    found = _uris_named(warehouse, uris, name.removeprefix("./"), whole)
    if len(found) != 1 and os.path.exists(name):  # a path from here: uris are from the warehouse's
        found = _at_path(warehouse, uris, name) or found
    if len(found) == 1:
        return found[0]
    raise _ambiguous_or_unknown(ShortNames.of(warehouse).short, uris, found, name)


def _uris_named(warehouse: Warehouse, uris: Sequence[str], name: str, whole: bool) -> list[str]:
    """The uris that a name may mean; a short name that is printed means its source."""
    found = matching(uris, name, whole)
    file = found[0].rsplit("/", 1)[-1] if len(found) == 1 else ""
    if file and name in (found[0], file, file.rsplit(".", 1)[0]):
        return found
    # Before parts of names: `Notes:7` is printed for 001.md, whatever begins with it.
    short = ShortNames.of(warehouse).short
    return [uri for uri in uris if short(uri) == name] or found


def _ambiguous_or_unknown(
    short: Callable[[str], str], uris: Sequence[str], found: Sequence[str], name: str
) -> BenchError:
    """The error for a name of no or several sources; for none, with the nearest names."""
    from difflib import get_close_matches  # errors are rare, start-up is not

    if found:
        listed = ", ".join(map(short, found[:_LISTED]))
        return BenchError(f"several sources are called {name!r}", why=f"they are: {listed}",
                          hint="name one by its path")  # fmt: skip
    known = {short(uri).casefold(): short(uri) for uri in uris}
    near = [known[match] for match in get_close_matches(name.casefold(), known, n=3)]
    listed = ", ".join(list(known.values())[:_LISTED]) or "none"
    return BenchError(f"no source is called {name!r}", why=f"known sources: {listed}",
                      hint=f"did you mean {' or '.join(near)}?" if near
                      else "name one as bench runs does, or by its path")  # fmt: skip


def find_runs(warehouse: Warehouse, wanted: str) -> list[tuple[str, str]]:
    """The runs named `wanted`, each with what tells it from the others: those of one line of a wide
    table, else the one that `find_run` finds."""
    place = re.fullmatch(r"(.+):(\d+)", wanted)
    rows = _of_line(warehouse, source_named(warehouse, place[1]), int(place[2])) if place else []
    if len(rows) < 2:
        return [(find_run(warehouse, wanted), "")]
    return [(run, words or run) for run, words in _told_apart(warehouse, rows)]


def _of_line(warehouse: Warehouse, uri: str, line: int) -> list[str]:
    query = """SELECT run_id FROM runs WHERE uri = $1 AND line <= $2 AND last_line >= $2
               QUALIFY line = max(line) OVER () ORDER BY run_id"""
    return [run for (run,) in warehouse.rows(query, [uri, line])]


def find_run(warehouse: Warehouse, wanted: str) -> str:
    """The run named `wanted`: an id, the start of one, FILE:LINE, or a source with one run."""
    place = re.fullmatch(r"(.+):(\d+)", wanted)
    uri = ""
    # 001 is a document rather than the prefix of an id.
    if not place and len(wanted) < _ID and _is_source(warehouse, wanted):
        return _only_run_of(warehouse, wanted)
    if place:
        uri = source_named(warehouse, place[1])
        rows = [(run,) for run in _of_line(warehouse, uri, int(place[2]))]
        if len(rows) > 1:
            raise _of_one_line(warehouse, wanted, [run for (run,) in rows])
    else:
        rows = warehouse.rows(
            "SELECT run_id FROM runs WHERE starts_with(run_id, ?) ORDER BY run_id LIMIT 9",
            [wanted.lower()],
        )
    if len(rows) == 1:
        return str(rows[0][0])
    if not rows and not place:
        return _only_run_of(warehouse, wanted)
    if not rows:
        raise BenchError(
            f"no run {wanted!r}",
            why=_nearest_runs(warehouse, uri, place[1], int(place[2])) if place else "",
            hint="bench runs --all lists ids and places; or name one as FILE:LINE",
        )
    listed = ", ".join(run for (run,) in rows)
    raise BenchError(f"several runs begin with {wanted!r}", why=listed, hint="write more of the id")


def _of_one_line(warehouse: Warehouse, place: str, runs: Sequence[str]) -> BenchError:
    """The error for a line of a wide table, with what tells its runs apart and their ids."""
    rows = _told_apart(warehouse, runs)
    named = [f"{run} ({words})" if words else run for run, words in rows[:_LISTED]]
    more = f" and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    return BenchError(
        f"{place} has {counted(len(runs), 'run')}",
        why=f"{', '.join(named)}{more}",
        hint=f"use the id of one, such as {rows[0][0]}",
    )


def _told_apart(warehouse: Warehouse, runs: Sequence[str]) -> list[tuple[str, str]]:
    """Runs in the order of the columns that tell them apart, each with these."""
    query = f"""SELECT run_id, {", ".join(_APART)} FROM results
                WHERE list_contains(?::VARCHAR[], run_id) ORDER BY {", ".join(_APART)}, run_id"""
    rows = warehouse.rows(query, [[*runs]])
    columns = [
        at for at in range(len(_APART)) if len({str(values[at]) for _, *values in rows}) > 1
    ][:_FEW]
    return [
        (str(run), ", ".join(f"{_APART[at]} {values[at]}" for at in columns))
        for run, *values in rows
    ]


def _nearest_runs(warehouse: Warehouse, uri: str, name: str, line: int) -> str:
    """The lines of the runs of a source next to this line, or the job that the line states."""
    query = "SELECT job_id, state FROM jobs WHERE uri = ? AND line = ?"
    for job, state in warehouse.rows(query, [uri, line]):
        return f"the line is of job {job}, {state}, of which no log was read"
    query = """SELECT line FROM runs WHERE uri = ? GROUP BY line
               ORDER BY abs(line - ?), line LIMIT 5"""
    lines = sorted(near for (near,) in warehouse.rows(query, [uri, line]))
    return f"the nearest runs of {name} are on lines {', '.join(map(str, lines))}" if lines else ""


def _is_source(warehouse: Warehouse, name: str) -> bool:
    return len(_uris_named(warehouse, _uris(warehouse), name, whole=True)) == 1


def _uris(warehouse: Warehouse) -> list[str]:
    return [str(uri) for (uri,) in warehouse.rows("SELECT uri FROM sources ORDER BY uri")]


def _only_run_of(warehouse: Warehouse, name: str) -> str:
    """The run of a source that has one; raises BenchError, naming the places of several."""
    try:
        uri = source_named(warehouse, name, whole=True)
    except BenchError as error:
        raise BenchError(
            f"no run {name!r}",
            why=f"nor a source: {error.why}" if error.why else "",
            hint="bench runs --all lists ids and places; or name one as FILE:LINE",
        ) from error
    query = "SELECT run_id, line FROM runs WHERE uri = ? ORDER BY line"
    rows = warehouse.rows(query, [uri])
    if len(rows) == 1:
        return str(rows[0][0])
    if not rows:
        raise BenchError(f"{uri} has no run", hint="bench doctor lists what no format reads")
    listed = ", ".join(f"{name}:{line}" for _, line in rows[:12])
    more = f" and {len(rows) - 12} more" if len(rows) > 12 else ""
    place = typed(f"{name}:{rows[0][1]}")
    raise BenchError(
        f"{name!r} is {uri} with {counted(len(rows), 'run')}",
        why=f"they are {listed}{more}",
        hint=f"bench show {place}, or bench report --document {typed(name)}",
    )


def benchmark_tables(
    warehouse: Warehouse, name: str, number: int | None
) -> tuple[str, list[dict[str, Any]]]:
    """A source and its benchmark tables: table N, else the one at line N, or all.

    Raises BenchError if there is none.
    """
    uri = source_named(warehouse, name)
    query = """SELECT table_id, number, headings, alignment, header_line, last_line FROM tables
               WHERE uri = ? AND number IS NOT NULL ORDER BY header_line"""
    rows = warehouse.dicts(query, [uri])
    chosen = [table for table in rows if number in (None, table["number"])] or [
        table for table in rows if table["header_line"] <= (number or 0) <= table["last_line"]
    ]
    if not chosen:
        raise BenchError(
            f"{uri} has no {f'table {number}' if rows else 'benchmark table'}",
            why=f"it has {len(rows)}, counted from 1, and none on that line" if rows else "",
            hint=f"--table {name}" if rows else "bench sql 'SELECT uri, number FROM tables'",
        )
    return uri, chosen


def _at_path(warehouse: Warehouse, uris: Sequence[str], wanted: str) -> list[str]:
    """The source at a path, by name or, through links, by the file that they lead to."""
    root = os.path.abspath(warehouse.home)
    path = Path(os.path.relpath(os.path.abspath(wanted), root)).as_posix()
    if path in uris:
        return [path]
    real = os.path.realpath(wanted)
    return [uri for uri in uris if os.path.realpath(os.path.join(root, uri)) == real]


def matching(uris: Sequence[str], wanted: str, whole: bool) -> list[str]:
    """The uris that a name may mean, by the strictest test that any of them passes."""
    # From the strictest on: a name that is whole for one file may be part of many.
    named = aliased(uris, read_settings().aliases)
    tests: Sequence[Callable[[str], bool]] = (
        lambda uri: uri == wanted,
        lambda uri: named.get(uri) == wanted,
        lambda uri: uri.rsplit("/", 1)[-1] == wanted,
        lambda uri: uri.rsplit("/", 1)[-1].rsplit(".", 1)[0] == wanted,
        lambda uri: uri.endswith("/" + wanted),
        # The end of a path that was made a name: OWNER__REPO__docs__performance-summary.md.
        lambda uri: uri.rsplit("/", 1)[-1].rsplit(".", 1)[0].endswith("__" + wanted),
        lambda uri: uri.rsplit("/", 1)[-1].startswith(wanted),
        lambda uri: wanted in uri,
    )
    if whole:
        tests = tests[:-1]
    return next((found for test in tests if (found := [uri for uri in uris if test(uri)])), [])
