"""What an ingest did, in words and as a listing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..schema.errors import FINE, FOUND, NOTHING_RECOGNISED, NothingRecognised
from .messages import detail, fail, say, warn

if TYPE_CHECKING:
    from ..ingest.pipeline import Summary

COLUMNS = (
    "kind", "format", "files", "runs", "rows", "lines", "lines not read", "like measurements",
)  # fmt: skip
_SHOWN = 20


def rows_of(summary: Summary) -> list[tuple[object, ...]]:
    """One row for each kind and format."""
    return [
        (kind, name, c.files, c.runs, c.rows, c.lines, c.lines_unread, c.lines_measuring)
        for (kind, name), c in sorted(summary.formats.items())
    ]


def tell(summary: Summary) -> int:
    """Say what else there is to say, and the exit code."""
    shown = summary.warnings if len(summary.warnings) <= _SHOWN else summary.warnings[:_SHOWN]
    for remark in shown:
        warn(f"{remark.uri}{f':{remark.line}' if remark.line else ''}: {remark.message}")
    if len(summary.warnings) > len(shown):
        warn(f"{len(summary.warnings) - len(shown)} more warnings: bench sql 'FROM warnings'")
    for uri, reason in summary.failed:
        warn(f"{uri}: not read: {reason}")
    for uri in summary.skipped:
        detail(f"{uri}: neither log nor benchmark table")
    say(_counts(summary))
    code = _exit_code(summary)
    if code == NOTHING_RECOGNISED:
        fail(nothing_recognised(len(summary.skipped)))
    return code


def nothing_recognised(skipped: int) -> NothingRecognised:
    """The error for paths that hold no log and no benchmark table."""
    return NothingRecognised(
        "nothing recognised",
        why=f"neither a training log nor a benchmark table in {_files(skipped)}",
        hint="a benchmark table has at least two known headings, one of them topology or batch, "
        "or MFU beside another rate; bench doctor LOG shows what is not read of a log",
    )


def _files(count: int) -> str:
    return f"{count} {'file' if count == 1 else 'files'}" if count else "any file below the path"


def _counts(summary: Summary) -> str:
    parts = [f"{summary.new - summary.changed - summary.grown} new"]
    parts += [f"{summary.grown} grown"] if summary.grown else []
    parts += [f"{summary.changed} changed"] if summary.changed else []
    parts += [f"{summary.known} known and unchanged"] if summary.known else []
    parts += [f"{summary.copies} known under another path"] if summary.copies else []
    parts += (
        [f"{len(summary.skipped)} neither log nor table (-v names them)"] if summary.skipped else []
    )
    parts += [f"{len(summary.failed)} failed"] if summary.failed else []
    tables = f"; {summary.tables_other} other tables left" if summary.tables_other else ""
    model = _commonest(summary)
    command = (
        f"bench report --model '{model}'"
        if model
        else "bench runs"
        if summary.new or summary.known
        else ""
    )
    return f"files: {', '.join(parts)}{tables}" + (f"\nnext: {command}" if command else "")


def _exit_code(summary: Summary) -> int:
    if summary.failed:
        return FOUND
    return FINE if summary.new or summary.known or summary.copies else NOTHING_RECOGNISED


def _commonest(summary: Summary) -> str | None:
    """The model with the most runs, by the first of its labels: 1.3B and 1B3 are one size."""
    from ..ingest.sizes import parse_size

    runs: Counter[object] = Counter()
    label: dict[object, str] = {}
    for name, count in summary.sizes.items():
        size = parse_size(name) or name
        runs[size] += count
        label.setdefault(size, name)
    return label[runs.most_common(1)[0][0]] if runs else None
