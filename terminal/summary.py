"""The summary of an ingest: messages and a table."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..project.read import nothing_recognised
from ..schema.errors import FINE, FOUND, NOTHING_RECOGNISED
from ..vocabulary.format import counted
from .messages import detail, fail, info, warn

if TYPE_CHECKING:
    from ..ingest.files.summary import Summary, Warning
    from ..schema.warehouse import Warehouse


COLUMNS = (
    "kind", "format", "files", "runs", "rows", "lines", "unread lines", "possible metrics",
)  # fmt: skip
_ALIKE = 3  # warnings of one kind that are printed in full


def rows_of(summary: Summary) -> list[tuple[object, ...]]:
    """One row per kind and format."""
    return [
        (kind, name, c.files, c.runs, c.rows, c.lines, c.lines_unread, c.lines_measuring)
        for (kind, name), c in sorted(summary.formats.items())
    ]


def print_summary(summary: Summary) -> int:
    """Print messages of an ingest; returns the exit code."""
    _print_warnings(summary.warnings)
    for uri, reason in summary.failed:
        warn(f"{uri}: cannot read: {reason}")
    for uri in summary.skipped:
        detail(f"{uri}: skipped, not a log or benchmark table")
    info(_counts(summary))
    if command := _next_command(summary):
        info(f"next: {command}")
    code = _exit_code(summary)
    if code == NOTHING_RECOGNISED:
        fail(nothing_recognised(len(summary.skipped)))
    return code


def _print_warnings(remarks: Sequence[Warning]) -> None:
    """Print each kind of warning: a few in full, many by the first of them and a count."""
    kinds: dict[str, list[Warning]] = {}
    for remark in remarks:
        kinds.setdefault(remark.code, []).append(remark)
    for of in kinds.values():
        for remark in of if len(of) <= _ALIKE else of[:1]:
            more = f" (and {len(of) - 1} more like this)" if len(of) > _ALIKE else ""
            place = f"{remark.uri}{f':{remark.line}' if remark.line else ''}"
            warn(f"{place}: {remark.message}{more}")
    if any(len(of) > _ALIKE for of in kinds.values()):
        info(f"all {len(remarks)} warnings: bench sql 'FROM warnings'")


def _counts(summary: Summary) -> str:
    parts = [f"{summary.new - summary.changed - summary.reread - summary.grown} new"]
    parts += [f"{summary.grown} grown"] if summary.grown else []
    parts += [f"{summary.changed} changed"] if summary.changed else []
    parts += [f"{summary.reread} read again by this version"] if summary.reread else []
    parts += [f"{summary.known} unchanged"] if summary.known else []
    parts += [f"{summary.copies} duplicates of known files"] if summary.copies else []
    parts += [f"{len(summary.skipped)} skipped (list with -v)"] if summary.skipped else []
    parts += [f"{len(summary.failed)} failed"] if summary.failed else []
    tables = (
        f"; {counted(summary.tables_other, 'other table')} skipped" if summary.tables_other else ""
    )
    return f"files: {', '.join(parts)}{tables}"


def _next_command(summary: Summary) -> str:
    if model := _most_common_model(summary):
        return f"bench report --model {shlex.quote(model)}"
    return "bench runs" if summary.new or summary.known else ""


def _exit_code(summary: Summary) -> int:
    if summary.failed:
        return FOUND
    return FINE if summary.new or summary.known or summary.copies else NOTHING_RECOGNISED


def _most_common_model(summary: Summary) -> str | None:
    """The model with the most runs, under its first label: 1.3B and 1B3 are one size."""
    from ..vocabulary.sizes import parse_size

    runs: Counter[object] = Counter()
    label: dict[object, str] = {}
    for name, count in summary.sizes.items():
        size = parse_size(name) or name
        runs[size] += count
        label.setdefault(size, name)
    return label[runs.most_common(1)[0][0]] if runs else None


_NAMED = 4
_ENDINGS = """SELECT status, count(*) FROM configurations WHERE kind = 'measured'
    GROUP BY status ORDER BY status <> 'ok', count(*) DESC, status"""
_LOGS = "SELECT count(DISTINCT uri) FROM runs"
_JOBS = "SELECT count(*), count(DISTINCT uri) FROM jobs"
_WITHOUT = """SELECT uri, line FROM configurations WHERE origin = 'log'
    AND dp IS NULL AND tp IS NULL AND pp IS NULL ORDER BY uri, line"""
_UNREAD = """SELECT uri, lines_unread, lines FROM sources WHERE kind = 'log' AND lines_unread > 0
    ORDER BY lines_unread DESC, uri"""


def show_overview(warehouse: Warehouse, skipped: Sequence[str], paths: Sequence[Path]) -> None:
    """Print remarks on a folder that its table does not show."""
    for line in overview(warehouse, skipped, paths):
        info(line)


def overview(warehouse: Warehouse, skipped: Sequence[str], paths: Sequence[Path]) -> Iterator[str]:
    """Remarks on missing data, one line each."""
    known = [uri for (uri,) in warehouse.rows("SELECT uri FROM sources")]
    named = _file_names([*known, *skipped])
    endings = warehouse.rows(_ENDINGS)
    [(files,)] = warehouse.rows(_LOGS)
    endings_listed = ", ".join(f"{count} {status}" for status, count in endings)
    runs = sum(count for _, count in endings)
    yield f"{counted(runs, 'run')} in {_files(files)}: {endings_listed}"
    [(jobs, sources)] = warehouse.rows(_JOBS)
    if jobs:
        yield f"scheduler accounting: {counted(jobs, 'job')} in {_files(sources)}"
    without = [f"{named[uri]}:{line}" for uri, line in warehouse.rows(_WITHOUT)]
    if without:
        unknown = "topology unknown (no DP, TP or PP in the log): "
        yield f"{unknown}{counted(len(without), 'run')}: {_some(without)}"
    if skipped:
        yield f"not recognised: {_files(len(skipped))}: {_some([named[uri] for uri in skipped])}"
    unread = warehouse.rows(_UNREAD)
    if unread:
        worst, _, _ = unread[0]
        lines, of = (sum(row[place] for row in unread) for place in (1, 2))
        share = f"{lines:,} of {of:,} lines of {_files(len(unread))}"
        typed = shlex.quote(_typed(worst, paths))
        yield f"unread: {share}, most in {named[worst]}; see bench doctor {typed}"


def _file_names(uris: Sequence[str]) -> dict[str, str]:
    """The file name of each source; its path if the name is not unique."""
    of = {uri: uri.rsplit("/", 1)[-1] for uri in uris}
    count = Counter(of.values())
    return {uri: name if count[name] == 1 else uri for uri, name in of.items()}


def _typed(uri: str, paths: Sequence[Path]) -> str:
    """The path of a file relative to the paths that the user typed."""
    file = Path(uri).resolve()
    for path in paths:
        if file.is_relative_to(path.resolve()):
            return str(path / file.relative_to(path.resolve()))
    return uri


def _files(count: int) -> str:
    return counted(count, "file")


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
